"""Bad input through the command line: status 2, one clear message, no traceback."""

import numpy as np
import pandas as pd
import pytest
from studies import TINY, WAVEFORMS, export, mesh_study, run_command

from pipeline.cli.main import main


@pytest.fixture
def refused(capsys):
    """Return a function that carries out a command and checks how it is refused."""

    def check(arguments, *words):
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
def meshes(shapes, tmp_path):
    """Write both surfaces in metres; a test may spoil them."""
    return {body: export(shapes[body], tmp_path / f"{body}.stl") for body in shapes}


@pytest.fixture
def refused_meshes(refused, tmp_path, meshes):
    """Return a function that runs a study of two meshes, spoilt as told."""

    def check(*words, femur=None, tibia=None, **knee):
        femur = {"file": str(meshes["femur"])} | (femur or {})
        tibia = {"file": str(meshes["tibia"])} | (tibia or {})
        study = mesh_study(tmp_path, femur, tibia, **knee)
        err = refused(run_command(tmp_path / "out", config=study), *words)
        assert not (tmp_path / "out").exists()
        return err

    return check


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"femur": {"file": "none.stl"}}, ["[knee.femur]", "none.stl: no such file"]),
        ({"tibia": {"unit": "mm"}}, ["tibia.stl", "diagonal", "unit='m'"]),
        (
            {"femur": {"file": "tibia.stl"}, "tibia": {"file": "femur.stl"}},
            ["[knee]", "femur and tibia are exchanged", "tibia.stl is flat as a tibia"],
        ),
        ({"tibia": {"axes": ["x", "y", "-z"]}}, ["[knee.tibia] axes", "mirror", "right-handed"]),
        ({"tibia": {"axes": ["y", "z", "x"]}}, ["this tibia faces", "axes"]),
        ({"split_lateral_mm": 500.0}, ["knee.split_lateral_mm = 500 mm", "z runs from"]),
    ],
)
def test_meshes_that_are_described_wrongly(refused_meshes, meshes, keys, words):
    refused_meshes(*words, **keys)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda table: table.drop(columns="ap_force_N"),
            ["ap_force_N", "anterior_mm (prescribed motion)", "found neither"],
        ),
        (
            lambda table: table.assign(flexion_deg=np.radians(table["flexion_deg"])),
            ["flexion_deg", "expected degrees", "check unit"],
        ),
    ],
)
def test_waveforms_that_cannot_be_used(refused, tmp_path, change, words):
    path = tmp_path / "gait.csv"
    change(pd.read_csv(WAVEFORMS, comment="#")).to_csv(path, index=False)
    command = run_command(tmp_path / "out", *TINY, f"simulation.waveforms={path}")
    refused(command, f"{path}, ", "column ", *words)
    assert not (tmp_path / "out").exists()


def test_bad_input_leaves_an_earlier_run_alone(refused, run_copy):
    before = {p: p.read_bytes() for p in run_copy.rglob("*") if p.is_file()}
    refused(run_command(run_copy, *TINY, "simulation.waveforms=/none/gait.csv"), "/none/gait.csv")
    assert {p: p.read_bytes() for p in run_copy.rglob("*") if p.is_file()} == before


def test_resume_with_a_damaged_table_of_evaluations(refused, run_copy):
    path = run_copy / "samples" / "kept-2.parquet"
    path.write_bytes(path.read_bytes()[:200])
    command = [*run_command(run_copy, *TINY), "--resume"]
    refused(command, "kept-2.parquet: the table is damaged", "delete the file", "--resume")
