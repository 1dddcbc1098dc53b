"""Pages in a browser: a search of designs, and the weights of a comparison."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from pipeline.cli.main import main
from pipeline.reports.pages import write_page
from pipeline.store.samples import read_table
from pipeline.studies.contact_models.content import COLUMNS, CRITERIA, RULE, weighted_sum

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
    command = ["run", str(folder / "search.toml"), "--out", str(folder / "out"), "--quiet"]
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


WEIGHTS = {"accuracy": 0.4, "speed": 0.2, "preparation": 0.0, "versatility": 0.09}
MARKS: dict[str, dict[str, float | None]] = {
    "exact": dict.fromkeys(CRITERIA, 0.9) | {"speed": 0.1},
    "fast": dict.fromkeys(CRITERIA, 0.4) | {"speed": 1.0, "versatility": None, "preparation": 0.0},
}


def row_of(name: str) -> dict[str, Any]:
    return {
        **{"name": name, "label": name, "group": "springs", "known_beforehand": "nothing"},
        **{"figures": {column.key: 1.5 for column in COLUMNS}, "marks": MARKS[name]},
        **{"weighted_sum": weighted_sum(MARKS[name], WEIGHTS), "failures": {}, "flags": []},
        "verdict": None,
    }


@pytest.fixture(scope="module")
def weighted(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("page") / "compared_models.html"
    columns = [vars(column) | {"measure": None} for column in COLUMNS]
    truth = {"poses": 5, "extrapolated": ["at given poses"], "node_spacing_mm": 0.5}
    write_page(
        path,
        **{"name": "two", "criteria": CRITERIA, "weights": WEIGHTS, "rule": RULE},
        truth=truth | {"wear_mm3_per_million_cycles": 4.2},
        columns=columns,
        groups={"cost": columns},
        models=[row_of(name) for name in MARKS],
        pictures={"over_time": [], "cycles": [], "maps": []},
    )
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.goto(path.as_uri())
    return opened


def sums(page: Any) -> dict[str, str]:
    """Return the sums on the page by the model, the first row first."""
    rows = page.locator("#weights tbody tr")
    found = [rows.nth(k) for k in range(rows.count())]
    return {row.get_attribute("data-name"): row.locator("b").inner_text() for row in found}


def move(page: Any, key: str, weight: float) -> None:
    slider = page.locator(f'#weights input[data-key="{key}"]')
    slider.evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        weight,
    )


@pytest.mark.slow
def test_reader_weights_change_sums_and_order(weighted: Any) -> None:
    def expected(weights: dict[str, float], digits: int = 3) -> dict[str, str]:
        return {name: f"{weighted_sum(MARKS[name], weights):.{digits}f}" for name in MARKS}

    assert sums(weighted) == expected(WEIGHTS)
    assert list(sums(weighted)) == ["exact", "fast"]
    only_speed = dict.fromkeys(CRITERIA, 0.0) | {"speed": 0.25}
    for key, weight in only_speed.items():
        move(weighted, key, weight)
    assert sums(weighted) == expected(only_speed) == {"exact": "0.100", "fast": "1.000"}
    assert list(sums(weighted)) == ["fast", "exact"]
    move(weighted, "speed", 0.0)
    assert set(sums(weighted).values()) == {"–"}
