"""Bad input through the command line: status 2, one clear message, no traceback."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from some_slow import first_of
from studies import (
    SMOKE,
    TINY,
    WAVEFORMS,
    export,
    mesh_study,
    run_command,
)

from pipeline.cli.main import main

AXIAL = "axial_force_N"


@pytest.fixture
def refused(capsys):
    """Return a function that carries out a command and checks how it is refused."""

    def check(arguments: list[str], *words: str) -> str:
        status = main(arguments)
        captured = capsys.readouterr()
        assert status == 2, captured.err
        assert captured.err.count("error: ") == 1
        message = captured.err[captured.err.index("error: ") :]
        assert "Traceback" not in captured.err
        assert captured.out == ""
        for word in words:
            assert word in message
        return captured.err

    return check


@pytest.fixture
def meshes(shapes, tmp_path) -> dict[str, Path]:
    """Write both surfaces in metres; a test may spoil them."""
    return {body: export(shapes[body], tmp_path / f"{body}.stl") for body in shapes}


@pytest.fixture
def refused_meshes(refused, tmp_path, meshes):
    """Return a function that runs a study of two meshes, spoilt as told."""

    def check(*words: str, femur=None, tibia=None, **knee) -> str:
        femur = {"file": str(meshes["femur"])} | (femur or {})
        tibia = {"file": str(meshes["tibia"])} | (tibia or {})
        study = mesh_study(tmp_path, femur, tibia, **knee)
        err = refused(run_command(tmp_path / "out", config=study), *words)
        assert not (tmp_path / "out").exists()
        return err

    return check


# ---- the configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.sede=1", ["run.sede: unknown key", "seed"]),
        ("contact.thickness_mm=0.008", ["thickness_mm", "0.1", "found 0.008"]),
        ("run.seed", ["--set run.seed: expected section.key=value"]),
    ],
)
def test_bad_values(refused, tmp_path, override, words):
    refused(run_command(tmp_path / "out", *TINY, override), *words)
    assert not (tmp_path / "out").exists()


# ---- meshes --------------------------------------------------------------------------------------


def test_mesh_files_are_fit_for_these_tests(refused, tmp_path, meshes):
    """The run ends only because its folder is in use."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("dear reader")
    study = mesh_study(tmp_path, {"file": str(meshes["femur"])}, {"file": str(meshes["tibia"])})
    err = refused(run_command(tmp_path / "out", config=study), "not empty")
    assert "warning" not in err


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"femur": {"file": "none.stl"}}, ["[knee.femur]", "none.stl: no such file"]),
        ({"tibia": {"file": "tibia.iges"}}, ["[knee.tibia]", "'.iges', expected one of .stl"]),
        ({"tibia": {"unit": "mm"}}, ["tibia.stl", "diagonal", "unit='m'"]),
        ({"tibia": {"unit": "foot"}}, ["knee.tibia.unit", "'inch'", "found 'foot'"]),
        (
            {"femur": {"file": "tibia.stl"}, "tibia": {"file": "femur.stl"}},
            ["[knee]", "femur and tibia are exchanged", "tibia.stl is flat as a tibia"],
        ),
        ({"tibia": {"axes": ["x", "y", "-z"]}}, ["[knee.tibia] axes", "mirror", "right-handed"]),
        ({"tibia": {"axes": ["x", "x", "z"]}}, ["[knee.tibia] axes", "x, y and z once each"]),
        ({"tibia": {"axes": ["x", "up", "z"]}}, ["[knee.tibia] axes", "'up'"]),
        ({"tibia": {"axes": ["x", "y"]}}, ["knee.tibia.axes"]),
        ({"tibia": {"axes": ["y", "z", "x"]}}, ["this tibia faces", "axes"]),
        ({"split_lateral_mm": 500.0}, ["knee.split_lateral_mm = 500 mm", "z runs from"]),
    ],
)
def test_meshes_that_are_described_wrongly(refused_meshes, meshes, keys, words):
    shutil.copy(meshes["tibia"], meshes["tibia"].with_suffix(".iges"))
    refused_meshes(*words, **keys)


def first_vertex_nan(content: bytes) -> bytes:
    return re.sub(rb"^v .*", b"v nan 0.0 0.0", content, count=1, flags=re.M)


@pytest.mark.parametrize(
    ("name", "spoil", "words"),
    [
        ("femur.stl", lambda content: b"", ["femur.stl: the file is empty"]),
        ("femur.stl", lambda content: content[: len(content) // 2], ["truncated", "expected "]),
        (
            "femur.stl",
            lambda content: b"no mesh at all\n" * 20,
            ["damaged or not a valid STL file"],
        ),
        *(
            ("femur.ply", lambda content, k=k: content[: int(k * len(content))], ["truncated"])
            for k in (0.02, 0.5, 0.99)
        ),
        ("femur.obj", first_vertex_nan, ["NaN"]),
    ],
)
def test_damaged_mesh(refused_meshes, tmp_path, shapes, name, spoil, words):
    path = export(shapes["femur"], tmp_path / name)
    path.write_bytes(spoil(path.read_bytes()))
    refused_meshes(f"{name}: ", *words, femur={"file": name})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scale": 1e3}, ["femur.ply", "diagonal", "expected", "unit='mm'"]),
        ({"turn": (1, 1, -1)}, ["normals of this femur point inwards", "flip the normals"]),
        ({"turn": (1, -1, -1)}, ["this femur faces +y, expected -y"]),
    ],
)
def test_mesh_of_another_size_or_facing(refused_meshes, tmp_path, shapes, change, words):
    export(shapes["femur"], tmp_path / "femur.ply", **change)
    refused_meshes(*words, femur={"file": "femur.ply"})


def test_large_holes_are_refused_and_non_manifold_edges_warned_of(
    refused, tmp_path, meshes, shapes
):
    tibia = shapes["tibia"]
    lateral = tibia.centroids[tibia.centroids[:, 2] > 0.0].mean(axis=0)
    nearest = np.argsort(np.linalg.norm(tibia.centroids - lateral, axis=1))
    holed = type(tibia)(tibia.vertices, tibia.faces[nearest[24:]], "holed")
    path = export(holed, tmp_path / "holed.ply")
    fin = shapes["femur"].faces[0, :2].tolist()
    femur = type(tibia)(
        np.vstack([shapes["femur"].vertices, [[0.0, 0.02, 0.0]]]),
        np.vstack([shapes["femur"].faces, [[*fin, len(shapes["femur"].vertices)]]]),
        "finned",
    )
    finned = export(femur, tmp_path / "finned.ply")
    study = mesh_study(tmp_path, {"file": str(finned)}, {"file": str(path)})
    words = "holed.ply: 1 hole in the surface", "mm across at about (", "fill the holes"
    err = refused(run_command(tmp_path / "out", config=study), *words)
    assert "warning" in err
    assert "finned.ply: 1 non-manifold edge (" in err


# ---- waveforms -----------------------------------------------------------------------------------


def test_unknown_waveform_file(refused, tmp_path):
    refused(
        run_command(tmp_path / "out", *TINY, "simulation.waveforms=/none/gait.csv"),
        "/none/gait.csv: No such file",
    )


def test_waveform_file_that_is_no_text(refused, tmp_path):
    path = tmp_path / "gait.csv"
    path.write_bytes(b"\xff\xfe\x00" * 40)
    command = run_command(tmp_path / "out", *TINY, f"simulation.waveforms={path}")
    refused(command, f"{path}: expected a table as text")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda table: table.drop(columns="ap_force_N"),
            ["ap_force_N", "anterior_mm (prescribed motion)", "found neither"],
        ),
        (
            lambda table: table.assign(**{AXIAL: table[AXIAL].where(table.index != 3)}),
            ["axial_force_N", "line 5", "expected a finite number"],
        ),
        (lambda table: table.iloc[:-5], ["gait_percent", "cover 0 to 100"]),
        (
            lambda table: table.assign(flexion_deg=np.radians(table["flexion_deg"])),
            ["flexion_deg", "expected degrees", "radians"],
        ),
        (lambda table: table.assign(**{AXIAL: -table[AXIAL]}), [AXIAL, "at least 0"]),
    ],
)
def test_waveforms_that_cannot_be_used(refused, tmp_path, change, words):
    path = tmp_path / "gait.csv"
    change(pd.read_csv(WAVEFORMS, comment="#")).to_csv(path, index=False)
    command = run_command(tmp_path / "out", *TINY, f"simulation.waveforms={path}")
    refused(command, f"{path}, ", "column ", *words)
    assert not (tmp_path / "out").exists()


# ---- run directories -----------------------------------------------------------------------------


def test_output_in_the_place_of_a_file(refused, tmp_path):
    (tmp_path / "out").write_text("in use")
    refused(run_command(tmp_path / "out", *TINY), "out: is a file, expected a folder", "--out")
    refused(run_command(tmp_path / "out" / "run", *TINY), str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "in use"


@pytest.mark.parametrize("flags", [[], ["--resume"]])
def test_output_that_is_not_empty(refused, tmp_path, flags):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("dear reader")
    refused([*run_command(tmp_path / "out", *TINY), *flags], "not empty", "--out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["letter.txt"]


def test_bad_input_leaves_an_earlier_run_alone(refused, run_copy):
    before = {p: p.read_bytes() for p in run_copy.rglob("*") if p.is_file()}
    refused(run_command(run_copy, *TINY, "simulation.waveforms=/none/gait.csv"), "/none/gait.csv")
    assert {p: p.read_bytes() for p in run_copy.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", first_of(["first", "kept-2", "kept-1", "heldout"], 2))
def test_resume_with_a_damaged_table_of_evaluations(refused, run_copy, name):
    path = run_copy / "samples" / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:200])
    command = [*run_command(run_copy, *TINY), "--resume"]
    refused(command, f"{name}.parquet: the table is damaged", "delete the file", "--resume")


@pytest.mark.parametrize("name", ["made_with.json", "path.json"])
def test_resume_with_a_damaged_file(refused, run_copy, name):
    (run_copy / name).write_text("[{")
    refused([*run_command(run_copy, *TINY), "--resume"], f"{name}: ", "damaged")


@pytest.mark.slow
def test_resume_writes_a_damaged_configuration_again(run_copy):
    """What the run was made with stands in another document as well."""
    whole = (run_copy / "config.toml").read_text()
    (run_copy / "config.toml").write_text("[{")
    assert main([*run_command(run_copy, *TINY), "--resume"]) == 0
    assert (run_copy / "config.toml").read_text() == whole


@pytest.mark.parametrize("command", ["validate", "simulate", "report"])
def test_folder_that_holds_no_run(refused, tmp_path, command):
    refused([command, str(tmp_path / "none")], str(tmp_path / "none"), "run")
    (tmp_path / "empty").mkdir()
    refused([command, str(tmp_path / "empty")], str(tmp_path / "empty"), "config.toml", "run")
    refused([command, str(SMOKE)], str(SMOKE))


@pytest.mark.parametrize("command", ["validate", "simulate"])
@pytest.mark.parametrize("part", [0.0, 0.5])
def test_truncated_surrogate(refused, run_copy, command, part):
    path = run_copy / "knee.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    refused([command, str(run_copy)], "knee.npz: expected an .npz", "truncated or foreign")


def test_altered_surrogate(refused, run_copy):
    path = run_copy / "knee.npz"
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    name = next(n for n in arrays if n != "header" and arrays[n].dtype == np.float64)
    arrays[name] = arrays[name] + 1e-9
    np.savez(path, **arrays)
    refused(["validate", str(run_copy)], "knee.npz: checksum does not match")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("validate", "samples/heldout.parquet"),
        ("validate", "validation.json"),
        ("validate", "config.toml"),
        ("simulate", "path.json"),
        ("report", "validation.json"),
        ("report", "samples/first.parquet"),
        ("report", "simulation.parquet"),
        ("report", "pressure_maps.npz"),
    ],
)
def test_damaged_file_of_a_finished_run(refused, run_copy, command, name):
    path = run_copy / name
    path.write_bytes(path.read_bytes()[:40])
    refused([command, str(run_copy)], f"{path}: ")


def test_finished_run_whose_meshes_are_gone(refused, run_copy, meshes, tmp_path):
    study = mesh_study(tmp_path, {"file": str(meshes["femur"])}, {"file": str(tmp_path / "no.stl")})
    shutil.copy(study, run_copy / "config.toml")
    (run_copy / "made_with.json").unlink()  # else the changed keys are told before
    refused(["simulate", str(run_copy)], "no.stl: no such file")
