"""A small synthetic run directory, with numbers of the size that a real run has."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import tomli_w
from filelock import FileLock
from studies import SMOKE, TINY, TINY_DESIGNS, implant_meshes, run_command, without_figures

from foundation.anatomy.evidence import AnatomicalFrame
from foundation.anatomy.femoral_frame import femoral_frame
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.surfaces.femur_patches import femur_patches
from foundation.surfaces.smooth_surface import SmoothSurface
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.files import plain
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee
from pipeline.reports.report import write_report
from pipeline.store.samples import POSE_COLUMNS, write_table
from surrogates.sampling.space import ReferencePath, SampleSpace

HELD_OUT = 60
INSTANTS = 41
#: What stands beside the loads where the load is given, and typical errors there.
AT_LOAD = {
    **{"superior_m": 4e-6, "force_x_over_axial": 2e-3, "force_z_over_axial": 4e-3},
    "cop_distance_m": 3e-4,
}
#: Typical errors of the held-out loads, in the order of `LOAD_COLUMNS`.
ERRORS = np.array([4.0, 9.0, 6.0, 0.2, 0.05, 0.3, 1.5e-6, 2e5, 6e4, 4e-4, 1e-5, 5e-4])
CONFIG: dict[str, Any] = {
    "run": {"name": "synthetic", "seed": 1},
    "knee": {"source": "builtin", "side": "right", "implant": {"edge_mm": 1.0}},
    "contact": {
        "law": "modified",
        "youngs_modulus_MPa": 463.0,
        "poissons_ratio": 0.46,
        "thickness_mm": "underside",
        "f": float("inf"),
        "m": 1.0,
        "reference_indentation_mm": 1.0,
    },
    "space": {
        "flexion_deg": [-3.0, 63.0],
        "adduction_deg": 1.0,
        "rotation_deg": 8.0,
        "anterior_mm": 5.0,
        "lateral_mm": 1.0,
        "load_N": [2.0, 3000.0],
    },
    "design": {
        **{"candidates": 200, "first": 80, "rounds": 3, "budget": 180},
        **{"infill": "error", "follow": "load"},
        "wanted_error_percent": 0.0,
    },
    "feasibility": {"margin": 0.1, "outside_weight": 0.0},
    "surrogate": {"formulation": "inverted", "family": "kriging"},
    "validation": {"points": HELD_OUT, "kind": "lhs", "seed": 20240001},
}
SIDE = {"medial": -22e-3, "lateral": 22e-3}


def sample_rows(rng: np.random.Generator, count: int, compartment: str) -> pd.DataFrame:
    """Return evaluated samples whose loads hang together roughly as a condyle's do."""
    load = rng.uniform(50.0, 2800.0, count)
    ap, ml = 0.15 * rng.standard_normal((2, count)) * load
    forward = 6e-3 * rng.standard_normal(count)
    side = SIDE[compartment] + 2e-3 * rng.standard_normal(count)
    area = 4.0e-6 * np.sqrt(load)
    columns = [
        *(ap, load, ml, -side * load, side * ap - forward * ml, forward * load),
        *(area, 1.6 * load / area, load / area, forward, -1e-3 + 0 * load, side),
    ]
    poses = rng.uniform(-1.0, 1.0, (count, 6)) * [0.5, 0.017, 0.14, 5e-3, 1e-3, 1e-3]
    poses += np.array([0.5, 0, 0, 4e-3, 0.03, 0])
    table = pd.DataFrame(poses, columns=list(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=np.arange(count), load_N=load)
    table = table.assign(status="ok", reason="", evaluations=7)
    return table.assign(**dict(zip(LOAD_COLUMNS, columns, strict=True)))


def fail(table: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return a table whose first rows have no answer."""
    failed = table.copy()
    where = failed.index[:rows]
    failed.loc[where, "status"] = "failed"
    failed.loc[where, "reason"] = [
        f"load not reached: {900 + k} N of 2000 N at an indentation of 4.00 mm" for k in range(rows)
    ]
    failed.loc[where, list(LOAD_COLUMNS)] = np.nan
    return failed


def both(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Return samples of both compartments."""
    return pd.concat([sample_rows(rng, count, name) for name in COMPARTMENTS], ignore_index=True)


def screened_rows(rng: np.random.Generator, count: int, dropped: int) -> pd.DataFrame:
    """Return screened candidates, the first ones of each compartment dropped, the last left."""
    table = both(rng, count)
    reason = np.full(len(table), "", dtype=object)
    for start in (0, count):
        for k in range(dropped):
            what = "AP force over axial load 0.{} above 0.35" if k % 3 else "peak pressure {} MPa"
            reason[start + k] = what.format(41 + k)
    state = np.where(reason == "", "evaluated", "dropped")
    state[[count - 1, 2 * count - 1]] = "kept"
    return table.assign(screening=state, drop_reason=reason)


def figures(
    rng: np.random.Generator, columns: tuple[str, ...], scale: float, points: int = HELD_OUT - 6
) -> dict[str, Any]:
    """Return error figures in SI units."""
    shown = {}
    typical = dict(zip(LOAD_COLUMNS, ERRORS, strict=True)) | AT_LOAD
    for column in columns:
        error = typical[column]
        rmse = float(scale * error * rng.uniform(0.7, 1.3))
        shown[column] = {
            "rmse": rmse,
            "mae": 0.6 * rmse,
            "maximum": 4.0 * rmse,
            "nrmse": float(scale * rng.uniform(0.001, 0.012)),
            "q2": 1.0 - 1e-4 * scale,
            "points": points,
        }
    return shown


def assessment(
    rng: np.random.Generator, what: str, family: str, scale: float, fit: float | None = 12.0
) -> dict[str, Any]:
    """Return what `pipeline.stages.assessment.assess` returns."""
    parts: dict[str, Any] = {}
    worst = {
        **{"index": 17, "flexion_deg": 31.4, "adduction_deg": -0.93, "rotation_deg": 7.1},
        **{"anterior_mm": -4.4, "lateral_mm": 0.81, "axial_load_N": 41.2, "error_N": -38.0},
        **{"standard_error_N": 15.3, "reason": "near the border in rotation"},
    }
    for name in COMPARTMENTS:
        parts[name] = {
            "points": HELD_OUT,
            "feasible": HELD_OUT - 6,
            "at_pose": figures(rng, LOAD_COLUMNS, scale),
            "at_pose_all": figures(rng, LOAD_COLUMNS, 2.0 * scale, HELD_OUT),
            "worst": [{**worst, "index": 17 + k} for k in range(5)],
            "cross_validation": cross_validation(rng, scale),
            "coverage": dict.fromkeys(LOAD_COLUMNS, 0.95) | {"area_m2": 1.0},
            "standardised": standardised(),
        }
        # The surrogate sees no contact at two of the poses, which leaves no centre of pressure.
        for axis in "xyz":
            parts[name]["at_pose"][f"cop_{axis}_m"]["points"] -= 2
        if what == "inverted":
            parts[name]["at_load"] = figures(rng, (*LOAD_COLUMNS, *AT_LOAD), scale)
    nrmse = [parts[n]["at_pose"][c]["nrmse"] for n in COMPARTMENTS for c in WRENCH_COLUMNS]
    head = {"formulation": what, "family": family, "fit_seconds": fit}
    return {**head, "worst_load_nrmse": max(nrmse), "compartments": parts}


def cross_validation(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Return what a Kriging fit of the formulation "inverted" is told by its own residuals."""
    typical = {
        "height": np.array([5e-6]),
        "ratios": np.array([2e-3, 3e-3, 2e-5, 3e-5, 4e-5]),
        "quantities": np.array([2e-6, 3e5, 1e5, 2e-4, 3e-5, 3e-4]),
    }
    return {
        group: {
            **{"kind": "leave-one-out", "points": 170},
            "rmse": (scale * rng.uniform(0.7, 1.3, len(size)) * size).tolist(),
            "coverage": np.linspace(0.96, 0.88, len(size)).tolist(),
        }
        for group, size in typical.items()
    }


def standardised() -> dict[str, list[float]]:
    """Return quantiles of residuals whose standard errors are a fifth too small."""
    normal = np.linspace(-2.6, 2.6, 40)
    return {"normal": normal.tolist(), "held_out": (1.2 * normal).tolist()}


def cycle_rows(model: str, shift: float) -> pd.DataFrame:
    """Return a gait cycle; the lateral condyle lifts off in swing, where it has no centre."""
    percent = np.linspace(0.0, 100.0, INSTANTS)
    u = percent / 100.0
    flexion = np.radians(8 + 8 * np.exp(-(((u - 0.14) / 0.07) ** 2)) + 48 * np.sin(np.pi * u) ** 6)
    axial = (
        200
        + 2200 * np.exp(-(((u - 0.15) / 0.08) ** 2))
        + 2300 * np.exp(-(((u - 0.46) / 0.09) ** 2))
    )
    shares = {"medial": np.where(u > 0.9, 1.0, 0.58), "lateral": np.where(u > 0.9, 0.0, 0.42)}
    table = pd.DataFrame({"model": model, "time_s": u, "gait_percent": percent})
    coordinates = (
        *(flexion, 0.01 * np.sin(2 * np.pi * u) + 0.02 * shift, 0.09 * np.sin(6 * u) + shift),
        *(2e-3 + 3e-3 * np.cos(5 * u) + 0.02 * shift, 0.032 + 1e-3 * u, 2e-4 * np.sin(9 * u)),
    )
    table = table.assign(**dict(zip(POSE_COLUMNS, coordinates, strict=True)))
    total = np.zeros((12, INSTANTS))
    for name in COMPARTMENTS:
        load = (1.0 + shift) * shares[name] * axial
        area = 4e-6 * np.sqrt(load)
        centre = np.where(load > 0.0, 1.0, np.nan)
        mean = load / np.maximum(area, 1e-9)
        loads = np.array(
            [
                *(0.1 * load, load, 0.03 * load, -SIDE[name] * load, 0.001 * load, 0.004 * load),
                *(area, 1.6 * mean, mean, 4e-3 * centre, -1e-3 * centre, SIDE[name] * centre),
            ]
        )
        table = table.assign(**{f"{name}_{c}": v for c, v in zip(LOAD_COLUMNS, loads, strict=True)})
        total += np.nan_to_num(loads)
    table = table.assign(**{f"total_{c}": v for c, v in zip(LOAD_COLUMNS, total, strict=True)})
    inputs = {"axial_force_N": axial, "ap_force_N": -200 * u, "internal_torque_Nm": 6 * u**2}
    return table.assign(**{f"input_{n}": v for n, v in inputs.items()})


def differences() -> list[dict[str, Any]]:
    """Return rows as `pipeline.simulation.compare_cycles` returns them."""
    rows = (
        ("anterior_m", "anterior position", "mm", 0.021, 5.9),
        ("total_force_y_N", "axial force", "N", 4.2, 2310.0),
        ("medial_force_y_N", "medial axial force", "N", 3.1, 1410.0),
        ("total_moment_x_Nm", "moment x", "N·mm", 95.0, 9100.0),
        ("medial_peak_pressure_Pa", "medial peak pressure", "MPa", 0.21, 17.0),
        ("lateral_peak_pressure_Pa", "lateral peak pressure", "MPa", 0.34, 15.0),
        ("total_area_m2", "contact area", "mm²", 1.1, 310.0),
    )
    return [
        {
            **{"column": column, "quantity": name, "unit": unit, "rms_difference": rms},
            **{"largest_difference": 4.0 * rms, "range": span, "peak": 1.1 * span},
            "rms_over_range": rms / span,
        }
        for column, name, unit, rms, span in rows
    ]


def plateau() -> dict[str, np.ndarray]:
    """Return the arrays of `pressure_maps.npz` for a dished plate of two compartments."""
    x, z = np.meshgrid(np.linspace(-22e-3, 24e-3, 37), np.linspace(-36e-3, 36e-3, 57))
    y = 4.0 * x**2 + 3.0 * (np.abs(z) - 22e-3) ** 2
    vertices = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    corner = (np.arange(56)[:, None] * 37 + np.arange(36)).ravel()
    lower = np.column_stack([corner, corner + 37, corner + 1])
    upper = np.column_stack([corner + 1, corner + 37, corner + 38])
    faces = np.concatenate([lower, upper])
    centroid = vertices[faces].mean(axis=1)
    pressure = np.zeros((2, 4, len(faces)))
    for model in range(2):
        for k, peak in enumerate((17e6, 12e6, 18e6, 6e6)):
            for side in SIDE.values():
                along = (centroid[:, 0] - 2e-3 * k + 3e-4 * model) / 9e-3
                across = (centroid[:, 2] - side) / 7e-3
                pressure[model, k] += peak * np.sqrt(np.maximum(0, 1 - along**2 - across**2))
    percent = np.array([12.5, 25.0, 45.0, 70.0])
    return {"vertices": vertices, "faces": faces, "gait_percent": percent, "pressure_Pa": pressure}


def counts() -> dict[str, dict[str, int]]:
    """Return sample counts as `pipeline.stages.bookkeeping` returns them."""
    one = {
        **{"candidates": 200, "first": 80, "first_failed": 0, "predicted": 120, "dropped": 20},
        **{"left": 1, "evaluated": 99, "evaluated_failed": 0, "infeasible": 4, "training": 175},
    }
    medial = {**one, "evaluated_failed": 3, "training": 172}
    total = {key: medial[key] + one[key] for key in one}
    return {"medial": medial, "lateral": one, "total": total}


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


def write_samples(samples: Path, rng: np.random.Generator) -> None:
    """Write the sample tables of the run."""
    held_out = both(rng, HELD_OUT)
    truth = held_out[list(LOAD_COLUMNS)].to_numpy()
    guess = truth + ERRORS * rng.standard_normal(truth.shape)
    guess[0, 9:] = np.nan  # the surrogate sees no contact here: no centre of pressure
    predicted = {f"predicted_{c}": guess[:, k] for k, c in enumerate(LOAD_COLUMNS)}
    write_table(both(rng, 80), samples / "first.parquet")
    write_table(screened_rows(rng, 120, 20), samples / "screened.parquet")
    write_table(fail(both(rng, 99), 3), samples / "kept.parquet")
    write_table(held_out, samples / "heldout.parquet")
    write_table(held_out.assign(**predicted), samples / "heldout_prediction.parquet")


def write_run(folder: Path) -> Path:
    """Write a whole synthetic run directory."""
    rng = np.random.default_rng(7)
    write_samples(folder / "samples", rng)
    (folder / "config.toml").write_text(tomli_w.dumps(CONFIG), encoding="utf-8")
    knots = np.radians(np.linspace(-3.0, 63.0, 8))
    path = np.column_stack(
        [0 * knots, -0.08 * knots, 6e-3 - 8e-3 * knots, 0.03 + 1e-3 * knots, 0 * knots]
    )
    stored = {"flexion_rad": knots.tolist(), "coordinates_rad_m": path.tolist()}
    write_json(folder / "path.json", stored)
    models = [
        assessment(rng, "inverted", "kriging", 1.0),
        assessment(rng, "inverted", "poly_fourier", 3.0, 0.9),
        assessment(rng, "direct", "kriging", 12.0, 15.0),
    ]
    first = assessment(rng, "inverted", "kriging", 2.5, None)
    curve = [
        {"samples": 150, "load_error": 0.021, "height_um": 9.5},
        {"samples": 250, "load_error": 0.012, "height_um": 6.1},
        {"samples": 347, "load_error": 0.009, "height_um": 4.8},
    ]
    for point, error, height in zip(curve[1:], (0.008, 0.006), (4.1, 3.2), strict=True):
        point |= {"held_out_load_error": error, "held_out_height_um": height}
    content = {"models": models, "first": first, "learning_curve": curve}
    write_json(folder / "validation.json", content)
    cycle = pd.concat([cycle_rows("surrogate", 0.004), cycle_rows("original", 0.0)])
    write_table(cycle, folder / "simulation.parquet")
    cost = {"steps": 812, "derivatives": 5321, "jacobians": 94, "evaluations": 5415}
    simulation = {
        "statistics": {
            "original": {**cost, "elapsed": 6.1},
            "surrogate": {**cost, "steps": 790, "elapsed": 0.25},
        },
        "flags": {
            "original": [],
            "surrogate": ["medial: outside the trained domain, flexion 0.3 deg beyond"],
        },
        "flag_kinds": {"original": [], "surrogate": ["outside_flexion"]},
        "flagged": {"original": [0, 41], "surrogate": [0, 41]},
        "differences": differences(),
        "speed": {
            "original_us": 830.0,
            "surrogate_us": 7.0,
            "surrogate_call_us": 21.0,
            "ratio": 830.0 / 7.0,
        },
    }
    write_json(folder / "simulation.json", simulation)
    np.savez_compressed(folder / "pressure_maps.npz", **plateau())
    run = {
        **{"name": "synthetic", "seed": 1, "held_out_seed": 20240001, "workers": 2},
        **{"python": "3.11.2", "packages": {"numpy": "2.0.0", "smt": "2.9.0"}},
        "hashes": {"original": "ab" * 32, "samples": "cd" * 32, "held_out": "ef" * 32},
        "triangles": {"femur": 24310, "tibia": 8412},
        "counts": counts(),
        "seconds": {"knee": 1.2, "b: first evaluations": 8.0, "g: final surrogates": 24.5},
        "date": "2026-01-02T03:04:05+00:00",
        "remarks": [],
    }
    write_json(folder / "run.json", run)
    return folder


@pytest.fixture(scope="session", autouse=True)
def femurs_prepared_once() -> Iterator[None]:
    """Keep the last femoral surfaces that were prepared for the kernels, which is half of a set-up.

    Nothing writes to the arrays, and equal meshes give equal bits.
    """
    kept: dict[str, Any] = {}

    def prepared(mesh: TriangleMesh, surface: SmoothSurface, *, curved: bool, reach: float) -> Any:
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
def femoral_frames_found_once() -> Iterator[None]:
    """Keep the frames of femurs, each of which takes half of a check of surfaces."""
    kept: dict[str, Any] = {}

    def found(mesh: TriangleMesh, anterior: np.ndarray | None = None) -> AnatomicalFrame:
        key = joblib.hash((mesh.vertices, mesh.faces, anterior))
        if key not in kept:
            kept[key] = femoral_frame(mesh, anterior)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.originals.forward_frame.femoral_frame", found)
        yield


@pytest.fixture(scope="module", autouse=True)
def figures_left_out(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out the figures of pages, but in modules that are marked `drawn`."""
    drawn = request.node.get_closest_marker("drawn") is not None
    with nullcontext() if drawn else without_figures():
        yield


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Leave out the figures in one test of a module that is marked `drawn`."""
    with without_figures():
        yield


@pytest.fixture(scope="session")
def space() -> SampleSpace:
    """Return a space of samples about a straight path."""
    path = ReferencePath.through([0.0, 0.5, 1.0], np.tile([0.0, 0.0, 0.0, 0.03, 0.0], (3, 1)))
    return SampleSpace(path, [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [4.0, 2500.0])


@pytest.fixture
def unsimulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a run with its surrogate: leave out the gait simulation and the report."""
    monkeypatch.setattr("pipeline.runner.simulate_cycle", lambda *_: None)
    monkeypatch.setattr("pipeline.runner.write_report", lambda _: SimpleNamespace(summary=[]))


@pytest.fixture(scope="session")
def shapes() -> dict[str, TriangleMesh]:
    """Return the surfaces of the built-in implant by body."""
    return implant_meshes()


@pytest.fixture(scope="session")
def knee() -> Knee:
    """Return the original model of the tiny run."""
    return build_knee(load_config(SMOKE, TINY))


@pytest.fixture(scope="session")
def make_run() -> Callable[[Path], Path]:
    """Return a function that writes a synthetic run directory into a folder."""
    return write_run


@pytest.fixture(scope="module")
def content(folder: Path) -> dict[str, Any]:
    """Return the content of the report of the run of a module, its fixture `folder`."""
    return dict(plain(write_report(folder).content()))


@pytest.fixture(scope="module")
def html(folder: Path, content: dict[str, Any]) -> str:
    """Return the page of the report of the run of a module."""
    del content
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that returns a folder which one of the test processes makes for all.

    `make` writes the folder, whose name is unique in the tests; nobody writes to the folder later.
    """

    def made(name: str, make: Callable[[Path], Any]) -> Path:
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
def tiny_run(made_once: Callable[..., Path]) -> Path:
    """Return the folder of a finished run of the smoke study, made tiny; not to be written to."""

    def make(folder: Path) -> None:
        with without_figures():
            assert main(run_command(folder, *TINY)) == 0

    return made_once("run", make)


@pytest.fixture(scope="session")
def tiny_designs(made_once: Callable[..., Path]) -> Path:
    """Return the folder of a finished run over designs (`TINY_DESIGNS`); not to be written to."""

    def make(folder: Path) -> None:
        file = folder.with_name(f"{folder.name}.toml")
        file.write_text(tomli_w.dumps(TINY_DESIGNS), encoding="utf-8")
        assert main(["run", str(file), "--out", str(folder), "--quiet"]) == 0

    return made_once("designs", make)


@pytest.fixture
def run_copy(tiny_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished tiny run that a test may change."""
    return shutil.copytree(tiny_run, tmp_path / "run")
