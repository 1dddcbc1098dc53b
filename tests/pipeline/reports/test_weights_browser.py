"""Weights of a comparison of contact models, on its page in a browser."""

import pytest

from pipeline.reports.pages import write_page
from pipeline.studies.contact_models.content import COLUMNS, CRITERIA, RULE, weighted_sum

pytestmark = pytest.mark.slow

WEIGHTS = {"accuracy": 0.4, "speed": 0.2, "preparation": 0.0, "versatility": 0.09}
MARKS = {
    "exact": dict.fromkeys(CRITERIA, 0.9) | {"speed": 0.1},
    "fast": dict.fromkeys(CRITERIA, 0.4) | {"speed": 1.0, "versatility": None, "preparation": 0.0},
}


def row_of(name):
    return {
        **{"name": name, "label": name, "group": "springs", "known_beforehand": "nothing"},
        **{"figures": {column.key: 1.5 for column in COLUMNS}, "marks": MARKS[name]},
        **{"weighted_sum": weighted_sum(MARKS[name], WEIGHTS), "failures": {}, "flags": []},
        "verdict": None,
    }


@pytest.fixture(scope="module")
def weighted(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "compared_models.html"
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


def sums(page):
    """Return the sums on the page by the model, the first row first."""
    rows = page.locator("#weights tbody tr")
    found = [rows.nth(k) for k in range(rows.count())]
    return {row.get_attribute("data-name"): row.locator("b").inner_text() for row in found}


def move(page, key, weight):
    slider = page.locator(f'#weights input[data-key="{key}"]')
    slider.evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        weight,
    )


@pytest.mark.slow
def test_reader_weights_change_sums_and_order(weighted):
    def expected(weights, digits=3):
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
