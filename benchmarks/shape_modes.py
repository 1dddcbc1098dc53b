"""What few modes of shape leave: loads of new knees beside those of their shapes by the modes.

`python -m benchmarks.shape_modes FOLDER [KNEE]` makes corresponding knees of a real one, takes the
modes of most of them, and fits these modes to the others. It then varies the first mode, and fits
polynomials to what the contact gives.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.corresponding_knees import corresponding_knees, write_corresponding_knees
from benchmarks.knees import load_knee
from foundation.anatomy.shape_modes import ShapeModes
from foundation.base.checks import FloatArray
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.statics.height import pose_at_load
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import kind_of
from pipeline.originals.knee import Knee, KneeInputs
from pipeline.originals.knee_surfaces import KneeSurfaces, load_surfaces
from pipeline.originals.shape_surfaces import shape_modes

#: Knees of the set, and new ones.
_SET, _NEW = 24, 6
_MODES = (2, 4, 5, 6, 8)
#: Axial load of a compartment [N].
_LOAD = 600.0
#: Weights of the first mode, and degree of the polynomials.
_WEIGHTS, _DEGREE = np.linspace(-1.0, 1.0, 21), 4
_COLUMNS = [LOAD_COLUMNS.index(name) for name in ("area_m2", "peak_pressure_Pa")]


class Left(NamedTuple):
    """What a number of modes leaves of the new knees.

    Parameters
    ----------
    modes : int
        Number of modes.
    rms : float
        Root mean square distance of the vertices, mean over the knees [m].
    errors : (2,) float64
        Mean relative errors of contact area and peak pressure at equal load [1].
    largest : (2,) float64
        Largest of these errors [1].
    """

    modes: int
    rms: float
    errors: FloatArray
    largest: FloatArray


def what_modes_leave(folder: Path, base: str = "lenhart") -> list[Left]:
    """Return what numbers of modes leave of new knees of the population of a set.

    Parameters
    ----------
    folder : Path
        Folder for the meshes.
    base : {"lenhart", "grand challenge"}
        Real knee whose shape is varied.
    """
    config = _config(folder, base)
    real = load_knee(base)
    assert real is not None
    new = corresponding_knees(*real, _SET + _NEW)[_SET:]
    every, mean = shape_modes(config.knee), load_surfaces(config)
    truth = []
    for pair in new:
        knee = _knee(config, mean, *pair)
        truth.append((knee.start, _at_load(knee, knee.start)))
    found = []
    for count in _MODES:
        modes = replace(
            every,
            modes=every.modes[:count],
            deviations=every.deviations[:count],
            shares=None,
        )
        found.append(_left(config, mean, modes, new, truth))
    return found


def roughness(folder: Path, base: str = "lenhart") -> dict[str, tuple[float, float]]:
    """Return range and largest deviation from a polynomial over the weight of the first mode.

    Values are by name: height of the femur [m], and contact area [m²] and peak pressure [Pa] of the
    compartment that deviates more, at equal load and else at the pose of the mean knee.

    Parameters
    ----------
    folder : Path
        Folder for the meshes.
    base : {"lenhart", "grand challenge"}
        Real knee whose shape is varied.
    """
    config = _config(folder, base)
    modes, mean = shape_modes(config.knee), load_surfaces(config)
    start = _knee(config, mean, modes.femur, modes.tibia).start
    rows = []
    for weight in _WEIGHTS:
        weights = weight * np.eye(len(modes.modes))[0]
        rows.append(_at_load(_knee(config, mean, *modes.meshes(weights)), start))
    values = np.array(rows)  # weights, compartments, quantities
    found = {}
    for k, name in enumerate(("height", "area", "peak pressure")):
        each = values[:, :, k]
        fit = np.polynomial.polynomial.polyfit(_WEIGHTS, each, _DEGREE)
        off = np.abs(each - np.polynomial.polynomial.polyval(_WEIGHTS, fit).T).max(axis=0)
        worst = int(np.argmax(off / each.mean(axis=0))) if k else int(np.argmax(off))
        found[name] = float(np.ptp(each[:, worst])), float(off[worst])
    return found


def _config(folder: Path, base: str) -> Config:
    return load_config(write_corresponding_knees(folder, base, _SET))


def _left(
    config: Config,
    mean: KneeSurfaces,
    modes: ShapeModes,
    new: list[tuple[TriangleMesh, TriangleMesh]],
    truth: list[tuple[Pose, FloatArray]],
) -> Left:
    distances, errors = [], []
    for (femur, tibia), (start, loads) in zip(new, truth, strict=True):
        fitted = modes.weights_of(femur.vertices, tibia.vertices)
        knee = _knee(config, mean, *modes.meshes(fitted.weights))
        distances.append(fitted.rms)
        errors.append(np.abs(_at_load(knee, start) / loads - 1.0)[:, 1:])
    relative = np.concatenate(errors)
    return Left(
        len(modes.modes), float(np.mean(distances)), relative.mean(axis=0), relative.max(axis=0)
    )


def _knee(config: Config, mean: KneeSurfaces, femur: TriangleMesh, tibia: TriangleMesh) -> Knee:
    surfaces = replace(mean, femur=femur, tibia=tibia)
    return kind_of(config).build(KneeInputs(config, surfaces))


def _at_load(knee: Knee, start: Pose) -> FloatArray:
    """Return height [m], area [m²] and peak pressure [Pa] of both compartments, (2, 3)."""
    found = [pose_at_load(knee.model, start, name, _LOAD) for name in knee.model.compartment_names]
    return np.array([[each.pose.superior, *each.loads[_COLUMNS]] for each in found])


if __name__ == "__main__":
    print("modes   left [mm RMS]   area [%] (largest)   peak pressure [%] (largest)")
    for each in what_modes_leave(Path(sys.argv[1]), *sys.argv[2:3]):
        area, peak = (
            f"{100.0 * mean:.1f} ({100.0 * most:.0f})"
            for mean, most in zip(each.errors, each.largest, strict=True)
        )
        print(f"{each.modes:5d} {1e3 * each.rms:12.2f} {area:>18} {peak:>22}")
    for what, (span, off) in roughness(Path(sys.argv[1]), *sys.argv[2:3]).items():
        print(f"{what}: range {span:.4g}, at most {off:.2g} off a polynomial")
