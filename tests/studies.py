"""Small studies for the tests of the pipeline: a run in seconds, and the implant as mesh files."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import tomli_w
import trimesh
from shapes import plate

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.reports import figures as drawings
from pipeline.store.samples import read_table

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "configs" / "smoke.toml"
WAVEFORMS = ROOT / "dynamics" / "simulator" / "tables" / "level_walking.csv"
TABLES = (
    *("candidates", "first", "screened-1", "kept-1", "screened-2", "kept-2", "screened", "kept"),
    *("domain", "heldout", "heldout_prediction"),
)
#: What makes a run of the smoke study take few seconds; its figures mean nothing.
TINY = (
    "run.workers=1",
    "run.chunk=7",
    "knee.implant.edge_mm=3.0",
    "knee.implant.femur_edge_mm=2.0",
    "design.candidates=90",
    "design.first=60",
    "design.budget=80",
    "design.domain_samples=16",
    "surrogate.family=kriging",  # the search for a cheaper family takes as long as all else
    "surrogate.polynomial.terms=28",
    "validation.points=20",
    "simulation.samples=21",
    "simulation.relative_tolerance=1e-2",
)

#: What makes a run over two parameters of the built-in implant take few seconds.
TINY_DESIGNS = {
    "run": {"name": "tiny_designs", "workers": 1, "chunk": 80},
    "knee": {"implant": {"edge_mm": 3.0, "femur_edge_mm": 2.0, "dish_sagittal_radius_mm": 70.0}},
    "feasibility": {"peak_pressure_MPa": 120.0},
    "surrogate": {"family": "network", "network": {"hidden": 8, "networks": 1, "steps": 400}},
    "simulation": {"samples": 21, "relative_tolerance": 1e-2},
    "design_space": {
        "designs": 8,
        "poses": 40,
        "rounds": 2,
        "unseen": 2,
        "held_out": 1,
        "constraints": ["dish_sagittal_radius_mm < 88"],
        "parameter": [
            {"key": "knee.implant.dish_sagittal_radius_mm", "range": [60.0, 90.0]},
            {"key": "contact.youngs_modulus_MPa", "range": [500.0, 800.0]},
        ],
    },
}


def run_command(folder, *overrides, config=SMOKE):
    pairs = [part for text in overrides for part in ("--set", text)]
    return ["run", str(config), "--out", str(folder), "--quiet", *pairs]


def without_figures():
    """Leave out what takes longest of a page: its figures."""
    return patch.object(drawings, "data_uri", lambda draw, kind: f"data:{kind}")


@contextmanager
def kept_figures():
    """Keep the figures of pages in place of their files, which take longest."""
    figures = []

    def keep(draw, kind):
        figures.append(draw())
        return f"data:{kind}"

    with patch.object(drawings, "data_uri", keep):
        yield figures


def stored_samples(file):
    """Return the number of results that a file of samples has, also while a run writes to it."""
    if not file.exists():
        return 0
    with (
        suppress(sqlite3.OperationalError),  # locked, or not made yet
        closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as table,
    ):
        return int(table.execute("SELECT count(*) FROM samples").fetchone()[0])
    return 0


def kill_at_first_chunk(samples, arguments):
    """Start a command, kill it as soon as it has stored results; return how many it has stored."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *arguments], cwd=ROOT, env=environment
    )
    limit = time.monotonic() + 120.0
    try:
        while not stored_samples(samples):
            assert process.poll() is None, "the command ended before it could be killed"
            assert time.monotonic() < limit
            time.sleep(5e-4)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    return stored_samples(samples)


def surrogate_arrays(folder):
    with np.load(folder / "knee.npz", allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def assert_same_run(one, other):
    for name in TABLES:
        path = Path("samples") / f"{name}.parquet"
        left, right = read_table(one / path), read_table(other / path)
        assert left.equals(right), name
    left, right = surrogate_arrays(one), surrogate_arrays(other)
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        assert array.tobytes() == right[name].tobytes(), name


def implant_meshes():
    """Return coarse surfaces of the built-in implant [m]."""
    implant = CondylarImplant()
    femur, _, _ = implant.tessellate(2e-3)
    _, tibia, _ = implant.tessellate(3e-3)
    return {"femur": femur, "tibia": tibia}


def export(mesh, path, *, scale=1.0, turn=(1, 1, 1)):
    vertices = scale * mesh.vertices * np.asarray(turn)
    body = trimesh.Trimesh(vertices, mesh.faces, process=False)
    content = body.export(file_type=path.suffix[1:])
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mesh_study(folder, femur, tibia, **knee):
    tree = {
        "knee": {"source": "meshes", "femur": femur, "tibia": tibia, **knee},
        "contact": {"thickness_mm": 8.0},
        "simulation": {"waveforms": str(WAVEFORMS)},
    }
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def slab_study(folder, **knee):
    """Write a study of the implant's femur on two plates, and of a wedge below them (in mm).

    Its underside is the plane y = -7 mm + 0.05 z of the files.
    """
    plates = [plate(20e-3, 8, centre=(0.0, 0.0, z)) for z in (-22e-3, 22e-3)]
    faces = np.concatenate([plates[0].faces, plates[1].faces + len(plates[0].vertices)])
    tibia = TriangleMesh(np.concatenate([p.vertices for p in plates]), faces)
    box = trimesh.creation.box((60e-3, 2.0, 90e-3))
    x, y, z = np.asarray(box.vertices).T
    wedge = np.column_stack([x, np.where(y > 0.0, 0.0, -7e-3 + 0.05 * z), z])
    surfaces = {
        "femur": implant_meshes()["femur"],
        "tibia": tibia,
        "tibia_solid": TriangleMesh(wedge, np.asarray(box.faces)),
    }
    files = {
        body: {"file": str(export(surface, folder / f"{body}.ply", scale=1e3)), "unit": "mm"}
        for body, surface in surfaces.items()
    }
    return mesh_study(folder, **files, **knee)
