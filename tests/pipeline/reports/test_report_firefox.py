"""The report in Firefox: first screen, contents, folded sections, no errors of its scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from firefox import PROGRAM, Page, firefox

pytestmark = pytest.mark.drawn

if PROGRAM is None:
    pytest.skip("needs the system program firefox", allow_module_level=True)
pytest.importorskip("websockets", reason="needs websockets to drive Firefox")

INSIDE = """[...document.querySelectorAll('.first img, .tiles.knee .tile, .verdict')].map((e) => {
    const box = e.getBoundingClientRect();
    return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with firefox(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_first_screen(page: Page, drawn_run: Path, width: int, height: int) -> None:
    page.open((drawn_run / "report.html").as_uri(), width, height)
    shown = page.evaluate(INSIDE)
    assert len(shown) == 9
    assert all(shown)
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert [event for event in page.events if event["params"]["level"] == "error"] == []


def test_contents_open_a_folded_section(page: Page, drawn_run: Path) -> None:
    page.open((drawn_run / "report.html").as_uri(), 1280, 800)
    section = "document.querySelector('details.section:has(#provenance)')"
    assert page.evaluate(f"{section}.open") is False
    page.evaluate("(document.querySelector('nav a[href=\"#provenance\"]').click(), true)")
    end = time.monotonic() + 20.0
    heading = "document.querySelector('#provenance h2').getBoundingClientRect().y"
    while not (page.evaluate(f"{section}.open") and abs(page.evaluate(heading)) < 120.0):
        assert time.monotonic() < end
        time.sleep(0.1)
