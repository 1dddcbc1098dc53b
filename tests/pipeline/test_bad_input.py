"""Bad input through the command line: status 2, one clear message, no traceback."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies import (
    SMOKE,
    TINY,
    WAVEFORMS,
    export,
    implant_meshes,
    mesh_study,
    run_command,
)

from pipeline.cli.main import main


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


@pytest.fixture(scope="session")
def shapes():
    return implant_meshes()


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


def test_missing_config(refused, tmp_path):
    refused(run_command(tmp_path / "out", config=tmp_path / "none.toml"), "none.toml", "No such")


def test_config_that_is_no_toml(refused, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("[run\n")
    refused(run_command(tmp_path / "out", config=bad), "bad.toml: expected a TOML file, found")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.sede=1", ["run.sede: unknown key", "seed"]),
        ("run.seed='one'", ["run.seed: expected a valid integer, found 'one'"]),
        ("contact.poissons_ratio=0.5", ["poissons_ratio: expected less than 0.5, found 0.5"]),
        ("contact.youngs_modulus_MPa=-463.0", ["expected greater than 0, found -463.0"]),
        ("contact.thickness_mm=0.008", ["thickness_mm", "0.1", "found 0.008"]),
        ("design.first=90", ["first: expected fewer than candidates (90), found 90"]),
        ("space.load_N=[3000, 2]", ["space.load_N", "low < high", "found [3000, 2]"]),
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


def test_missing_mesh(refused_meshes):
    refused_meshes("[knee.femur]", "none.stl: no such file", femur={"file": "none.stl"})


def test_unsupported_mesh(refused_meshes, meshes):
    other = meshes["tibia"].rename(meshes["tibia"].with_suffix(".step"))
    refused_meshes("[knee.tibia]", "'.step', expected one of .stl", tibia={"file": str(other)})


def test_empty_mesh(refused_meshes, meshes):
    meshes["femur"].write_bytes(b"")
    refused_meshes("femur.stl: the file is empty")


def test_truncated_stl(refused_meshes, meshes):
    content = meshes["femur"].read_bytes()
    meshes["femur"].write_bytes(content[: len(content) // 2])
    refused_meshes("femur.stl: truncated", f"expected {len(content)}")


@pytest.mark.parametrize("part", [0.02, 0.5, 0.99])
def test_truncated_ply(refused_meshes, tmp_path, shapes, part):
    path = export(shapes["tibia"], tmp_path / "tibia.ply")
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    refused_meshes("tibia.ply: truncated", tibia={"file": str(path)})


def test_text_named_stl(refused_meshes, meshes):
    meshes["femur"].write_text("this is no mesh at all, though it goes on for a while\n" * 5)
    refused_meshes("femur.stl: truncated, damaged or not a STL file")


def test_nan_vertices(refused_meshes, tmp_path, shapes):
    path = export(shapes["femur"], tmp_path / "femur.obj")
    lines = path.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("v "))
    lines[first] = "v nan 0.0 0.0"
    path.write_text("\n".join(lines))
    refused_meshes("femur.obj", "finite", "nan", femur={"file": str(path)})


def test_millimetres_read_as_metres(refused_meshes, tmp_path, shapes):
    path = export(shapes["femur"], tmp_path / "femur.ply", scale=1e3)
    refused_meshes("femur.ply", "diagonal", "expected", "unit='mm'", femur={"file": str(path)})


def test_metres_read_as_millimetres(refused_meshes):
    refused_meshes("tibia.stl", "diagonal", "unit='m'", tibia={"unit": "mm"})


def test_unknown_unit(refused_meshes):
    refused_meshes("knee.tibia.unit", "'mm'", "found 'inch'", tibia={"unit": "inch"})


def test_inverted_winding(refused_meshes, tmp_path, shapes):
    path = export(shapes["femur"], tmp_path / "femur.ply", turn=(1, 1, -1))
    refused_meshes("this femur faces +y, expected -y", "winding", femur={"file": str(path)})


def test_femur_upside_down(refused_meshes, tmp_path, shapes):
    path = export(shapes["femur"], tmp_path / "femur.ply", turn=(1, -1, -1))
    refused_meshes("this femur faces +y, expected -y", femur={"file": str(path)})


def test_femur_and_tibia_exchanged(refused_meshes, meshes):
    refused_meshes(
        "[knee.femur]",
        "tibia.stl: this femur faces +y",
        femur={"file": str(meshes["tibia"])},
        tibia={"file": str(meshes["femur"])},
    )


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (["x", "y", "-z"], ["mirror image", "right-handed"]),
        (["x", "x", "z"], ["x, y and z once each"]),
        (["x", "up", "z"], ["'up'"]),
    ],
)
def test_axes_that_are_no_rotation(refused_meshes, axes, words):
    refused_meshes("[knee.tibia] axes", *words, tibia={"axes": axes})


def test_two_axes(refused_meshes):
    refused_meshes("knee.tibia.axes", tibia={"axes": ["x", "y"]})


def test_axes_that_turn_the_knee_aside(refused_meshes):
    refused_meshes("this tibia faces", "axes", tibia={"axes": ["y", "z", "x"]})


def test_split_outside_the_tibia(refused_meshes):
    refused_meshes("knee.split_lateral_mm = 500 mm", "z runs from", split_lateral_mm=500.0)


def test_holes_and_non_manifold_edges_are_warned_of(refused, tmp_path, meshes, shapes):
    tibia = shapes["tibia"]
    lateral = tibia.centroids[tibia.centroids[:, 2] > 0.0].mean(axis=0)
    nearest = np.argsort(np.linalg.norm(tibia.centroids - lateral, axis=1))
    holed = type(tibia)(tibia.vertices, tibia.faces[nearest[6:]], "holed")
    path = export(holed, tmp_path / "holed.ply")
    fin = shapes["femur"].faces[0, :2].tolist()
    femur = type(tibia)(
        np.vstack([shapes["femur"].vertices, [[0.0, 0.02, 0.0]]]),
        np.vstack([shapes["femur"].faces, [[*fin, len(shapes["femur"].vertices)]]]),
        "finned",
    )
    finned = export(femur, tmp_path / "finned.ply")
    (tmp_path / "out").write_text("in use")
    study = mesh_study(tmp_path, {"file": str(finned)}, {"file": str(path)})
    err = refused(run_command(tmp_path / "out", config=study), "is a file, expected a folder")
    assert "warning" in err
    assert "holed.ply: 1 hole in the surface" in err
    assert "finned.ply: 1 non-manifold edge (" in err


# ---- waveforms -----------------------------------------------------------------------------------


@pytest.fixture
def refused_waveforms(refused, tmp_path):
    """Return a function that runs the tiny study with a changed waveform table."""

    def check(change, *words: str) -> None:
        path = tmp_path / "gait.csv"
        change(pd.read_csv(WAVEFORMS, comment="#")).to_csv(path, index=False)
        command = run_command(tmp_path / "out", *TINY, f"simulation.waveforms={path}")
        refused(command, f"{path}, ", "column ", *words)
        assert not (tmp_path / "out").exists()

    return check


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


def test_waveforms_without_a_column(refused_waveforms):
    refused_waveforms(
        lambda table: table.drop(columns="ap_force_N"),
        "ap_force_N",
        "anterior_mm (prescribed motion)",
        "found neither",
    )


def test_waveforms_with_nan(refused_waveforms):
    def spoil(table):
        table.loc[3, "axial_force_N"] = np.nan
        return table

    refused_waveforms(spoil, "axial_force_N", "line 5", "expected a finite number")


def test_waveforms_that_do_not_cover_the_cycle(refused_waveforms):
    refused_waveforms(lambda table: table.iloc[:-5], "gait_percent", "cover 0 to 100")


def test_waveforms_in_radians(refused_waveforms):
    refused_waveforms(
        lambda table: table.assign(flexion_deg=np.radians(table["flexion_deg"])),
        "flexion_deg",
        "expected degrees",
        "radians",
    )


def test_waveforms_that_pull(refused_waveforms):
    refused_waveforms(
        lambda table: table.assign(axial_force_N=-table["axial_force_N"]), "axial_force_N", ">= 0"
    )


# ---- run directories -----------------------------------------------------------------------------


def test_output_that_is_a_file(refused, tmp_path):
    (tmp_path / "out").write_text("in use")
    refused(run_command(tmp_path / "out", *TINY), "out: is a file, expected a folder", "--out")
    assert (tmp_path / "out").read_text() == "in use"


def test_output_below_a_file(refused, tmp_path):
    (tmp_path / "out").write_text("in use")
    refused(run_command(tmp_path / "out" / "run", *TINY), str(tmp_path / "out"))


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


@pytest.mark.parametrize("name", ["first", "kept-1", "kept-2", "heldout"])
def test_resume_with_a_damaged_table_of_evaluations(refused, run_copy, name):
    path = run_copy / "samples" / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:200])
    command = [*run_command(run_copy, *TINY), "--resume"]
    refused(command, f"{name}.parquet: the table is damaged", "delete the file", "--resume")


@pytest.mark.parametrize("name", ["config.toml", "path.json"])
def test_resume_with_a_damaged_file(refused, run_copy, name):
    (run_copy / name).write_text("[{")
    refused([*run_command(run_copy, *TINY), "--resume"], f"{name}: ", "damaged")


@pytest.mark.parametrize("command", ["validate", "simulate", "report", "bench"])
def test_folder_that_holds_no_run(refused, tmp_path, command):
    refused([command, str(tmp_path / "none")], str(tmp_path / "none"), "run")
    (tmp_path / "empty").mkdir()
    refused([command, str(tmp_path / "empty")], str(tmp_path / "empty"), "config.toml", "run")
    refused([command, str(SMOKE)], str(SMOKE))


@pytest.mark.parametrize("command", ["validate", "simulate", "bench"])
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
    refused(["bench", str(run_copy)], "knee.npz: checksum does not match")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("validate", "samples/heldout.parquet"),
        ("validate", "validation.json"),
        ("validate", "config.toml"),
        ("simulate", "path.json"),
        ("bench", "simulation.parquet"),
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


@pytest.mark.parametrize("command", ["simulate", "bench"])
def test_finished_run_whose_meshes_are_gone(refused, run_copy, meshes, tmp_path, command):
    study = mesh_study(tmp_path, {"file": str(meshes["femur"])}, {"file": str(tmp_path / "no.stl")})
    shutil.copy(study, run_copy / "config.toml")
    (run_copy / "made_with.json").unlink()  # else the changed keys are told before
    refused([command, str(run_copy)], "no.stl: no such file")
