"""Changes of external loads that put usual mistakes right: units, signs, axes, times, plates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.constants import g as STANDARD_GRAVITY
from scipy.constants import kilogram_force, pound_force

from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.external_loads import AppliedForce
from foundation.base.checks import FloatArray

#: Largest shift of time, that up to which steps are fine, and the steps [s].
_LATEST, _NEAR, _STEP, _COARSE = 10.0, 1.5, 0.01, 0.05
#: Units of force by the newtons that they stand for, and the opposite sign.
_SCALES = {
    "the forces look like kilonewtons: convert them to newtons": 1000.0,
    "the forces look like kilograms-force: convert them to newtons": kilogram_force,
    "the forces look like pounds-force: convert them to newtons": pound_force,
    "the forces look reversed: they must act on the feet, upwards": -1.0,
}
_LENGTHS = {"millimetres": 1e-3, "centimetres": 1e-2}
_UP, _LEVEL = (
    f"the {axes} look exchanged: turn the axes so that x is forward, y up and z right"
    for axes in ("vertical and the lateral axis", "fore-aft and the lateral axis")
)
#: Matrices that put axes right: exchanged ones, of either sense, and reversed ones.
_TURNED = (
    *((_UP, np.array([[1, 0, 0], [0, 0, s], [0, t, 0]])) for s in (1, -1) for t in (1, -1)),
    *((_LEVEL, np.array([[0, 0, s], [0, 1, 0], [t, 0, 0]])) for s in (1, -1) for t in (1, -1)),
    ("the fore-aft forces look reversed", np.diag([-1, 1, 1])),
    ("the lateral forces look reversed", np.diag([1, 1, -1])),
    ("the horizontal axes look reversed", np.diag([-1, 1, -1])),
    *(
        ("the vertical forces look reversed", np.diag([x, -1, z]))
        for x, z in ((1, 1), (-1, 1), (1, -1))
    ),
)

Change = Callable[[FloatArray], list[Plate]]


def load_changes(
    forces: Sequence[AppliedForce], mass: float, latest: float = _LATEST
) -> Iterator[tuple[str, Change]]:
    """Yield changes of loads that put a mistake right, for a mass [kg] and shifts of time [s]."""
    of_mass = {
        "the forces look divided by the mass: multiply them by the mass": mass,
        "the forces look like body weights: convert them to newtons": mass * STANDARD_GRAVITY,
    }
    for text, factor in (_SCALES | of_mass).items():
        # Some files have forces in another unit than torques.
        for turn in (factor, 1.0):
            yield text, each_plate(forces, _scaled(factor, turn=turn))
    for unit, factor in _LENGTHS.items():
        text = f"the points of application look like {unit}: convert them to metres"
        yield text, each_plate(forces, _scaled(1.0, point=factor))
    for text, matrix in _TURNED:
        yield text, each_plate(forces, _turned(matrix))
        yield text, each_plate(forces, _turned(matrix, force_only=True))
    for one, other in combinations(range(len(forces)), 2):
        names = f"{forces[one].plate.name} and {forces[other].plate.name}"
        text = f"the forces of {names} look exchanged, without their points"
        yield text, _swapped(forces, one, other)
    for shift in _shifts(min(latest, float(np.ptp(forces[0].time))) if forces else 0.0):
        when = "early" if shift < 0.0 else "late"
        text = (
            f"the forces look {abs(shift):.2f} s {when} against the motion: check the times of "
            "both files"
        )
        yield text, partial(_later, forces, shift)


def plates_at(forces: Sequence[AppliedForce], time: FloatArray) -> list[Plate]:
    """Return the plates of external loads at instants (N,) [s]."""
    return [force.at(time) for force in forces]


def each_plate(forces: Sequence[AppliedForce], change: Callable[[Plate], Plate]) -> Change:
    """Return the change of each plate by a function."""
    return lambda time: [change(plate) for plate in plates_at(forces, time)]


def moved(offset: FloatArray) -> Callable[[Plate], Plate]:
    """Return the shift of a plate by an offset (3,) [m]."""
    return lambda plate: replace(plate, point=plate.point + offset)


def _later(forces: Sequence[AppliedForce], shift: float, time: FloatArray) -> list[Plate]:
    return plates_at(forces, time + shift)


def _swapped(forces: Sequence[AppliedForce], one: int, other: int) -> Change:
    def change(time: FloatArray) -> list[Plate]:
        plates = plates_at(forces, time)
        a, b = plates[one], plates[other]
        plates[one], plates[other] = replace(a, force=b.force), replace(b, force=a.force)
        return plates

    return change


def _scaled(force: float, *, point: float = 1.0, turn: float = 1.0) -> Callable[[Plate], Plate]:
    return lambda p: replace(
        p, force=force * p.force, point=point * p.point, torque=turn * p.torque
    )


def _turned(matrix: NDArray[Any], *, force_only: bool = False) -> Callable[[Plate], Plate]:
    if force_only:
        return lambda p: replace(p, force=p.force @ matrix.T)
    return lambda p: replace(
        p, force=p.force @ matrix.T, point=p.point @ matrix.T, torque=p.torque @ matrix.T
    )


def _shifts(latest: float) -> FloatArray:
    """Return shifts of time up to the latest [s], the smallest first."""
    steps = _STEP * np.arange(2.0, round(min(latest, _NEAR) / _STEP) + 1.0)
    steps = np.concatenate([steps, np.arange(_NEAR + _COARSE, latest, _COARSE)])
    return np.column_stack([steps, -steps]).ravel()
