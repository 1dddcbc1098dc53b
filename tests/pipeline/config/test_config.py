"""The configuration: files, defaults, overrides, documentation, inequalities, [knee.shape]."""

import os
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from studies import ROOT, SMOKE

from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_path
from pipeline.config.design_space_schema import check_inequality, satisfied
from pipeline.config.reading import ConfigError, dump_config, load_config
from pipeline.config.schema import Config
from pipeline.files import write_text
from pipeline.studies.dispatch import describe_schemas

#: Studies, walks and forward simulations have schemas of their own.
STUDIES = {
    *("montecarlo", "sobol", "gait2392_walk", "grand_challenge_walk"),
    *("comak_walking", "comak_markers", "passive_flexion", "anterior_laxity"),
    *("menisci_flexion", "menisci_walking", "implant_front"),
}
CONFIGS = sorted(p for p in (ROOT / "configs").glob("*.toml") if p.stem not in STUDIES)


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


def test_schema_names_every_key_with_its_default():
    text = describe_schemas()
    for line in ("| `seed` | `1` |", "| `file` | required |", "| `f` | `inf` |", "## [knee.femur]"):
        assert line in text

    def keys(tree):
        for key, value in tree.items():
            yield from keys(value) if isinstance(value, dict) else [key]

    for key in keys(Config().model_dump()):
        assert f"`{key}`" in text or f"[{key}]" in text or f".{key}]" in text


COLUMNS = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 2.0, 2.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", [True, False, False]),
        ("a <= b", [True, True, False]),
        ("2 * a - 1 > b", [False, True, True]),
        ("a / b >= 1.5", [False, False, True]),
        ("1 < a ** 2 < 9", [False, True, False]),
        ("-(a + b) > -4", [True, False, False]),
        ("1 / (a - 2) > 0", [False, True, True]),
    ],
)
def test_rows_that_satisfy(text, expected):
    assert satisfied(text, COLUMNS).tolist() == expected


def test_an_undefined_value_satisfies_nothing():
    assert not satisfied("(a - a) / (a - a) < 1", COLUMNS).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "expected an inequality with"),
        ("a == b", "expected an inequality with"),
        ("a <", "expected an inequality such as"),
        ("a < c", "expected one of a, b, found c"),
        ("1 < 2", "expected at least one of a, b"),
        ("a < 'b'", "expected numbers, names"),
        ("a < True", "expected numbers, names"),
        ("abs(a) < b", r"found abs\(a\)"),
        ("a.real < b", r"found a\.real"),
        ("__import__('os') < b", "expected numbers, names"),
        ("a[0] < b", "expected numbers, names"),
        ("a % b < 1", "expected numbers, names"),
    ],
)
def test_everything_else_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        check_inequality(text, ("a", "b"))


FILES = ("a.ply", "b.ply", "c.ply", "d.ply")
TABLES = ("one.csv", "two.csv")


def written(folder, shape, **sections):
    tree = {
        "knee": {
            "source": "meshes",
            "femur": {"file": "femur.ply"},
            "tibia": {"file": "tibia.ply"},
            "shape": shape,
        },
        "contact": {"thickness_mm": 8.0},
        **sections,
    }
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def shape_of(folder, **keys):
    return load_config(written(folder, keys)).knee.shape


def test_files_become_absolute_and_modes_have_a_default(tmp_path):
    shape = shape_of(tmp_path, femur_files=FILES, tibia_files=FILES, mode_2=-1.5)
    assert shape.femur_files == tuple(str(tmp_path / name) for name in FILES)
    assert (shape.kept, shape.weights) == (3, (0.0, -1.5, 0.0))
    assert shape.without_weights().weights == (0.0, 0.0, 0.0)


def test_at_most_eight_modes_are_kept(tmp_path):
    many = [f"{k}.ply" for k in range(20)]
    assert shape_of(tmp_path, femur_files=many).kept == 8
    assert shape_of(tmp_path, femur_files=many, modes=2).kept == 2


def test_displacements_are_modes_each(tmp_path):
    shape = shape_of(tmp_path, tibia_displacements=TABLES, mode_2=0.5)
    assert (shape.kept, shape.weights, shape.of_knees) == (2, (0.0, 0.5), False)
    assert shape.files == ((), tuple(str(tmp_path / name) for name in TABLES))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "expected corresponding meshes .* or displacements .*, found neither"),
        ({"femur_files": FILES, "tibia_displacements": TABLES}, "found both"),
        (
            {"femur_files": FILES, "tibia_files": FILES[:3]},
            "one file of each body per knee, found 4",
        ),
        (
            {"femur_displacements": TABLES, "tibia_displacements": TABLES[:1]},
            "one file of each body per mode, found 2 and 1",
        ),
        ({"femur_files": FILES[:1]}, "two knees or more, found 1"),
        ({"femur_files": FILES, "modes": 4}, "modes: expected at most 3, since there are 4 knees"),
        ({"tibia_displacements": TABLES, "modes": 3}, "modes: expected at most 2"),
        (
            {"femur_files": FILES, "modes": 1, "mode_2": 1.0},
            "mode_2: expected 0, since there are 1",
        ),
        ({"femur_files": FILES, "mode_4": 0.1}, "mode_4: expected 0, since there are 3 modes"),
        ({"femur_files": FILES, "mode_1": float("nan")}, "mode_1: expected a finite number"),
        ({"tibia_displacements": TABLES, "align": "rigid"}, 'align: expected "none" with'),
        ({"tibia_displacements": [f"{k}.csv" for k in range(9)]}, "at most 8 files of a body"),
    ],
)
def test_refused_keys(tmp_path, keys, words):
    with pytest.raises(ConfigError, match=f"knee.shape.*{words}"):
        load_config(written(tmp_path, keys))
