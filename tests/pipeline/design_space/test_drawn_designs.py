"""Designs that are drawn, their configurations, and one taken out of a run over designs."""

import json

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose, assert_array_equal
from surrogate_arrays import arrays

import surrogates
from pipeline.cli.main import main
from pipeline.config.reading import (
    ConfigError,
    check_designs,
    checked_section,
    design_config,
    load_config,
)
from pipeline.config.schema import Config
from pipeline.design_space.designs import (
    CANDIDATES_EACH,
    TrainedDesigns,
    base_values,
    compared_cycles,
    draw_designs,
    infeasible,
)
from pipeline.design_space.sampling import HELD_OUT, LEARNT, UNSEEN, parameters_of
from pipeline.exchange.exports import stl_of

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
    ("keys", "message"),
    [
        ({"parameter": [{"key": "simulation.period_s", "range": [1.0, 2.0]}]}, "a key of .knee"),
        ({"parameter": [DISH, DISH]}, "dish_sagittal_radius_mm again"),
        ({"parameter": [DISH], "constraints": ["a < 1"]}, "found a"),
    ],
)
def test_sections_that_cannot_be_used(keys, message):
    with pytest.raises(ConfigError, match=message):
        checked_section({"design_space": keys}, Config, "designs")


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


def test_the_same_seed_draws_the_same_designs():
    first, again = (draw_designs(config_of(DISH, MODULUS)).table for _ in range(2))
    assert first.equals(again)
    other = draw_designs(config_of(DISH, MODULUS, seed=2)).table
    assert not first["dish_sagittal_radius_mm"].equals(other["dish_sagittal_radius_mm"])


DESIGN = {"dish_sagittal_radius_mm": 76.0, "youngs_modulus_MPa": 620.0}
TEXTS = [f"{name}={value}" for name, value in DESIGN.items()]


@pytest.fixture(scope="module")
def opened(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


@pytest.fixture(scope="module")
def taken(tiny_designs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("taken") / "design"
    assert main(["design", str(tiny_designs), *TEXTS, "--out", str(folder), "--quiet"]) == 0
    return folder


def answer(capsys, *words):
    status = main(["design", *map(str, words), "--quiet", "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_surrogate_of_the_design(taken, opened, tiny_designs):
    knee, wanted = surrogates.load(taken / "knee.npz"), opened.knee.at(DESIGN)
    poses = opened.knee.path_of(DESIGN).poses(np.linspace(0.0, 1.0, 9))
    poses[:, 4] -= 2e-4
    for one, other in zip(arrays(knee, poses), arrays(wanted, poses), strict=True):
        assert_array_equal(one, other)
    assert (knee.loads(poses).values[:, :, 1] > 0.0).any()
    assert knee.header["design"] == DESIGN
    assert knee.header["name"] == "tiny_designs"
    assert "errors" not in knee.header
    assert knee.header["expected"]["height_um"] > 4.0
    assert any("height" in text for text in knee.header["doubts"])


def test_configuration_of_the_design(taken, opened):
    config, wanted = load_config(taken / "design.toml"), opened.config_of(DESIGN)
    assert config.run.name == "tiny_designs_design"
    assert config.model_copy(update={"run": wanted.run}) == wanted
    assert config.knee.implant.dish_sagittal_radius_mm == 76.0
    assert config.contact.youngs_modulus_MPa == 620.0
    assert config.design_space is None


def test_surfaces_of_the_design(taken, opened):
    model = opened.original(DESIGN).model
    for name in ("femur", "tibia"):
        mesh, wanted = trimesh.load(taken / f"{name}.stl"), getattr(model, name)
        assert (taken / f"{name}.stl").stat().st_size == 84 + 50 * len(wanted.faces)
        corners = np.asarray(wanted.vertices)[np.asarray(wanted.faces)]
        assert_allclose(mesh.triangles, 1e3 * corners, rtol=0, atol=1e-4)
    # the lowest point of a deeper dish
    other = opened.original(DESIGN | {"dish_sagittal_radius_mm": 61.0}).model
    assert stl_of(other.tibia) != (taken / "tibia.stl").read_bytes()


def test_answer_states_outputs_and_errors(tiny_designs, opened, tmp_path, capsys):
    status, found = answer(capsys, tiny_designs, *TEXTS, "--out", tmp_path / "d", "--original")
    assert status == 0
    assert found["values"] == DESIGN
    assert found["infeasible"] == ""
    cycles = compared_cycles(opened.config, opened.knee, DESIGN).cycles
    surrogate, original = cycles["surrogate"], cycles["original"]
    assert found["outputs"] == {"surrogate": surrogate.outputs, "original": original.outputs}
    wear = "total_wear_mm3_per_million_cycles"
    off = 100.0 * abs(surrogate.outputs[wear] / original.outputs[wear] - 1.0)
    assert found["errors"]["wear_percent"] == pytest.approx(off, rel=1e-9)
    assert found["flagged"] == surrogate.result.flagged
    assert len(found["files"]) == 4


def test_base_values_are_those_of_the_configuration(opened):
    base = base_values(opened.config)
    assert base["dish_sagittal_radius_mm"] == (70.0, "base configuration")
    assert base["youngs_modulus_MPa"].value == 650.0
    space = opened.config.design_space
    thickness = space.parameter[0].model_copy(
        update={"key": "contact.thickness_mm", "range": (6.0, 10.0)}
    )
    other = space.model_copy(update={"parameter": (thickness,)})
    (found,) = base_values(opened.config.model_copy(update={"design_space": other})).values()
    assert found == (8.0, "middle of the range, the base configuration has no number")
