"""Runs that the test processes make once for all, and what the tests of the pipeline share."""

import os
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import tomli_w
from filelock import FileLock
from studies import SMOKE, TINY, TINY_DESIGNS, implant_meshes, run_command, without_figures

from foundation.anatomy.femoral_frame import femoral_frame
from foundation.surfaces.femur_patches import femur_patches
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from surrogates.sampling.space import ReferencePath, SampleSpace


@pytest.fixture(scope="session", autouse=True)
def femurs_prepared_once():
    """Keep the last femoral surfaces that were prepared for the kernels, which is half of a set-up.

    Nothing writes to the arrays, and equal meshes give equal bits.
    """
    kept = {}

    def prepared(mesh, surface, *, curved, reach):
        arrays = (mesh.vertices, mesh.faces, surface.corners, surface.middles)
        key = joblib.hash((*arrays, curved, reach))
        if key not in kept:
            if len(kept) > 20:
                kept.pop(next(iter(kept)))
            kept[key] = femur_patches(mesh, surface, curved=curved, reach=reach)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foundation.elastic_foundation.model.femur_patches", prepared)
        yield


@pytest.fixture(scope="session", autouse=True)
def femoral_frames_found_once():
    """Keep the frames of femurs, each of which takes half of a check of surfaces."""
    kept = {}

    def found(mesh, anterior=None):
        key = joblib.hash((mesh.vertices, mesh.faces, anterior))
        if key not in kept:
            kept[key] = femoral_frame(mesh, anterior)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.originals.knee_surface_checks.femoral_frame", found)
        yield


@pytest.fixture(scope="module", autouse=True)
def figures_left_out(request):
    """Leave out the figures of pages, but in modules that are marked `drawn`."""
    drawn = request.node.get_closest_marker("drawn") is not None
    with nullcontext() if drawn else without_figures():
        yield


@pytest.fixture(scope="session")
def space():
    """Return a space of samples about a straight path."""
    path = ReferencePath.through([0.0, 0.5, 1.0], np.tile([0.0, 0.0, 0.0, 0.03, 0.0], (3, 1)))
    return SampleSpace(path, [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [4.0, 2500.0])


@pytest.fixture
def unsimulated(monkeypatch):
    """End a run with its surrogate: leave out the gait simulation and the report."""
    monkeypatch.setattr("pipeline.runner.simulate_cycle", lambda *_: None)
    monkeypatch.setattr("pipeline.runner.write_report", lambda _: SimpleNamespace(summary=[]))


@pytest.fixture(scope="session")
def shapes():
    return implant_meshes()


@pytest.fixture(scope="session")
def knee():
    """Return the original model of the tiny run."""
    return build_knee(load_config(SMOKE, TINY))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Return a function that returns a folder which one of the test processes makes for all.

    `make` writes the folder, whose name is unique in the tests; nobody writes to the folder later.
    """

    def made(name, make):
        base = tmp_path_factory.getbasetemp()
        # Each process of pytest-xdist has a base of its own in the one of the session.
        shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
        folder = shared / "made" / name
        folder.parent.mkdir(exist_ok=True)
        with FileLock(folder.with_name(f"{name}.lock")):
            if not folder.exists():
                draft = folder.with_name(f"{name}.draft")
                shutil.rmtree(draft, ignore_errors=True)
                make(draft)
                draft.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def tiny_run(made_once):
    """Return the folder of a finished run of the smoke study, made tiny; not to be written to."""

    def make(folder):
        with without_figures():
            assert main(run_command(folder, *TINY)) == 0

    return made_once("run", make)


@pytest.fixture(scope="session")
def tiny_designs(made_once):
    """Return the folder of a finished run over designs (`TINY_DESIGNS`); not to be written to."""

    def make(folder):
        file = folder.with_name(f"{folder.name}.toml")
        file.write_text(tomli_w.dumps(TINY_DESIGNS), encoding="utf-8")
        assert main(["run", str(file), "--out", str(folder), "--quiet"]) == 0

    return made_once("designs", make)


@pytest.fixture
def run_copy(tiny_run, tmp_path):
    """Return a copy of the finished tiny run that a test may change."""
    return shutil.copytree(tiny_run, tmp_path / "run")


@pytest.fixture
def light_run(run_copy):
    """Return a copy of the tiny run without what takes longest of a report and may be absent."""
    for name in ("knee.npz", "frames.npz", "wear.npz"):
        (run_copy / name).unlink()
    return run_copy
