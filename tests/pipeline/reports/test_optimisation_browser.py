"""The page of a search of designs: ranges, selection, sorting, slices and CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from pipeline.cli.main import main
from pipeline.store.samples import read_table

pytestmark = pytest.mark.slow

WEAR, PRESSURE = "total_wear_mm3_per_million_cycles", "peak_pressure_MPa"


@pytest.fixture(scope="module")
def folder(tiny_designs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a search of few designs."""
    folder = tmp_path_factory.mktemp("search")
    objectives = [{"output": name} for name in (WEAR, PRESSURE)]
    search = {"run": str(tiny_designs), "population": 24, "generations": 3, "workers": 1}
    keys = search | {"chosen": 2, "verify": "none", "objective": objectives}
    (folder / "search.toml").write_text(tomli_w.dumps({"optimisation": keys}))
    command = ["optimise", str(folder / "search.toml"), "--out", str(folder / "out"), "--quiet"]
    assert main(command) == 0
    return folder / "out"


@pytest.fixture
def page(browser: Any, folder: Path) -> Any:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.on("request", lambda asked: asked.url.startswith("file:") or pytest.fail(asked.url))
    opened.goto((folder / "optimisation.html").as_uri())
    yield opened
    opened.close()


def shown(page: Any) -> list[int]:
    """Return the numbers of the designs in the rows that are shown."""
    rows = page.locator("#table tbody tr:visible th")
    return [int(text.split()[0]) for text in rows.all_inner_texts()]


def limit(page: Any, label: str, least: float) -> None:
    field = page.get_by_label(f"{label} from", exact=True)
    field.evaluate(
        "(field, value) => { field.value = value; field.dispatchEvent(new Event('change')); }",
        least,
    )


def test_ranges_limit_lines_points_rows_and_csv(page: Any, folder: Path) -> None:
    front = read_table(folder / "front.parquet")
    assert shown(page) == front["design"].tolist()
    least = float(front[PRESSURE].median())
    limit(page, "peak pressure [MPa]", least)
    kept = front[front[PRESSURE] >= least]
    assert 0 < len(kept) < len(front)
    assert sorted(shown(page)) == sorted(kept["design"])
    assert page.locator("#parallel path.line.out").count() == len(front) - len(kept)
    assert page.locator("figure.objectives circle.out").count() == len(front) - len(kept)
    told = page.locator("#parallel output").inner_text()
    assert told.startswith(f"{len(kept)} of {len(front)} designs within the ranges")
    with page.expect_download() as started:
        page.locator("#save").click()
    rows = list(csv.DictReader(io.StringIO(Path(started.value.path()).read_text())))
    assert [int(row["design"]) for row in rows] == kept["design"].tolist()
    assert float(rows[0][WEAR]) == pytest.approx(kept[WEAR].iloc[0], rel=1e-6)
    page.get_by_role("button", name="remove all ranges").click()
    assert len(shown(page)) == len(front)


def test_range_is_drawn_on_an_axis_and_removed_by_a_click(page: Any) -> None:
    before = len(shown(page))
    grip = page.locator("#parallel rect.grip").last
    grip.scroll_into_view_if_needed()
    axis = grip.bounding_box()
    x, middle = axis["x"] + axis["width"] / 2, axis["y"] + axis["height"] / 2
    page.mouse.move(x, axis["y"] + axis["height"] - 1)
    page.mouse.down()
    page.mouse.move(x, middle)
    page.mouse.up()
    assert 0 < len(shown(page)) < before
    page.mouse.move(x, middle)
    page.mouse.down()
    page.mouse.up()
    assert len(shown(page)) == before


def test_selected_design_is_marked_in_all_figures(page: Any, folder: Path) -> None:
    front = read_table(folder / "front.parquet")
    number = int(front["design"].iloc[-1])
    page.locator("#table tbody tr").last.locator("button").click()
    page.mouse.move(0, 0)
    assert page.locator("#table tr.selected").get_attribute("data-k") == str(len(front) - 1)
    assert page.locator("#parallel path.selected").count() > 0
    assert page.locator("figure.objectives circle.selected").count() == 1
    for caption in page.locator("figure.outlines figcaption b").all_inner_texts():
        assert caption.split()[0] == str(number)
    assert f"{number} " in page.locator("#parallel output").inner_text()


def test_heads_sort_and_slices_follow_the_choice(page: Any, folder: Path) -> None:
    front = read_table(folder / "front.parquet")
    head = page.locator("#table th[data-column='3']")
    head.locator("button").click()
    expected = front.sort_values(PRESSURE)["design"].tolist()
    assert shown(page) == expected
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert shown(page) == expected[::-1]
    assert page.locator("#slices svg").count() == 4
    names = page.locator("#slice option").evaluate_all("(all) => all.map((one) => one.value)")
    before = page.locator("#slices").inner_html()
    page.locator("#slice").select_option(names[-1])
    assert page.locator("#slices").inner_html() != before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
