"""[knee.shape]: what its keys mean, and what is refused."""

import pytest
import tomli_w

from pipeline.config.reading import ConfigError, dump_config, load_config

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


def test_a_stored_configuration_is_read_again(tmp_path):
    first = load_config(written(tmp_path, {"femur_files": FILES, "modes": 2, "mode_1": 1.0}))
    again = tmp_path / "again.toml"
    again.write_text(dump_config(first), encoding="utf-8")
    assert load_config(again, ("run.name='study'",)) == first


def test_a_weight_can_be_set(tmp_path):
    path = written(tmp_path, {"femur_files": FILES})
    assert load_config(path, ("knee.shape.mode_3=2.5",)).knee.shape.weights == (0.0, 0.0, 2.5)


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
        ({"femur_files": FILES, "modes": 0}, "modes: expected greater than or equal to 1"),
        ({"femur_files": FILES, "modes": 9}, "modes: expected less than or equal to 8"),
        (
            {"femur_files": FILES, "modes": 1, "mode_2": 1.0},
            "mode_2: expected 0, since there are 1",
        ),
        ({"femur_files": FILES, "mode_4": 0.1}, "mode_4: expected 0, since there are 3 modes"),
        ({"femur_files": FILES, "mode_1": float("nan")}, "mode_1: expected a finite number"),
        ({"femur_files": FILES, "mode_9": 1.0}, "mode_9: unknown key"),
        ({"femur_files": FILES, "mode_1": "1"}, "mode_1: expected a valid number"),
        ({"tibia_displacements": TABLES, "align": "rigid"}, 'align: expected "none" with'),
        ({"tibia_displacements": [f"{k}.csv" for k in range(9)]}, "at most 8 files of a body"),
    ],
)
def test_refused_keys(tmp_path, keys, words):
    with pytest.raises(ConfigError, match=f"knee.shape.*{words}"):
        load_config(written(tmp_path, keys))


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"knee": {"shape": {"femur_files": FILES}}}, r'\[knee.shape\] needs source = "meshes"'),
        (
            {"contact": {"thickness_mm": "underside"}},
            "contact.thickness_mm: .*(expected a thickness in mm|needs the closed solid)",
        ),
    ],
)
def test_sections_that_shapes_do_not_go_with(tmp_path, sections, words):
    with pytest.raises(ConfigError, match=words):
        load_config(written(tmp_path, {"femur_files": FILES}, **sections))


def test_solids_do_not_take_a_shape(tmp_path):
    path = written(tmp_path, {"femur_files": FILES})
    with pytest.raises(ConfigError, match=r"\[knee.tibia_solid\]: remove the section"):
        load_config(path, ("knee.tibia_solid.file='solid.stl'",))
    closed = ("knee.tibia.surface='bearing'", "contact.thickness_mm='underside'")
    with pytest.raises(ConfigError, match=r"with \[knee.shape\], found .underside"):
        load_config(path, closed)
