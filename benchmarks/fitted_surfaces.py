"""Analytical contact laws on fitted surfaces beside the elastic foundation and finite elements.

`python -m benchmarks.fitted_surfaces` prints the tables of docs/fitted_surfaces.md; with
`--elements` also that against finite elements, whose condensation takes minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.frame import Rows, alike, measured, show
from benchmarks.knees import data_folder
from benchmarks.measures import rms
from benchmarks.timing import clocked, seconds
from dynamics import SimulationResult, simulate
from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, COMPARTMENTS, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION, Pose
from foundation.contact_laws import HertzLaw, HookeLaw, effective_modulus
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.fitted_surfaces.stiffness import calibrated_laws, calibrated_modulus, secant_laws
from foundation.surface_contact import SurfaceContact
from pipeline.config.reading import load_config, shipped_config
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import GaitSimulation

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
    config = load_config(shipped_config(config_name))
    knee = build_knee(config)
    path = knee.reference_path(config)
    gait = GaitSimulation.of(config.simulation, path)
    cycle, spent = clocked(lambda: _cycle(gait, knee.model))
    poses = [Pose.from_array(row) for row in path.poses(np.radians(_FIT_DEG))]
    material = _CARTILAGE if config_name == "lenhart" else _POLYETHYLENE
    bodies, labels = (knee.model.femur, knee.model.tibia), knee.model.compartments
    fitted, fit_seconds = clocked(
        lambda: FittedSurfaceContact(
            *bodies, material, poses, compartments=labels, nearness=nearness
        )
    )
    return Case(knee.model, gait, cycle, spent, fitted, fit_seconds)


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


@measured(
    "Fits: weighted RMS / largest distance of the vertices",
    {"compartment": "", "semi-axes [mm]": "{:.0f} × {:.0f} × {:.0f}",
     **alike(("condyle [mm]", "plateau [mm]"), "{:.3f} / {:.2f}"), "gap [mm]": ".3f",
     "time of both fits [s]": ".1f"},
)  # fmt: skip
def fits() -> Rows:
    """Residuals and semi-axes of the fits of both compartments."""
    for name in names():
        knee = case(name)
        for side, fit in zip(COMPARTMENTS, knee.fitted.surfaces, strict=True):
            residuals = [r and (r.rms, r.largest) for r in (fit.femur_residual, fit.tibia_residual)]
            axes = fit.femur.semi_axes
            yield f"{name}, {side}", axes, *residuals, fit.gap_residual, knee.fit_seconds


def errors(
    reference: SurfaceContact, knee: Case, rows: FloatArray
) -> Iterator[tuple[str | float, ...]]:
    """Yield rows of a table: errors at poses (N, 6) [rad, m] against a reference."""
    wanted = reference.evaluate_batch(rows)
    largest = wanted[:, :, AXIAL_FORCE].max()
    for law, model in laws(knee, reference, rows[~_evaluated(knee.fitted, rows)[1]]).items():
        found, missing = _evaluated(model, rows)
        away = (found - wanted)[:, :, AXIAL_FORCE][~missing]
        ratios = (
            found[:, :, k][~missing].sum() / wanted[:, :, k][~missing].sum()
            for k in (AXIAL_FORCE, PEAK_PRESSURE, AREA)
        )
        yield law, rms(away) / largest, *ratios, int(missing.sum())


def _evaluated(model: SurfaceContact, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return loads (N, 2, 12) [N, N m, m², Pa, m] and the poses without an answer (N,)."""
    loads, missing = np.zeros((len(rows), 2, 12)), np.zeros(len(rows), dtype=np.bool_)
    for k, row in enumerate(rows):
        try:
            loads[k] = model.evaluate_batch(row[None])[0]
        except PoseError:
            missing[k] = True
    return loads, missing


_COLUMNS = {
    "knee": "", "law": "", "axial force, RMS error [% of the largest]": ".0f",
    **alike(("mean force, ratio", "mean peak pressure, ratio", "mean area, ratio"), ".2f"),
    "poses without an answer": "d",
}  # fmt: skip


@measured("At 26 gait poses, against the elastic foundation", _COLUMNS)
def at_gait_poses() -> Rows:
    """Errors at gait poses against the elastic foundation."""
    for name in names():
        knee = case(name)
        for row in errors(knee.model, knee, knee.rows):
            yield name, *row


@measured(f"At {_ELEMENT_POSES} gait poses, against finite elements at 1 mm", _COLUMNS)
def against_elements() -> Rows:
    """Errors at some gait poses against finite elements at a spacing of 1 mm."""
    for name in names():
        config = load_config(shipped_config(f"finite_element_{KNEES[name][0]}"))
        elements = config.contact.finite_element.model_copy(update={"node_spacing_mm": 1.0})
        contact = config.contact.model_copy(update={"finite_element": elements})
        reference = build_knee(config.model_copy(update={"contact": contact})).model
        knee = case(name)
        chosen = knee.rows[:: len(knee.rows) // _ELEMENT_POSES][:_ELEMENT_POSES]
        for row in errors(reference, knee, chosen):
            yield name, *row
        springs, wanted = (
            m.evaluate_batch(chosen)[:, :, AXIAL_FORCE] for m in (knee.model, reference)
        )
        away = rms(springs - wanted) / wanted.max()
        ratio = springs.sum() / wanted.sum()
        yield name, "elastic foundation", away, ratio, None, None, 0


@measured(
    "Second cycle of level walking, beside the elastic foundation",
    {"knee": "", "law": "", "AP, RMS difference [mm]": ".2f", "rotation [deg]": ".2f",
     "medial force [N]": ".0f", "mismatch of the ends [µm]": ".2g",
     "loads and Jacobian [µs]": ".0f", "two cycles, processor time [s]": ".2f"},
)  # fmt: skip
def gait() -> Rows:
    """Gait cycles, the motion beside that of the elastic foundation."""
    for name in names():
        knee = case(name)
        spent = seconds(lambda k=knee: k.model.loads_and_jacobian(Pose.from_array(k.rows[3])))
        yield name, "elastic foundation", *[None] * 4, spent, knee.cycle_seconds
        for law, model in laws(knee, knee.model, _answered(knee)).items():
            yield name, law, *_driven(knee, model)


def _answered(knee: Case) -> FloatArray:
    """Return the gait poses (N, 6) [rad, m] at which the fitted surfaces have an answer."""
    return knee.rows[~_evaluated(knee.fitted, knee.rows)[1]]


def _driven(knee: Case, model: FittedSurfaceContact) -> list[float | str | None]:
    """Return the cells of one gait cycle."""
    pose = Pose.from_array(_answered(knee)[3])
    spent = seconds(lambda: model.loads_and_jacobian(pose))
    try:
        result, taken = clocked(lambda: _cycle(knee.gait, model))
    except PoseError:
        return ["no answer on the way", None, None, None, spent, None]
    away = np.sqrt(((result.poses - knee.cycle.poses) ** 2).mean(axis=0))
    loads = (result.compartment_loads - knee.cycle.compartment_loads)[0, :, AXIAL_FORCE]
    ends = np.abs(result.poses[-1, ANTERIOR:] - result.poses[0, ANTERIOR:]).max()
    return [away[ANTERIOR], away[ROTATION], rms(loads), ends, spent, taken]


TABLES = (fits, at_gait_poses, gait)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", action="store_true", help="also against finite elements")
    wanted = [*TABLES, *([against_elements] if parser.parse_args().elements else [])]
    show(make() for make in wanted)
