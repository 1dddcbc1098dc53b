"""Analytical contact laws on fitted surfaces beside the elastic foundation and finite elements.

`python -m benchmarks.fitted_surfaces` prints the tables of docs/fitted_surfaces.md; with
`--elements` also that against finite elements, whose condensation takes minutes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.knees import data_folder
from benchmarks.timing import seconds, table
from dynamics import SimulationResult, simulate
from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, COMPARTMENTS, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION, Pose
from foundation.contact_laws import HertzLaw, HookeLaw, effective_modulus
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.fitted_surfaces.stiffness import calibrated_laws, calibrated_modulus, secant_laws
from foundation.surface_contact import SurfaceContact
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import GaitSimulation

ROOT = Path(__file__).resolve().parents[1]
#: Configuration and nearness of the fits [m], about the deepest indentation.
KNEES = {
    "built-in implant": ("implant", 0.2e-3),
    "Grand Challenge implant": ("grand_challenge", 0.2e-3),
    "Lenhart cartilage": ("lenhart", 1e-3),
}
#: E* of polyethylene on a rigid femur, and of two layers of cartilage [Pa].
_POLYETHYLENE = effective_modulus(np.inf, 0.3, 463e6, 0.46)
_CARTILAGE = effective_modulus(10e6, 0.45, 10e6, 0.45)
_FIT_DEG = np.arange(-5.0, 70.1, 5.0)
_EVERY = 8  # of 201 instants: 26 gait poses
_ELEMENT_POSES = 6
_FORCE = 600.0  # N, of the secant of Hooke's law


@dataclass(frozen=True, eq=False)
class Case:
    """A knee, its gait cycle driven by the elastic foundation, and the fitted surfaces."""

    model: SurfaceContact
    gait: GaitSimulation
    cycle: SimulationResult
    cycle_seconds: float
    fitted: FittedSurfaceContact
    fit_seconds: float

    @property
    def rows(self) -> FloatArray:
        """Return gait poses (26, 6) [rad, m], settled with the elastic foundation."""
        return self.cycle.poses[::_EVERY]


def names() -> list[str]:
    """Return the knees whose data are there."""
    return [*KNEES][: len(KNEES) if data_folder().is_dir() else 1]


@cache
def case(name: str) -> Case:
    """Return a knee of `KNEES`."""
    config_name, nearness = KNEES[name]
    config = load_config(ROOT / "configs" / f"{config_name}.toml")
    knee = build_knee(config)
    path = knee.reference_path(config)
    gait = GaitSimulation.of(config.simulation, path)
    start = time.process_time()
    cycle = _cycle(gait, knee.model)
    spent = time.process_time() - start
    start = time.process_time()
    poses = [Pose.from_array(row) for row in path.poses(np.radians(_FIT_DEG))]
    fitted = FittedSurfaceContact(
        knee.model.femur,
        knee.model.tibia,
        _CARTILAGE if config_name == "lenhart" else _POLYETHYLENE,
        poses,
        compartments=knee.model.compartments,
        nearness=nearness,
    )
    return Case(knee.model, gait, cycle, spent, fitted, time.process_time() - start)


def _cycle(gait: GaitSimulation, model: SurfaceContact) -> SimulationResult:
    return simulate(model, gait.simulator, gait.cycle, start=gait.start, cycles=2, samples=201)


def laws(
    knee: Case, reference: SurfaceContact, rows: FloatArray
) -> dict[str, FittedSurfaceContact]:
    """Return the fitted surfaces with each law, calibrated at poses (N, 6) [rad, m]."""
    fitted, poses = knee.fitted, [Pose.from_array(row) for row in rows]
    modulus = calibrated_modulus(fitted, reference, poses)
    return {
        "elliptic Hertz, E* of the material": fitted,
        "elliptic Hertz, E* calibrated": fitted.with_law(None, modulus),
        "Hooke, secant of elliptic Hertz": fitted.with_law(secant_laws(fitted, poses, _FORCE)),
        "Hooke, K calibrated": fitted.with_law(calibrated_laws(fitted, reference, poses, HookeLaw)),
        "Hertz, K calibrated": fitted.with_law(calibrated_laws(fitted, reference, poses, HertzLaw)),
    }


def fits() -> str:
    """Return the table of the fits: residuals and semi-axes of both compartments."""
    rows = []
    for name in names():
        knee = case(name)
        for side, fit in zip(COMPARTMENTS, knee.fitted.surfaces, strict=True):
            axes = " × ".join(f"{1e3 * a:.0f}" for a in fit.femur.semi_axes)
            parts = [
                f"{1e3 * r.rms:.3f} / {1e3 * r.largest:.2f}"
                for r in (fit.femur_residual, fit.tibia_residual)
                if r is not None
            ]
            gap = f"{1e3 * fit.gap_residual:.3f}" if fit.gap_residual is not None else ""
            rows.append([f"{name}, {side}", axes, *parts, gap, f"{knee.fit_seconds:.1f}"])
    header = ["compartment", "semi-axes [mm]", "condyle [mm]", "plateau [mm]", "gap [mm]",
              "time of both fits [s]"]  # fmt: skip
    return table("Fits: weighted RMS / largest distance of the vertices", header, rows)


def errors(reference: SurfaceContact, knee: Case, rows: FloatArray) -> list[list[str]]:
    """Return rows of a table: errors at poses (N, 6) [rad, m] against a reference."""
    wanted = reference.evaluate_batch(rows)
    largest = wanted[:, :, AXIAL_FORCE].max()
    lines = []
    for law, model in laws(knee, reference, rows[~_evaluated(knee.fitted, rows)[1]]).items():
        found, missing = _evaluated(model, rows)
        away = (found - wanted)[:, :, AXIAL_FORCE][~missing]
        ratios = [
            f"{found[:, :, k][~missing].sum() / wanted[:, :, k][~missing].sum():.2f}"
            for k in (AXIAL_FORCE, PEAK_PRESSURE, AREA)
        ]
        rms = 100.0 * np.sqrt((away**2).mean()) / largest
        lines.append([law, f"{rms:.0f}", *ratios, str(int(missing.sum()))])
    return lines


def _evaluated(model: SurfaceContact, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return loads (N, 2, 12) [N, N m, m², Pa, m] and where there is no answer (N,)."""
    loads, missing = np.zeros((len(rows), 2, 12)), np.zeros(len(rows), dtype=np.bool_)
    for k, row in enumerate(rows):
        try:
            loads[k] = model.evaluate_batch(row[None])[0]
        except PoseError:
            missing[k] = True
    return loads, missing


_HEADER = ["knee", "law", "axial force, RMS error [% of the largest]", "mean force, ratio",
           "mean peak pressure, ratio", "mean area, ratio", "poses without an answer"]  # fmt: skip


def at_gait_poses() -> str:
    """Return the table of errors at gait poses against the elastic foundation."""
    rows = []
    for name in names():
        knee = case(name)
        rows += [[name, *line] for line in errors(knee.model, knee, knee.rows)]
    return table("At 26 gait poses, against the elastic foundation", _HEADER, rows)


def against_elements() -> str:
    """Return the same table against finite elements at a spacing of 1 mm, at some gait poses."""
    rows = []
    for name in names():
        config_name, _ = KNEES[name]
        config = load_config(ROOT / "configs" / f"finite_element_{config_name}.toml")
        elements = config.contact.finite_element.model_copy(update={"node_spacing_mm": 1.0})
        contact = config.contact.model_copy(update={"finite_element": elements})
        reference = build_knee(config.model_copy(update={"contact": contact})).model
        knee = case(name)
        chosen = knee.rows[:: len(knee.rows) // _ELEMENT_POSES][:_ELEMENT_POSES]
        rows += [[name, *line] for line in errors(reference, knee, chosen)]
        springs, wanted = (
            m.evaluate_batch(chosen)[:, :, AXIAL_FORCE] for m in (knee.model, reference)
        )
        rms = 100.0 * np.sqrt(((springs - wanted) ** 2).mean()) / wanted.max()
        ratio = f"{springs.sum() / wanted.sum():.2f}"
        rows.append([name, "elastic foundation", f"{rms:.0f}", ratio, "", "", "0"])
    title = f"At {_ELEMENT_POSES} gait poses, against finite elements at 1 mm"
    return table(title, _HEADER, rows)


def gait() -> str:
    """Return the table of gait cycles, the motion beside that of the elastic foundation."""
    rows = []
    for name in names():
        knee = case(name)
        spent = seconds(lambda k=knee: k.model.loads_and_jacobian(Pose.from_array(k.rows[3])))
        rows.append([name, "elastic foundation", "", "", "", "", f"{1e6 * spent:.0f}",
                     f"{knee.cycle_seconds:.2f}"])  # fmt: skip
        for law, model in laws(knee, knee.model, _answered(knee)).items():
            rows.append([name, law, *_driven(knee, model)])
    header = ["knee", "law", "AP, RMS difference [mm]", "rotation [deg]", "medial force [N]",
              "mismatch of the ends [µm]", "loads and Jacobian [µs]",
              "two cycles, processor time [s]"]  # fmt: skip
    return table("Second cycle of level walking, beside the elastic foundation", header, rows)


def _answered(knee: Case) -> FloatArray:
    """Return the gait poses (N, 6) [rad, m] at which the fitted surfaces have an answer."""
    return knee.rows[~_evaluated(knee.fitted, knee.rows)[1]]


def _driven(knee: Case, model: FittedSurfaceContact) -> list[str]:
    """Return the cells of one gait cycle."""
    pose = Pose.from_array(_answered(knee)[3])
    spent = seconds(lambda: model.loads_and_jacobian(pose))
    start = time.process_time()
    try:
        result = _cycle(knee.gait, model)
    except PoseError:
        return ["no answer on the way", "", "", "", f"{1e6 * spent:.0f}", ""]
    taken = time.process_time() - start
    away = np.sqrt(((result.poses - knee.cycle.poses) ** 2).mean(axis=0))
    loads = (result.compartment_loads - knee.cycle.compartment_loads)[0, :, AXIAL_FORCE]
    ends = 1e6 * np.abs(result.poses[-1, ANTERIOR:] - result.poses[0, ANTERIOR:]).max()
    return [
        f"{1e3 * away[ANTERIOR]:.2f}",
        f"{np.degrees(away[ROTATION]):.2f}",
        f"{np.sqrt((loads**2).mean()):.0f}",
        f"{ends:.2g}",
        f"{1e6 * spent:.0f}",
        f"{taken:.2f}",
    ]


TABLES = (fits, at_gait_poses, gait)

if __name__ == "__main__":
    for make in (*TABLES, *([against_elements] if "--elements" in sys.argv[1:] else [])):
        print(make(), end="\n\n", flush=True)
