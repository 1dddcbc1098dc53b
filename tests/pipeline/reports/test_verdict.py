"""The verdict of a report: each of its rules, its words, and the command to run next."""

import shlex
import tomllib
from dataclasses import replace
from itertools import pairwise

import pytest
from studies import SMOKE

from pipeline.advice import PROGRAM, in_folder
from pipeline.cli.main import parse
from pipeline.config.reading import dump_config, load_config
from pipeline.reports.evidence import more_samples
from pipeline.reports.model_section import layer_of
from pipeline.reports.verdict import JUDGED, LIMITS, Evidence, verdict
from pipeline.store.run_documents import LEVELS, ElasticLayer, Resolution

PRESSURES = ("medial_peak_pressure_Pa", "lateral_peak_pressure_Pa")
SMOOTH = Resolution(across=12.0, roughness_percent=0.02)
GOOD = Evidence(
    differences=dict.fromkeys((*JUDGED, *PRESSURES), 0.1),
    peak_difference_percent=0.2,
    held_out_percent=0.5,
    resolution={"medial": SMOOTH, "lateral": SMOOTH},
    least_across=6.0,
    spacing_key="contact.finite_element.node_spacing_mm",
)
FINE = {"force_percent": 0.4, "peak_pressure_percent": 1.2}
SHARES = ("peak_pressure", "mean_pressure", "area", "stiffness", "approach")
FIGURES = dict.fromkeys((f"{key}_share" for key in SHARES), 0.4)
MEDIAL = {
    **{"instant_percent": 13.5, "load_N": 1410.0, "peak_pressure_Pa": 31.4e6, "poses": 12},
    **{
        "layer_peak_pressure_Pa": 22.66e6,
        "at_peak": FIGURES,
        "rms": FIGURES,
        "uncertainty_share": 0.03,
    },
}
SPRINGS = {"model": "linear springs", "reference": "finite elements"}
LAYER, REFUSED = (
    layer_of(ElasticLayer.model_validate(SPRINGS | content))
    for content in ({"compartments": {"medial": MEDIAL}}, {"reason": "elements folded"})
)
MORE = "knee-contact run RUN_FOLDER/config.toml --set design.budget=1400"


def spacing(spacing_mm, errors):
    return {"spacing_mm": spacing_mm, "errors": errors}


def judged(**changes):
    return verdict(replace(GOOD, **changes), MORE)


def levels(found):
    return [part.level for part in found.parts]


def off(**differences):
    return {**GOOD.differences, **differences}


def test_good_run_is_trusted_and_used():
    found = judged()
    assert levels(found) == ["trust", "trust"]
    assert found.level == "trust"
    assert found.line == "loads and motion: trust, 0.10 %; peak pressure: trust, ±0.20 %"
    assert "knee-contact run montecarlo" in found.next.command


@pytest.mark.parametrize("column", JUDGED)
@pytest.mark.parametrize(("error", "level"), [(1.99, 0), (2.01, 1), (9.9, 1), (10.1, 2)])
def test_every_load_and_motion_in_gait_decides(column, error, level):
    found = judged(differences=off(**{column: error}))
    assert levels(found) == [LEVELS[level], "trust"]
    assert found.level == LEVELS[level]
    assert found.parts[0].figure_percent == error
    if level:
        assert found.next.command == MORE


@pytest.mark.parametrize(("error", "level"), [(9.9, 0), (10.1, 1), (29.0, 1), (31.0, 2)])
def test_held_out_loads_decide_with_wider_limits(error, level):
    """Contact is stiff: the load at a given pose has an error that gait does not have."""
    part = judged(held_out_percent=error).parts[0]
    assert part.level == LEVELS[level]
    # The figure stays that of gait, the reason has the other one.
    assert part.figure_percent == 0.1
    assert bool(part.reasons) == bool(level)


def test_leaving_the_domain_needs_care():
    found = judged(flagged=1)
    assert levels(found) == ["care", "trust"]
    assert found.next.command == "knee-contact check RUN_FOLDER/config.toml --deep"


def test_coordinate_without_range_is_left_out():
    """A rotation that is prescribed and never changes has no range to relate an error to."""
    assert judged(differences=off(rotation_rad=None)).level == "trust"


@pytest.mark.parametrize("column", PRESSURES)
@pytest.mark.parametrize(("error", "level"), [(4.9, 0), (5.1, 1), (19.0, 1), (21.0, 2)])
def test_peak_pressure_in_gait_decides(column, error, level):
    found = judged(differences=off(**{column: error}))
    assert levels(found) == ["trust", LEVELS[level]]
    assert found.parts[1].figure_percent == error


def test_ridges_of_the_mesh_are_named_before_the_surrogate():
    rough = Resolution(across=17.0, roughness_percent=9.0)
    found = judged(
        differences=off(medial_peak_pressure_Pa=10.4),
        resolution={"medial": SMOOTH, "lateral": rough},
    )
    part = found.parts[1]
    assert (part.level, part.figure_percent) == ("care", 10.4)
    words = "ridges of the mesh: lateral pressure jumps from triangle to triangle, 9.0 %"
    assert found.line.endswith(
        f"peak pressure: care, ±10 %: {words}; off the contact model in gait"
    )
    assert "smooth the tibial mesh" in found.next.text
    assert "--out RUN_FOLDER-ridges" in found.next.command


def test_coarse_mesh_needs_care():
    found = judged(resolution={"medial": Resolution(across=4.2, roughness_percent=0.1)})
    assert levels(found) == ["trust", "care"]
    (reason,) = found.parts[1].reasons
    assert reason == "coarse mesh: 4.2 triangles across the medial contact, expected at least 6"
    assert found.next.command == "knee-contact check RUN_FOLDER/config.toml"


def test_table_is_judged_by_unseen_rows_with_the_limits_of_gait():
    alone = {"differences": {}, "peak_difference_percent": None, "resolution": {}}
    assert levels(judged(**alone)) == ["trust"]
    found = judged(**alone, table="rows.csv", held_out_percent=LIMITS["gait"][0] + 0.1, flagged=1)
    assert levels(found) == ["care"]
    assert "not compared in gait" in found.line
    assert found.next.text.startswith("add rows to rows.csv at the poses that the report shows")
    assert found.next.command == "knee-contact run RUN_FOLDER/config.toml --out RUN_FOLDER-more"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"flagged": 1},
        {"held_out_percent": 15.0},
        {"resolution": {"medial": Resolution(across=12.0, roughness_percent=9.0)}},
        {"differences": {}, "peak_difference_percent": None, "held_out_percent": 3.0},
        {"node_spacing": spacing(1.0, None)},
        {"layer": LAYER},
        {"layer": REFUSED},
    ],
)
def test_every_command_is_one_of_this_program(changes):
    """The parser takes the command, and the keys that it sets make a configuration."""
    design = tomllib.loads(dump_config(load_config(SMOKE)))["design"]
    command = verdict(replace(GOOD, **changes), more_samples(design)).next.command
    words = shlex.split(in_folder(command, SMOKE.parent))
    assert words[0] == PROGRAM
    parse(words[1:])
    if words[1] == "run" and words[2] != "montecarlo":
        pairs = tuple(after for word, after in pairwise(words) if word == "--set")
        assert bool(pairs) != ("differences" in changes)  # a table gets more rows, and no keys
        if not pairs:
            return
        if "layer" in changes:
            contact = load_config(SMOKE, pairs).contact
            assert contact.model == "finite_element"
            return
        config = load_config(SMOKE, (*pairs, "contact.model='finite_element'"))
        finer = config.contact.finite_element.node_spacing_mm == 0.5 and "node_spacing" in changes
        more = any(getattr(config.design, key) > design[key] for key in ("candidates", "budget"))
        assert finer or more


@pytest.mark.parametrize(
    ("candidates", "budget", "words"),
    [
        (8192, 700, "--out RUN_FOLDER --resume --set design.budget=1400"),
        (200, 110, "--out RUN_FOLDER-more --set design.candidates=400 --set design.budget=220"),
        (80000, 0, "--out RUN_FOLDER-more --set design.candidates=160000"),
    ],
)
def test_more_samples_go_on_in_the_run_where_they_can(candidates, budget, words):
    command = more_samples({"candidates": candidates, "budget": budget})
    assert command == f"knee-contact run RUN_FOLDER/config.toml {words}"


@pytest.mark.parametrize(("error", "level"), [(2.9, 0), (3.1, 1), (19.0, 1), (21.0, 2)])
@pytest.mark.parametrize(("part", "load"), [(0, "force"), (1, "peak_pressure")])
def test_error_of_the_node_spacing_decides(part, load, error, level):
    errors = FINE | {f"{load}_percent": error}
    found = judged(node_spacing=spacing(1.0, errors))
    assert levels(found)[part] == LEVELS[level]
    assert levels(found)[1 - part] == "trust"
    if level:
        assert found.parts[part].reasons[0].startswith("the node spacing limits the ")
        assert found.next.command.endswith(
            "--out RUN_FOLDER-finer --set contact.finite_element.node_spacing_mm=0.5"
        )


@pytest.mark.parametrize(
    ("percent", "level"), [(None, "trust"), (5.0, "trust"), (60.0, "care"), (100.0, "do not use")]
)
def test_without_a_simulation_flags_at_feasible_poses_judge(percent, level):
    found = judged(differences={}, simulated=False, flagged_percent=percent)
    assert found.level == level
    assert ("of the feasible poses have flags" in found.line) == (level != "trust")
    assert judged(flagged_percent=percent).level == "trust"  # the cycle has no flag
