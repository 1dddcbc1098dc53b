"""The configuration: files, defaults, overrides, and what is said of values that cannot be used."""

import os
import re
from pathlib import Path
from typing import get_args

import pytest
import tomli_w
from studies import ROOT, SMOKE, TINY

from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.elastic_foundation.laws import LAWS
from pipeline import choices
from pipeline.cli.main import main
from pipeline.config.data_folder import data_path
from pipeline.config.key_names import in_millimetres, renamed
from pipeline.config.knee_schema import FiniteElementConfig
from pipeline.config.reading import ConfigError, dump_config, load_config, read_tree
from pipeline.config.schema import Config, describe_schema
from pipeline.files import write_text
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import build_simulator
from pipeline.studies.contact_models.registry import MODELS
from surrogates.families import FAMILIES
from surrogates.formulations.registry import FORMULATIONS

#: Studies, walks and forward simulations have schemas of their own.
STUDIES = {
    *("montecarlo", "sobol", "walking"),
    *("comak_walking", "comak_markers", "comak_montecarlo", "passive_flexion", "anterior_laxity"),
}
CONFIGS = sorted(p for p in (ROOT / "configs").glob("*.toml") if p.stem not in STUDIES)


def refused(*overrides: str, config: Path = SMOKE) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(config, overrides)
    return str(caught.value)


def test_choices_are_the_names_of_the_registries():
    assert get_args(choices.Law) == tuple(LAWS)
    assert get_args(choices.Family) == tuple(FAMILIES)
    assert get_args(choices.Formulation) == tuple(FORMULATIONS)
    assert get_args(choices.ComparedModel) == tuple(kind.name for kind in MODELS)


def test_every_shipped_config_loads_and_round_trips(tmp_path):
    assert {"implant", "smoke", "grand_challenge", "lenhart"} <= {path.stem for path in CONFIGS}
    for path in CONFIGS:
        config = load_config(path)
        assert config.run.name == path.stem
        assert config.simulation.waveforms == LEVEL_WALKING.stem
        write_text(tmp_path / "config.toml", dump_config(config))
        assert load_config(tmp_path / "config.toml") == config
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


def test_empty_file_is_the_defaults_which_round_trip_with_infinity(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("")
    exclude = {"simulation": True, "run": {"name"}}
    assert load_config(path).model_dump(exclude=exclude) == Config().model_dump(exclude=exclude)
    text = dump_config(Config())
    assert "f = inf" in text
    path.write_text(text)
    again = dump_config(load_config(path))
    assert again.split("[simulation]")[0] == text.split("[simulation]")[0]


def test_relative_paths_start_at_the_config(tmp_path):
    tree = {
        "knee": {
            "source": "meshes",
            "femur": {"file": "meshes/femur.stl"},
            "tibia": {"file": "$KNEE_DATA/tibia.stl"},
            "tibia_solid": {"file": "meshes/insert.stl"},
        },
        "contact": {
            "thickness_file": "thickness.csv",
            "femur_layer": {"thickness_file": "$KNEE_DATA/femoral.csv"},
        },
        "simulation": {"waveforms": "gait.csv"},
    }
    (tmp_path / "study.toml").write_text(tomli_w.dumps(tree))
    config = load_config(tmp_path / "study.toml")
    assert config.knee.femur.file == str(tmp_path / "meshes" / "femur.stl")
    assert config.knee.tibia.file == "$KNEE_DATA/tibia.stl"
    assert config.knee.tibia_solid.file == str(tmp_path / "meshes" / "insert.stl")
    assert config.contact.thickness_file == str(tmp_path / "thickness.csv")
    assert config.contact.femur_layer.thickness_file == "$KNEE_DATA/femoral.csv"
    assert config.simulation.waveforms == str(tmp_path / "gait.csv")


def test_data_folder_is_the_variable_or_the_default(monkeypatch, tmp_path):
    base = Path("base")
    monkeypatch.setenv("KNEE_DATA", str(tmp_path))
    assert data_path("$KNEE_DATA/a/b.stl", base) == tmp_path / "a" / "b.stl"
    monkeypatch.setenv("KNEE_DATA", "")
    assert data_path("$KNEE_DATA/b.stl", base) == Path("../shared/data/b.stl")
    monkeypatch.delenv("KNEE_DATA")
    assert data_path("$KNEE_DATA/b.stl", base) == Path("../shared/data/b.stl")
    assert data_path("b.stl", base) == Path("base/b.stl")
    assert data_path("$KNEE_DATABASE/b.stl", base) == Path("base/$KNEE_DATABASE/b.stl")
    assert data_path(os.sep + "b.stl", base) == Path("/b.stl")


@pytest.mark.parametrize(
    ("override", "key", "known"),
    [
        ("nonsense.x=1", "nonsense", "simulation"),
        ("run.sede=1", "run.sede", "seed"),
        ("knee.implant.edge=1.0", "knee.implant.edge", "edge_mm"),
        ("surrogate.kriging.theta=1.0", "surrogate.kriging.theta", "likelihood_points"),
        ("contact.femur_layer.nu=0.3", "contact.femur_layer.nu", "poissons_ratio"),
        ("space.path.step=1.0", "space.path.step", "step_deg"),
    ],
)
def test_unknown_keys_are_errors_that_list_the_known_ones(override, key, known):
    message = refused(override)
    assert message.startswith(f"{SMOKE}: {key}: unknown key, expected one of ")
    assert known in message


@pytest.mark.parametrize(
    ("override", "key", "expected", "found"),
    [
        ("run.seed=true", "run.seed", "integer", "True"),
        ("run.seed=1.0", "run.seed", "integer", "1.0"),
        ("run.seed='1'", "run.seed", "integer", "'1'"),
        ("run.seed=-1", "run.seed", "greater than or equal to 0", "-1"),
        ("run.name='../x'", "run.name", "pattern", "'../x'"),
        ("run.name='..'", "run.name", "pattern", "'..'"),
        ("knee=5", "knee", "section", "5"),
        ("knee.side='both'", "knee.side", "'right' or 'left'", "'both'"),
        ("contact.poissons_ratio=0.5", "contact.poissons_ratio", "less than 0.5", "0.5"),
        ("contact.poissons_ratio=nan", "contact.poissons_ratio", "less than 0.5", "nan"),
        ("contact.poissons_ratio=-1.0", "contact.poissons_ratio", "greater than -1", "-1.0"),
        ("contact.youngs_modulus_MPa=-1.0", "contact.youngs_modulus_MPa", "than 0", "-1.0"),
        ("contact.youngs_modulus_MPa=inf", "contact.youngs_modulus_MPa", "finite", "inf"),
        ("contact.youngs_modulus_MPa=nan", "contact.youngs_modulus_MPa", "finite", "nan"),
        ("contact.youngs_modulus_MPa='463'", "contact.youngs_modulus_MPa", "number", "'463'"),
        # Pascals, metres and micrometres instead of MPa and mm.
        ("contact.youngs_modulus_MPa=463e6", "contact.youngs_modulus_MPa", "1000000", "4630000"),
        ("contact.thickness_mm=0.008", "contact.thickness_mm", "0.1 or 'underside'", "0.008"),
        ("contact.thickness_mm=8000", "contact.thickness_mm", "100 or 'underside'", "8000"),
        ("contact.thickness_mm='thick'", "contact.thickness_mm", "'underside'", "'thick'"),
        ("contact.f=1.0", "contact.f", "greater than 1", "1.0"),
        ("space.flexion_deg=[63, -3]", "space.flexion_deg", "low < high", "[63, -3]"),
        ("space.flexion_deg=[1, 2, 3]", "space.flexion_deg", "2 items", "[1, 2, 3]"),
        ("space.flexion_deg=60", "space.flexion_deg", "list", "60"),
        ("space.load_N=[0, 3]", "load_N", "0 < low < high", "[0.0, 3.0]"),
        ("space.rotation_deg=0", "space.rotation_deg", "greater than 0", "0"),
        ("space.path.kind='table'", "flexion_deg", "increasing knots", "[]"),
        ("design.first=200", "first", "fewer than candidates (200)", "200"),
        ("design.candidates=1e3", "design.candidates", "integer", "1000.0"),
        ("design.kind='grid'", "design.kind", "'sobol'", "'grid'"),
        ("design.budget=39", "budget", "at least first (60)", "39"),
        ("design.earlier_budgets=[110]", "design", "increasing numbers below budget", "[110]"),
        (
            "design.earlier_budgets=[90, 80]",
            "design",
            "increasing numbers below budget",
            "[90, 80]",
        ),
        ("design.earlier_budgets=[50, 80]", "design", "at least first (60)", "50"),
        ("design.rounds=0", "design.rounds", "greater than or equal to 1", "0"),
        ("design.wanted_error_percent=-1.0", "wanted_error_percent", "or equal to 0", "-1.0"),
        ("design.follow='path'", "design.follow", "'load' or 'pose'", "'path'"),
        ("design.load_spread=0.0", "design.load_spread", "greater than 0", "0.0"),
        ("design.family='network'", "design.family", "'kriging' or 'polynomial'", "'network'"),
        ("knee.implant.condyles='two'", "condyles", "'j_curve' or 'single_radius'", "'two'"),
        ("knee.implant.radius_mm=0.0", "radius_mm", "greater than 0", "0.0"),
        ("knee.implant.dish_half_length_mm=-1.0", "half_length_mm", "greater than 0", "-1.0"),
        ("feasibility.outside_weight=-0.1", "outside_weight", "than or equal to 0", "-0.1"),
        ("surrogate.compare=[['direct', 'spline']]", "surrogate.compare.0.1", "'krig", "'spline'"),
        ("surrogate.polynomial.degree=[0]", "degree.0", "than or equal to 1", "0"),
        ("validation.folds=1", "folds", "0 or at least 2", "1"),
        ("feasibility.outside_weight=1.0", "outside_weight", "less than 1", "1.0"),
        ("surrogate.poly_fourier.period_ratio=0.5", "period_ratio", "equal to 1", "0.5"),
        ("surrogate.network.hidden=2", "network.hidden", "equal to 4", "2"),
        ("surrogate.load_degree=0.5", "load_degree", "equal to 1", "0.5"),
        ("surrogate.kriging.correlation='linear'", "correlation", "'mixed'", "'linear'"),
        ("surrogate.formulation='plain'", "formulation", "'inverted'", "'plain'"),
        ("validation.points=2.5", "validation.points", "integer", "2.5"),
        ("simulation.relative_tolerance=0.0", "simulation.relative_tolerance", "than 0", "0.0"),
        ("simulation.period_s=2020-01-01", "simulation.period_s", "number", "datetime.date(2020"),
        ("simulation.waveforms=7", "simulation.waveforms", "string", "7"),
    ],
)
def test_values_out_of_range_name_file_key_expected_and_found(override, key, expected, found):
    message = refused(override)
    assert message.startswith(f"{SMOKE}: ")
    assert f"{key}: " in message
    said, _, shown = message.rpartition("found ")
    assert expected in said
    assert shown.startswith(found)


def test_every_reason_is_told_at_once():
    message = refused("run.seed=-1", "contact.poissons_ratio=0.5", "design.nonsense=1")
    for key in ("run.seed", "contact.poissons_ratio", "design.nonsense"):
        assert message.count(key) == 1


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["knee.source='meshes'"], ["knee: ", "[knee.femur]", "[knee.tibia]"]),
        (["knee.femur.file='a.stl'"], ["knee: ", 'source = "meshes"']),
        (["knee.source='meshes'", "knee.femur.unit='mm'"], ["knee.femur.file: expected a value"]),
        (["design.family='polynomial'"], ['infill = "error" needs family = "kriging"']),
        (["knee.side='left'"], ['side and split_lateral_mm need source = "meshes"']),
        (["knee.split_lateral_mm=1.0"], ['side and split_lateral_mm need source = "meshes"']),
        (["contact.femur_layer.m=1.0"], ["contact.femur_layer.thickness_mm", "for the tibia only"]),
        (["space.path.adduction_deg=[1.0]"], ["space.path", 'kind = "table"']),
        (
            ["space.path.kind='table'", "space.path.flexion_deg=[0, 10]"],
            ["adduction_deg: expected one value per flexion_deg (2), found 0"],
        ),
    ],
)
def test_keys_that_do_not_go_together(overrides, words):
    message = refused(*overrides)
    for word in words:
        assert word in message


ELEMENTS = "contact.model='finite_element'"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["contact.law='logarithmic'"], ["contact: law: expected only with springs"]),
        (
            ["contact.law='modified'", "contact.f=3.0", "contact.m=0.7"],
            ["contact: law, f, m: expected only with springs"],
        ),
        (["contact.reference_indentation_mm=0.5"], ["contact: reference_indentation_mm: "]),
        (["contact.surface='flat'"], ["contact: surface: "]),
        (
            ["contact.conservative=true", "contact.search_depth_mm=10.0"],
            ["contact: conservative, search_depth_mm: ", 'set model = "elastic_foundation"'],
        ),
        (
            ["contact.femur_layer.law='logarithmic'", "contact.femur_layer.thickness_mm=3.0"],
            ["contact: femur_layer.law: expected only with springs"],
        ),
        (["contact.femur_layer.m=2.0"], ["contact: femur_layer.m: "]),
        (["contact.finite_element.node_spacing_mm=20.0"], ["node_spacing_mm: expected less than"]),
        (["contact.poissons_ratio=0.49995"], ["contact: poissons_ratio: expected at most 0.4999"]),
        (["contact.finite_element.growth=0.9"], ["growth: expected greater than or equal to 1"]),
        (["contact.finite_element.solver='pardiso'"], ["solver: ", "'substructures' or 'superlu'"]),
        (["contact.finite_element.spacing=1.0"], ["finite_element.spacing: unknown key"]),
    ],
)
def test_springs_and_elements_have_keys_of_their_own(overrides, words):
    message = refused(ELEMENTS, *overrides)
    for word in words:
        assert word in message


def test_elements_need_their_model():
    message = refused("contact.finite_element.node_spacing_mm=1.0")
    assert '[contact.finite_element] needs contact.model = "finite_element"' in message


def test_elements_of_a_resolved_configuration_load_again(tmp_path):
    """A resolved configuration has all keys of springs, at their defaults."""
    assert Config().contact.finite_element is None
    config = load_config(SMOKE, (ELEMENTS, "contact.femur_layer.thickness_mm=3.0"))
    assert config.contact.finite_element == FiniteElementConfig()
    path = tmp_path / "config.toml"
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert "[contact.finite_element]" in path.read_text()
    assert "finite_element]" not in dump_config(load_config(SMOKE))


def test_meshes_need_a_thickness():
    overrides = [f"knee.{body}.file='{body}.stl'" for body in ("femur", "tibia")]
    message = refused("knee.source='meshes'", *overrides)
    assert "contact.thickness_mm" in message
    load_config(SMOKE, ("knee.source='meshes'", "contact.thickness_mm=8", *overrides))


def test_overrides_are_read_as_toml_and_else_as_text():
    config = load_config(
        SMOKE,
        (
            "run.name=other",
            "contact.youngs_modulus_MPa=1e3",
            "contact.thickness_mm=8",
            "space.flexion_deg=[0, 1e2]",
            "surrogate.compare=[['direct', 'kriging']]",
            "contact.f=inf",
            "contact.femur_layer.thickness_mm=3.0",
        ),
    )
    assert config.run.name == "other"
    assert config.contact.youngs_modulus_MPa == 1000.0
    assert config.contact.thickness_mm == 8
    assert config.space.flexion_deg == (0.0, 100.0)
    assert config.surrogate.compare == (("direct", "kriging"),)
    assert config.contact.femur_layer.thickness_mm == 3.0


@pytest.mark.parametrize("override", ["run.seed", "=3", "run..seed=3", ".seed=3", "", "run seed=3"])
def test_overrides_need_key_and_value(override):
    assert refused(override) == f"--set {override}: expected section.key=value"
    assert "name is a value, not a section" in refused("run.name.first=1")


def test_a_name_with_dots_has_quotes(tmp_path):
    (tmp_path / "walk.toml").write_text('[walk.meshes]\n"a.stl" = "one.stl"\n')
    tree = read_tree(tmp_path / "walk.toml", ('walk.meshes."a.stl"=two.stl', "walk.model=m.osim"))
    assert tree == {"walk": {"meshes": {"a.stl": "two.stl"}, "model": "m.osim"}}


def test_missing_file_folder_and_no_toml(tmp_path):
    assert refused(config=tmp_path / "none.toml") == (
        f"{tmp_path / 'none.toml'}: cannot be read (No such file or directory)"
    )
    assert "directory" in refused(config=tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text("[run\nname = 3")
    assert refused(config=bad).startswith(f"{bad}: expected a TOML file, found: ")
    bad.write_bytes(b"\xff\xfe[run]")
    assert refused(config=bad).startswith(f"{bad}: expected a TOML file, found: ")


def test_documentation_is_that_of_the_schema(capsys):
    assert main(["schema"]) == 0
    told = capsys.readouterr().out
    stored = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert stored == told, "run: knee-contact schema > docs/configuration.md"


def test_schema_names_every_key_with_its_default():
    text = describe_schema()
    for line in ("| `seed` | `1` |", "| `file` | required |", "| `f` | `inf` |", "## [knee.femur]"):
        assert line in text

    def keys(tree):
        for key, value in tree.items():
            yield from keys(value) if isinstance(value, dict) else [key]

    for key in keys(Config().model_dump()):
        assert f"`{key}`" in text or f"[{key}]" in text or f".{key}]" in text


# Messages name keys of the configuration, in millimetres.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("split_z = 0.5 m", "split_lateral_mm = 0.5 m"),
        ("give split_z, or", "give split_lateral_mm, or"),
        ("my_split_z and split_zone stay", "my_split_z and split_zone stay"),
    ],
)
def test_whole_names_are_replaced(text, expected):
    assert renamed(text, {"split_z": "split_lateral_mm"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "x: expected > 0 m and <= 0.1 m, found 1",
            "x: expected > 0 mm and <= 100 mm, found 1000 mm",
        ),
        ("z runs from -0.03 to 0.036 m: give", "z runs from -30 to 36 mm: give"),
        ("found 3 rows", "found 3 rows"),
        ("100 m/s and 2 m²", "100 m/s and 2 m²"),
    ],
)
def test_lengths_are_in_millimetres(text, expected):
    assert in_millimetres(text) == expected


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("contact.search_depth_mm=500.0", ": expected > 0 mm and <= 100 mm, found 500 mm"),
        ("knee.implant.edge_mm=60.0", ": expected > 0 mm and <= "),
        ("knee.implant.femur_edge_mm=60.0", ": expected > 0 mm and <= "),
        ("knee.implant.dish_coronal_radius_mm=5000.0", ": expected"),
        ("knee.implant.dish_half_length_mm=80.0", ""),
        ("simulation.medial_offset_mm=500.0", ": expected >= -100 mm"),
    ],
)
def test_refused_value_is_named_by_its_key(override, message):
    config = load_config(SMOKE, (*TINY, override))
    with pytest.raises(ValueError, match=re.escape(override.split("=")[0] + message)):
        build_simulator(config.simulation, build_knee(config).start)
