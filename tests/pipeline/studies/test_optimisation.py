"""Searches of designs from file to page: front, limits, resumption, what is refused."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tomli_w
from numpy.testing import assert_allclose

from pipeline.cli.main import main
from pipeline.design_space.designs import TrainedDesigns, compared_cycles
from pipeline.design_space.errors import doubts, expected_errors
from pipeline.errors import StageError
from pipeline.simulation import OUTPUTS
from pipeline.store.documents import read_document
from pipeline.store.samples import OK, read_table
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.optimisation import search as searching
from pipeline.studies.optimisation.optimise import (
    OptimisationDocument,
    broken_limits,
    told_first,
)
from pipeline.studies.optimisation.search import (
    INFEASIBLE,
    DesignProblem,
    OptimisationConfig,
    SearchSetup,
    better_than,
    front_of,
    outcomes,
    spread_over,
)
from surrogates.sampling.parameters import Parameters

WEAR, PRESSURE = "total_wear_mm3_per_million_cycles", "peak_pressure_MPa"
OBJECTIVES = [{"output": WEAR}, {"output": PRESSURE}]
LIMIT = {"output": "anterior_range_mm", "at_most": 6.1}
#: A design within the ranges of the tiny run, and one that its constraint forbids.
DESIGN = {"dish_sagittal_radius_mm": 70.0, "youngs_modulus_MPa": 600.0}
FORBIDDEN = {"dish_sagittal_radius_mm": 89.0, "youngs_modulus_MPa": 600.0}


def tree(run, objective=OBJECTIVES, simulation=None, **changes):
    search = {"name": "tiny", "run": str(run), "population": 8, "generations": 3, "workers": 1}
    content = {"optimisation": search | {"chosen": 2} | changes | {"objective": objective}}
    return content if simulation is None else content | {"simulation": simulation}


def load(folder, run, **changes):
    path = folder / "search.toml"
    path.write_text(tomli_w.dumps(tree(run, **changes)))
    return load_study(path)


def searched(run, folder, *, resume=False, **changes):
    folder.parent.mkdir(exist_ok=True)
    return carry_out(load(folder.parent, run, **changes), folder, resume=resume).document


@pytest.fixture(scope="module")
def run(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


@pytest.fixture(scope="module")
def done(tiny_designs, tmp_path_factory):
    """Return the folder of a search; not to be written to."""
    folder = tmp_path_factory.mktemp("search") / "done"
    with pytest.MonkeyPatch.context() as patch:
        base = np.array([list(DESIGN.values())])
        patch.setattr(searching, "base_design", lambda config, parameters: (base, ""))
        searched(tiny_designs, folder, limit=[LIMIT])
    return folder


def outcome(task, design):
    return outcomes(task, pd.DataFrame([design])).iloc[0]


def dominated(one, others):
    """Whether a row is dominated by another one, as the definition has it."""
    return any(
        all(o <= x for o, x in zip(r, one, strict=True))
        and any(o < x for o, x in zip(r, one, strict=True))
        for r in others
    )


def test_designs_are_spread_from_one_end_of_the_front_to_the_other():
    angle = np.linspace(0.0, np.pi / 2, 41)
    front = np.column_stack([1e-3 * (1.0 - np.sin(angle)), 70.0 * (1.0 - np.cos(angle))])
    places = sorted(spread_over(front, 5))
    assert places[0] == 0
    assert places[-1] == 40
    assert len(places) == 5
    assert np.diff(places).max() < 16
    assert spread_over(front[:1], 5) == [0]
    assert len(spread_over(np.arange(7.0)[:, None], 3)) == 1


def test_better_design_has_the_largest_of_the_least_improvements():
    rng = np.random.default_rng(3)
    rows = rng.random((200, 3))
    base = np.array([0.5, 0.4, 0.6])
    eligible = [k for k, row in enumerate(rows) if all(row <= base)]
    gains = {
        k: min(1.0 - value / b for value, b in zip(rows[k], base, strict=True)) for k in eligible
    }
    assert len(eligible) > 3
    assert better_than(rows, base) == max(eligible, key=gains.get)
    assert better_than(rows, np.zeros(3)) is None
    # Better in one objective and as good in the others is better.
    assert better_than(np.array([[0.5, 0.3, 0.6]]), base) == 0
    assert better_than(base[None], base) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"objective": [{"output": "total_ware"}]}, "objective.0.output: .*expected one of"),
        (
            {"limit": [{"output": WEAR, "at_most": 1.0, "at_least": 2.0}]},
            "expected at_least < at_most, found 2 and 1",
        ),
        ({"objective": [OBJECTIVES[0]] * 2}, f"objective: expected each once, found {WEAR} again"),
        ({"simulation": {"period": 1.0}}, r"\[simulation\].*period: unknown key"),
    ],
)
def test_bad_input_is_named_with_status_2(tiny_designs, tmp_path, capsys, changes, words):
    path = tmp_path / "search.toml"
    path.write_text(tomli_w.dumps(tree(tiny_designs, **changes)))
    assert main(["run", str(path), "--out", str(tmp_path / "bad"), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.count("error: ") == 1
    assert re.search(words, error), error
    assert not (tmp_path / "bad").exists()


def test_outcome_is_that_of_the_design_s_own_cycle(run, tiny_designs, tmp_path):
    task = SearchSetup.of(load(tmp_path, tiny_designs)).task
    found = outcome(task, DESIGN)
    cycle = compared_cycles(run.config, run.knee, DESIGN).cycles["surrogate"]
    assert found["status"] == OK
    assert {name: found[name] for name in OUTPUTS} == pytest.approx(cycle.outputs, rel=1e-12)
    sides = [cycle.outputs[f"{side}_peak_pressure_MPa"] for side in ("medial", "lateral")]
    assert found[PRESSURE] == max(sides)
    # The coarse surrogate doubts the design, which flags the whole of it.
    assert doubts(expected_errors(run.knee, DESIGN))
    assert found["flagged_instants"] == len(cycle.result.time)
    original = outcome(replace(task, model="original"), DESIGN)
    truth = compared_cycles(run.config, run.knee, DESIGN).cycles["original"].outputs
    assert {name: original[name] for name in OUTPUTS} == pytest.approx(truth, rel=1e-9)


def test_forbidden_design_and_design_without_a_cycle_have_a_reason(tiny_designs, tmp_path):
    found = outcome(SearchSetup.of(load(tmp_path, tiny_designs)).task, FORBIDDEN)
    assert (found["status"], found["reason"]) == (INFEASIBLE, "not dish_sagittal_radius_mm < 88")
    # A line of action beside the knee lifts a condyle: nothing balances the loads.
    off = SearchSetup.of(load(tmp_path, tiny_designs, simulation={"medial_offset_mm": 60.0})).task
    found = outcome(off, DESIGN)
    assert found["status"] == "failed"
    assert found["reason"]
    assert np.isnan(found[WEAR])


def problem_of(**changes):
    config = OptimisationConfig.model_validate(
        {"objective": tuple(OBJECTIVES), "population": 8} | changes
    )
    return DesignProblem(config, Parameters(("a_mm",), np.zeros(1), np.ones(1)))


def test_constraints_are_relative_to_their_bounds():
    limits = (
        {"output": "anterior_range_mm", "at_most": 5.0, "at_least": 1.0},
        {"output": "rotation_min_deg", "at_least": -4.0},
    )
    problem = problem_of(limit=limits)
    table = pd.DataFrame(
        {
            "status": ["ok", "ok", "failed", "infeasible"],
            WEAR: [1.0, 2.0, np.nan, np.nan],
            PRESSURE: [9.0, 8.0, np.nan, np.nan],
            "anterior_range_mm": [6.0, 3.0, np.nan, np.nan],
            "rotation_min_deg": [-6.0, -4.0, np.nan, np.nan],
        }
    )
    found = problem.violations(table)
    assert_allclose(found[:2], [[0.0, 0.2, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]], rtol=1e-12)
    assert (found[2:, 1:] == 0.0).all()
    assert found[3, 0] > found[2, 0] > 1.0
    assert problem.allowed(table).tolist() == [False, True, False, False]
    front = front_of(problem, table)
    assert front.places.tolist() == [1]
    assert_allclose(problem.objectives(table)[:2], [[1.0, 9.0], [2.0, 8.0]])
    told = r"nearest one has anterior_range_mm = 6 \(limit: at most 5"
    with pytest.raises(StageError, match=told):
        front_of(problem_of(limit=limits[:1]), table.iloc[[0]])
    with pytest.raises(StageError, match="no design has a gait cycle; the first: lost"):
        front_of(problem, table.iloc[2:].assign(reason="lost"))


def test_limits_hold_with_the_expected_error_and_the_original_breaks_those_it_exceeds():
    limit = {"output": "anterior_range_mm", "at_most": 5.0, "at_least": 4.0}
    problem = problem_of(limit=(limit,))
    table = pd.DataFrame({WEAR: 1.0, PRESSURE: 9.0, "anterior_range_mm": [4.9, 4.97, 4.01]})
    table = table.assign(status="ok", expected_ap_travel_percent=1.0, expected_wear_percent=50.0)
    assert problem.allowed(table).tolist() == [True, False, False]
    assert problem.allowed(table.drop(columns="expected_ap_travel_percent")).all()
    designs = [
        SimpleNamespace(name=name, outputs={"original": {"anterior_range_mm": travel}})
        for name, travel in (("base", 5.2), ("front-1", 5.003), ("front-2", 4.99), ("low", 3.9))
    ]
    designs.append(SimpleNamespace(name="front-3", outputs={}))
    assert broken_limits(problem.settings, designs) == [
        "front-1 breaks a limit by the original model: AP position, range of 5.003 mm (at most 5)",
        "low breaks a limit by the original model: AP position, range of 3.9 mm (at least 4)",
    ]


def test_front_is_what_no_design_that_keeps_the_limits_dominates(done):
    table = read_table(done / "evaluated.parquet")
    doubt = 1.0 + 0.01 * table["expected_ap_travel_percent"]
    allowed = table[(table["status"] == OK) & (doubt * table["anterior_range_mm"] <= 6.1)]
    rows = allowed[[WEAR, PRESSURE]].to_numpy()
    expected = {
        int(n) for n, r in zip(allowed["design"], rows, strict=True) if not dominated(r, rows)
    }
    front = read_table(done / "front.parquet")
    assert set(front["design"]) == expected
    assert front[WEAR].is_monotonic_increasing
    assert (front["dish_sagittal_radius_mm"] < 88.0).all()
    assert (doubt * table["anterior_range_mm"] > 6.1).any(), "the limit is of no effect"
    document = read_document(done / "optimisation.json", OptimisationDocument)
    assert document.objectives[0].least == front[WEAR].iloc[0]


def test_chosen_designs_are_verified_with_the_original_model(done, run):
    document = read_document(done / "optimisation.json", OptimisationDocument)
    assert [each.name for each in document.chosen][:1] == ["base"]
    assert document.chosen[0].values == DESIGN
    base, other = document.chosen[:2]
    for each in document.chosen:
        truth = compared_cycles(run.config, run.knee, each.values).cycles["original"].outputs[WEAR]
        assert each.outputs["original"][WEAR] == pytest.approx(truth, rel=1e-9)
        difference = 100.0 * (each.outputs["surrogate"][WEAR] / truth - 1.0)
        found = each.change(WEAR, "surrogate", each, "original")
        assert found == pytest.approx(difference, rel=1e-6)
    change = 100.0 * (other.outputs["original"][WEAR] / base.outputs["original"][WEAR] - 1.0)
    assert other.change(WEAR, "original", base, "original") == pytest.approx(change)
    other.outputs.pop("original")
    assert other.change(WEAR, "surrogate", other, "original") is None


def charts_of(page):
    found = re.findall(r'<script type="application/json">(.*?)</script></figure>', page, re.S)
    return {each["name"]: each for each in map(json.loads, found)}


def test_page_has_the_front_and_the_chosen_designs(done):
    text = (done / "optimisation.html").read_text()
    front = read_table(done / "front.parquet")
    document = read_document(done / "optimisation.json", OptimisationDocument)
    for number in front["design"]:
        assert f'<th scope="row">{number} ' in text
    lines = {each["name"]: each for each in charts_of(text)[f"front-{WEAR}-{PRESSURE}"]["lines"]}
    assert_allclose(lines["front"]["x"], front[WEAR], rtol=1e-4)
    assert_allclose(lines["front"]["y"], front[PRESSURE], rtol=1e-4)
    for each in document.chosen:
        assert_allclose(lines[each.name]["y"], [each.outputs["surrogate"][PRESSURE]], rtol=1e-4)


def test_an_original_model_that_contradicts_the_better_design_is_told(done):
    document = read_document(done / "optimisation.json", OptimisationDocument)
    worse = "the better design is worse than the base design in total wear by the original model: "
    base, better = (each.outputs["original"] for each in document.chosen[:2])
    better[WEAR] = 0.98 * base[WEAR]
    assert not any(words.startswith(worse) for words in told_first(document))
    better[WEAR] = 1.02 * base[WEAR]
    assert f"{worse}+2 %" in told_first(document)
    document.objectives[0].goal = "largest"
    assert f"{worse}+2 %" not in told_first(document)
