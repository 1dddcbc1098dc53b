"""Smoothness and derivatives of the loads of the finite-element layer.

`python -m benchmarks.finite_element_smoothness` prints the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq

from benchmarks.exact_layer import POLYETHYLENE
from benchmarks.finite_element_insert import insert_model, insert_poses
from benchmarks.flat_layer import FlatLayer
from benchmarks.timing import table
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose, generalised_force_jacobian
from foundation.finite_element.model import FiniteElementContact

SLIDE, SHORT = 2.4e-3, 100e-6
TURN, APPROACH = np.radians(30.0), 0.146e-3
#: Direction of the slide from x, along neither grid lines nor the paraboloid's axes [rad].
_DIRECTION = np.radians(17.0)
_STEP = 1e-8  # m and rad, of the differences


def ripple(force: Callable[[float], float]) -> float:
    """Return half the range of a force over a slide of 2.4 mm, over its mean."""
    values = np.array([force(float(s)) for s in np.linspace(-0.5 * SLIDE, 0.5 * SLIDE, 121)])
    return 0.5 * float(np.ptp(values) / values.mean())


def insert_ripple(model: FiniteElementContact, pose: Pose) -> float:
    """Return the ripple of the force on an insert over an anterior slide of 2.4 mm.

    At each place the height of the load at the pose is sought. The largest departure of the heights
    from a polynomial of the tenth degree, times the stiffness over the load.
    """
    at = np.linspace(-0.5 * SLIDE, 0.5 * SLIDE, 49)
    loads, jacobian = model.loads_and_jacobian(pose)
    load, stiffness = float(loads.force[1]), -float(jacobian[1, 4])
    heights = []
    for s in at:
        moved = replace(pose, anterior=pose.anterior + float(s))

        def missing(height: float, moved: Pose = moved) -> float:
            return float(model.evaluate(replace(moved, superior=height)).force[1]) - load

        heights.append(brentq(missing, pose.superior - 1e-3, pose.superior + 1e-3, xtol=1e-9))
    fit = Polynomial.fit(at, heights, 10)
    return float(np.abs(heights - fit(at)).max()) * stiffness / load


def departure(force: Callable[[float], float]) -> float:
    """Return the largest departure of a force from a quartic over 100 µm, over its mean."""
    found = []
    for middle in np.linspace(-1e-3, 1e-3, 9):
        at = middle + np.linspace(-0.5 * SHORT, 0.5 * SHORT, 21)
        found.append(_departure(at, np.array([force(float(s)) for s in at])))
    return max(found)


def _departure(at: FloatArray, values: FloatArray) -> float:
    u = (at - at.mean()) / np.ptp(at)
    return float(np.abs(values - np.polyval(np.polyfit(u, values, 4), u)).max() / values.mean())


def flat_force(spacing: float) -> Callable[[float], float]:
    """Return the force on the flat layer over the distance along a slide [m]."""
    model = FlatLayer(POLYETHYLENE, (78e-3, 183e-3), spacing=spacing, half=(9e-3, 9e-3))
    direction = {"x": np.cos(_DIRECTION), "z": np.sin(_DIRECTION)}

    def force(s: float) -> float:
        place = {name: float(s * part) for name, part in direction.items()}
        return model.force(APPROACH, turn=float(TURN), **place)

    return force


def insert_force(model: FiniteElementContact, pose: Pose) -> Callable[[float], float]:
    """Return the axial force on an insert over the distance [m] along an anterior slide."""
    return lambda s: float(model.evaluate(replace(pose, anterior=pose.anterior + s)).force[1])


def smoothness() -> str:
    """Return the table of ripple and departure."""
    rows = []
    for spacing in (1e-3, 0.5e-3):
        force = flat_force(spacing)
        found = [("flat layer, turned by 30°", ripple(force), departure(force))]
        model = insert_model(spacing)
        if model is not None:
            pose = insert_poses()[1]
            short = departure(insert_force(model, pose))
            found.append(("Grand Challenge insert", insert_ripple(model, pose), short))
        for name, *values in found:
            rows.append([name, f"{1e3 * spacing:g}", *(f"{100.0 * v:.3f}" for v in values)])
    header = ["layer", "spacing [mm]", "over 2.4 mm [%]", "over 100 µm [%]"]
    return table("Ripple of the force along a slide", header, rows)


def derivatives() -> str:
    """Return the table of errors of the Jacobian against central differences."""
    rows = []
    model = insert_model(1e-3)
    if model is None:
        return "Jacobian: the Grand Challenge implant is not at hand"
    for pose in insert_poses():
        jacobian_error, asymmetry, moved = jacobian_errors(model, pose)
        rows.append(
            [
                f"{np.degrees(pose.flexion):.0f}",
                f"{jacobian_error:.0e}",
                f"{asymmetry:.0e}",
                "yes" if moved else "no",
            ]
        )
    header = ["flexion [deg]", "differences [1]", "asymmetry [1]", "contact set changes"]
    return table("Jacobian on the Grand Challenge insert, 1 mm", header, rows)


def jacobian_errors(model: FiniteElementContact, pose: Pose) -> tuple[float, float, bool]:
    """Return errors of the Jacobian, and whether the contact set changes over the differences.

    The error against central differences and the asymmetry in generalised coordinates, each over
    the largest entry of its row or of its row and column.
    """
    loads, jacobian = model.loads_and_jacobian(pose)
    ends = [
        [model.evaluate(Pose.from_array(pose.array + sign * move)) for sign in (1.0, -1.0)]
        for move in _STEP * np.eye(6)
    ]
    slopes = np.stack([(a.wrench - b.wrench) / (2.0 * _STEP) for a, b in ends], axis=1)
    scale = np.abs(jacobian).max(axis=1, keepdims=True)
    error = float((np.abs(slopes - jacobian) / scale).max())
    general = generalised_force_jacobian(pose, loads.wrench, jacobian)
    size = np.sqrt(np.abs(np.diag(general)))
    asymmetry = float((np.abs(general - general.T) / np.outer(size, size)).max())
    poses = [Pose.from_array(pose.array + s * m) for m in _STEP * np.eye(6) for s in (1.0, -1.0)]
    moved = any(touching(model, other) != touching(model, pose) for other in poses)
    return error, asymmetry, moved


def touching(model: FiniteElementContact, pose: Pose) -> tuple[bytes, ...]:
    """Return the nodes in contact in each compartment."""
    femur = model.femoral_handle()
    return tuple(
        side.loads(pose, femur, jacobian=False)[2].active.tobytes() for side in model.contacts
    )


if __name__ == "__main__":
    for make in (smoothness, derivatives):
        print(make(), end="\n\n", flush=True)
