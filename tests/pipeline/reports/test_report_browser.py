"""The report in a browser: phones, print, no network, no script, no WebGL."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
if CHROMIUM is None:
    pytest.skip("needs the system program chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

# Software rendering, which any machine has; nothing of the browser's own goes to the network.
FLAGS = (
    *("--no-sandbox", "--disable-background-networking"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
#: Of A4 less the margins, in pixels of a page.
PRINTED = 688
SECTIONS = (
    *("overview", "pressure", "contact", "gait", "combinations", "validation", "sensitivity"),
    *("stages", "provenance"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(tiny_run: Path) -> str:
    return (tiny_run / "report.html").as_uri()


@pytest.fixture(scope="module")
def told() -> list[str]:
    """Return what the page of `desk` fetches, and what goes wrong in it."""
    return []


@pytest.fixture(scope="module")
def desk(browser: Any, address: str, told: list[str]) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: told.append(f"error: {error}"))
    page.on("request", lambda request: told.append(f"request: {request.url[:60]}"))
    page.goto(address)
    page.wait_for_selector("#viewer[data-frame]")
    # The labels over the picture move as well, and must not be taken for it.
    page.add_style_tag(content=".mark, .triad { opacity: 0 !important; }")
    return page


def pixels(page: Any) -> np.ndarray:
    """Return the picture of the 3-D view, (H, W, 3)."""
    seen = page.locator("#viewer canvas").screenshot()
    return np.asarray(Image.open(io.BytesIO(seen)).convert("RGB"), dtype=int)


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Return how many pixels are clearly another colour."""
    return int((np.abs(after - before).max(axis=-1) > 24).sum())


class TestPage:
    """The page around it."""

    def test_nothing_is_fetched_and_nothing_goes_wrong(
        self, desk: Any, told: list[str], address: str
    ) -> None:
        assert desk.title() == "smoke: knee-contact surrogate"
        fetched = [line for line in told if not line.startswith("request: data:")]
        assert fetched == [f"request: {address[:60]}"]
        assert desk.locator("html").get_attribute("lang") == "en"

    def test_links_lead_to_their_sections(self, desk: Any) -> None:
        links = desk.locator("nav a")
        shown = [links.nth(k).get_attribute("href") for k in range(links.count())]
        assert shown == [f"#{name}" for name in SECTIONS]
        links.last.click()
        assert desk.locator("#provenance h2").is_visible()
        # The navigation stays in sight.
        assert desk.locator("nav").bounding_box()["y"] >= 0.0

    def test_phone_has_no_sideways_scrolling(self, browser: Any, address: str) -> None:
        phone = browser.new_context(
            viewport={"width": 390, "height": 780}, is_mobile=True, has_touch=True
        )
        page = phone.new_page()
        page.goto(address)
        page.wait_for_selector("#viewer[data-frame]")
        for width in (414, 390, 360):
            page.set_viewport_size({"width": width, "height": 780})
            assert page.evaluate("document.documentElement.scrollWidth") == width
        before = pixels(page)
        page.locator("[data-view=above]").tap()
        assert changed(before, pixels(page)) > 500
        phone.close()

    def test_print_has_all_sections_and_pictures_in_place_of_the_view(
        self, browser: Any, address: str
    ) -> None:
        page = browser.new_page(viewport={"width": PRINTED, "height": 1000})
        page.goto(address)
        page.emulate_media(media="print")
        assert not page.locator("#viewer").is_visible()
        assert page.locator("#pressure .still img").last.is_visible()
        for name in SECTIONS:
            assert page.locator(f"#{name} h2, #{name} .tiles").first.is_visible()
        # What is folded on the screen is open on paper.
        assert page.locator("details pre").bounding_box()["height"] > 100
        wide = "[...document.querySelectorAll('table')].filter(t => t.offsetWidth > %d).length"
        assert page.evaluate(wide % PRINTED) == 0
        assert page.evaluate("document.documentElement.scrollWidth") == PRINTED
        sheets = page.pdf(format="A4", print_background=False)
        assert sheets.startswith(b"%PDF")
        page.close()

    def test_without_script_the_pictures_stand(self, browser: Any, address: str) -> None:
        plain = browser.new_context(java_script_enabled=False)
        page = plain.new_page()
        page.goto(address)
        assert not page.locator("#viewer").is_visible()
        assert page.locator("#pressure .still img").nth(1).is_visible()
        plain.close()

    def test_without_webgl_the_pictures_stand(self, browser: Any, address: str) -> None:
        page = browser.new_page()
        page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        page.goto(address)
        assert not page.locator("#viewer").is_visible()
        assert page.locator("#pressure .still img").nth(1).is_visible()
        page.close()
