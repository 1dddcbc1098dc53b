"""Sections of design spaces, the configurations of designs, and which designs are drawn."""

from __future__ import annotations

import designs_run
import numpy as np
import pytest

from pipeline.config.designs import check_designs, design_config
from pipeline.config.reading import ConfigError, checked_section
from pipeline.config.schema import Config
from pipeline.design_space import checkup
from pipeline.design_space.checkup import check_design_space
from pipeline.design_space.drawn_designs import (
    CANDIDATES_EACH,
    HELD_OUT,
    LEARNT,
    UNSEEN,
    draw_designs,
    infeasible,
    parameters_of,
)
from pipeline.errors import StageError
from pipeline.preparation.findings import Findings

DISH = {"key": "knee.implant.dish_sagittal_radius_mm", "range": [45.0, 90.0]}
MODULUS = {"key": "contact.youngs_modulus_MPa", "range": [300.0, 900.0]}


def config_of(*parameters, **keys):
    space = {"designs": 16, "unseen": 5, "held_out": 3, **keys, "parameter": list(parameters)}
    return checked_section({"design_space": space}, Config, "designs")


def test_a_design_is_the_configuration_with_other_numbers():
    config = config_of(DISH, MODULUS)
    own = design_config(config, {"dish_sagittal_radius_mm": 61.0, "youngs_modulus_MPa": 500.0})
    assert own.knee.implant.dish_sagittal_radius_mm == 61.0
    assert own.contact.youngs_modulus_MPa == 500.0
    assert own.design_space is None
    implant = own.knee.implant.model_copy(update={"dish_sagittal_radius_mm": 45.0})
    assert implant == config.knee.implant


def test_a_thickness_in_place_of_the_underside_is_a_parameter():
    config = config_of({"key": "contact.thickness_mm", "range": [6.0, 12.0]})
    check_designs(config)
    assert design_config(config, {"thickness_mm": 7.5}).contact.thickness_mm == 7.5


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"key": "knee.implant.dish_radius_mm"}, "expected one of .*dish_sagittal_radius_mm"),
        ({"key": "knee.implant"}, "expected a key of this section"),
        ({"key": "contact.poissons_ratio", "range": [0.3, 0.6]}, "poissons_ratio"),
        ({"key": "contact.nodes_across"}, "nodes_across"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_the_knee_is_refused(parameter, message):
    config = config_of({"range": [4.5, 5.5], **parameter})
    with pytest.raises(ConfigError, match=message):
        check_designs(config)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"parameter": [{"key": "simulation.period_s", "range": [1.0, 2.0]}]}, "a key of .knee"),
        ({"parameter": [DISH, DISH]}, "dish_sagittal_radius_mm again"),
        ({"parameter": [DISH], "constraints": ["a < 1"]}, "found a"),
        ({"parameter": [{**DISH, "name": "a radius"}]}, "name"),
    ],
)
def test_sections_that_cannot_be_used(keys, message):
    with pytest.raises(ConfigError, match=message):
        checked_section({"design_space": keys}, Config, "designs")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"surrogate": {"family": "kriging"}}, "surrogate.family"),
        ({"simulation": {"kind": "none"}, "design": {"gait_samples": 0}}, "simulation.kind"),
        ({"feasibility": {"bounds": "gait"}}, "feasibility.bounds"),
        ({"surrogate": {"fields": {}}}, "surrogate.fields"),
    ],
)
def test_runs_over_designs_have_no(sections, message):
    tree = {"design_space": {"parameter": [DISH]}, **sections}
    with pytest.raises(ConfigError, match=message):
        checked_section(tree, Config, "designs")


def test_designs_fill_the_ranges_and_satisfy_the_constraints():
    text = "youngs_modulus_MPa > 10 * dish_sagittal_radius_mm"
    config = config_of(DISH, MODULUS, constraints=[text], designs=64)
    drawn = draw_designs(config)
    table, parameters = drawn.table, parameters_of(config)
    values = table[list(parameters.names)].to_numpy()
    learnt = (table["use"] == LEARNT).to_numpy()
    z = np.abs(parameters.scaled_rows(values))
    assert z[~learnt].max() <= 1.0
    # Designs beside the ends of the ranges are learnt too, so that these have neighbours.
    assert 1.03 < z[learnt].max() < 1.07
    assert (values[:, 1] > 10.0 * values[:, 0]).all()
    assert table["use"].value_counts().to_dict() == {
        LEARNT: 64 * CANDIDATES_EACH, UNSEEN: 5, HELD_OUT: 3
    }  # fmt: skip
    assert table["design"].is_unique
    assert drawn.dropped == {f"not {text}": drawn.drawn - len(table)}
    assert drawn.drawn > 1.2 * len(table)
    # The halves of the ranges have equal shares of the feasible part, up to a few designs.
    learnt = values[learnt & (z <= 1.0).all(axis=1), 0]
    modulus = np.random.default_rng(0).uniform(300.0, 900.0, 200_000)
    dish = np.random.default_rng(1).uniform(45.0, 90.0, 200_000)
    share = (dish[modulus > 10.0 * dish] < 60.0).mean()
    assert abs((learnt < 60.0).mean() - share) < 0.08


def test_part_of_the_designs_lies_at_edges_and_corners_each_once():
    drawn = draw_designs(config_of(DISH, MODULUS, designs=64, unseen=40, held_out=40)).table
    parameters = parameters_of(config_of(DISH, MODULUS))
    z = np.abs(parameters.scaled_rows(drawn[list(parameters.names)].to_numpy()))
    for use, least, most, end in ((LEARNT, 0.1, 0.3, 1.06), (UNSEEN, 0.2, 0.6, 1.0)):
        at_end = z[drawn["use"] == use] >= end - 1e-9
        assert least < at_end.any(axis=1).mean() < most
        assert at_end.all(axis=1).any()
    assert z[drawn["use"] == HELD_OUT].max() < 1.0
    assert not drawn.duplicated(list(parameters.names)).any()


def test_designs_that_the_implant_refuses_are_dropped_and_counted():
    """A dish of 36 mm is no dish for a condyle whose anterior radius is 38 mm."""
    config = config_of({**DISH, "range": [36.0, 90.0]})
    drawn = draw_designs(config)
    values = drawn.table["dish_sagittal_radius_mm"]
    assert values.min() > 38.0
    ((reason, count),) = drawn.dropped.items()
    assert reason.endswith("dish_sagittal_radius_mm: expected below 1")
    assert count == drawn.drawn - len(values)
    assert "conformity" in infeasible(config, {"dish_sagittal_radius_mm": 37.0})
    assert infeasible(config, {"dish_sagittal_radius_mm": 39.0}) == ""


def test_without_feasible_designs_the_reasons_are_told():
    config = config_of(DISH, constraints=["dish_sagittal_radius_mm > 100"])
    with pytest.raises(StageError, match=r"0 of \d+ designs are feasible: .* not dish_sagittal"):
        draw_designs(config)


def test_the_same_seed_draws_the_same_designs():
    first, again = (draw_designs(config_of(DISH, MODULUS)).table for _ in range(2))
    assert first.equals(again)
    other = draw_designs(config_of(DISH, MODULUS, seed=2)).table
    assert not first["dish_sagittal_radius_mm"].equals(other["dish_sagittal_radius_mm"])


FIGURES = {"evaluation_s": 1e-3, "preparation_s": 30.0}


def told(config, figures):
    findings = Findings()
    check_design_space(config, findings, figures)
    return findings, [each.text for each in findings.ordered()]


def test_designs_and_time_are_told():
    figures = dict(FIGURES)
    findings, texts = told(designs_run.config_of(), figures)
    assert not findings.has_errors
    assert any("infeasible" in text for text in texts)
    assert any(text.startswith("a run over 13 designs takes about") for text in texts)
    assert figures["run_s"] > 0.0


def test_finite_elements_are_condensed_for_every_design(monkeypatch):
    monkeypatch.setattr(checkup, "settled_path", lambda *_: (object(), ""))
    config = designs_run.config_of(contact={"model": "finite_element", "finite_element": {}})
    _, texts = told(config, dict(FIGURES))
    # 13 designs of 30 s each, in one process.
    assert "13 designs are condensed, which takes about 6 min" in texts
