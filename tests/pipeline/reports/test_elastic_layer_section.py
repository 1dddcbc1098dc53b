"""The contact model against the elastic layer in the report: third mark, summary, budget."""

import json

import pytest

from pipeline.reports.inputs import read_run
from pipeline.reports.report import report_of
from pipeline.store.run_documents import ELASTIC_LAYER

SHARES = {"peak_pressure": 0.386, "mean_pressure": 0.11, "area": -0.1, "stiffness": 0.58}
FIGURES = {f"{key}_share": value for key, value in (SHARES | {"approach": -0.34}).items()}
MEDIAL = {
    **{"instant_percent": 13.5, "load_N": 1410.0, "peak_pressure_Pa": 31.4e6},
    **{"layer_peak_pressure_Pa": 22.66e6, "at_peak": FIGURES, "rms": FIGURES},
    **{"poses": 12, "uncertainty_share": 0.03},
}
LATERAL = MEDIAL | {
    **{"peak_pressure_Pa": 25.0e6, "layer_peak_pressure_Pa": 17.0e6},
    "at_peak": FIGURES | {"peak_pressure_share": 0.47},
}
SPRINGS = {"model": "linear springs", "reference": "finite elements", "largest_strain_share": 0.022}
TOLD = (
    "contact model: care, peak +39 %: the medial peak of the elastic layer is about 23 MPa where "
    "linear springs say 31.4 MPa"
)


def entry(**changes):
    """Return a content of `elastic_layer.json`."""
    return SPRINGS | {"compartments": {"medial": MEDIAL, "lateral": LATERAL}} | changes


@pytest.fixture
def report(light_run):
    """Return a function that reports a run with a content of `elastic_layer.json`."""

    def of(content):
        (light_run / ELASTIC_LAYER).write_text(json.dumps(content), encoding="utf-8")
        return report_of(read_run(light_run)).content()

    return of


def test_third_mark_stands_in_verdict_and_summary(report):
    content = report(entry())
    part = content["verdict"]["parts"][-1]
    assert (part["what"], part["text"]) == ("contact model", TOLD)
    assert content["verdict"]["line"].startswith("surrogate against contact model: loads and ")
    assert content["verdict"]["line"].endswith(TOLD)
    found = content["elastic_layer"]["compartments"]["lateral"]
    assert found["layer_peak_pressure_MPa"] == pytest.approx(17.0)
    assert found["at_peak"]["peak_pressure_percent"] == pytest.approx(47.0)
    line = ", by linear springs; the elastic layer: about 23 MPa"
    assert any(text.endswith(line) and text.isascii() for text in content["summary"])


@pytest.mark.parametrize(
    ("peak", "level", "words"),
    [(-0.05, "trust", "peak −5.0 %"), (-0.15, "care", "peak −15 %"), (0.08, "trust", "peak +8.0")],
)
def test_either_sign_is_judged(report, peak, level, words):
    found = MEDIAL | {"at_peak": FIGURES | {"peak_pressure_share": peak}}
    content = report(entry(compartments={"medial": found}))
    part = content["verdict"]["parts"][-1]
    assert part["level"] == level
    assert words in part["text"]


def test_reason_takes_the_place_of_the_comparison(report):
    content = report(entry(compartments={}, reason="574 of 56210 elements folded"))
    told = "not compared with the elastic layer: 574 of 56210 elements folded"
    assert content["verdict"]["parts"][-1]["text"] == f"contact model: care: {told}"


def test_errors_of_the_node_spacing_stand_in_json_and_verdict(light_run):
    path = light_run / "simulation.json"
    errors = {
        "force_share": 0.003,
        "peak_pressure_share": 0.041,
        "area_share": 0.005,
        "centre_m": 2e-5,
    }
    errors |= {"poses": 26, "unresolved": 3}
    entry = {"spacing_m": 5e-4, "coarser_m": 1e-3, "errors": errors, "reason": ""}
    tree = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(tree | {"node_spacing": entry}), encoding="utf-8")
    content = report_of(read_run(light_run)).content()
    found = content["gait"]["node_spacing"]
    assert found["spacing_mm"] == 0.5
    assert found["errors"]["peak_pressure_percent"] == pytest.approx(4.1, rel=1e-12)
    assert found["errors"]["centre_mm"] == pytest.approx(0.02, rel=1e-12)
    reason = "the node spacing limits the peak pressure"
    assert any(text.startswith(reason) for text in content["verdict"]["parts"][1]["reasons"])
