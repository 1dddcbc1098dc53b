"""What each formulation of a compartment learns from its samples (docs/theory.md).

u are the five scaled coordinates of the condyle's point (`condyle_coordinates`), y its height, r =
(F / F_max)^(1/p) the *root* of the axial load F and s = 2 r - 1. "inverted" learns y over (u, s),
and F_x, F_z and the moments about the point over F: the loads are exactly zero out of contact.
"direct" learns the loads over (u, y). Area over r, pressures over r^(p-1) and the centre of
pressure from the point are learnt too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE, ContactLoads
from foundation.base.pose import pose_array
from surrogates.sampling.condyle_coordinates import CondyleCoordinates


@dataclass(frozen=True)
class Samples:
    """Samples of one compartment.

    Parameters
    ----------
    poses : (N, 6) float64
        Poses in contact [rad, m].
    loads : (N, 12) float64
        Loads, in the order of `foundation.base.loads.LOAD_COLUMNS` [SI].
    weights : (N,) float64, optional
        Weights of the samples [1], for families that accept weights.
    """

    poses: FloatArray
    loads: FloatArray
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        poses = check_array("poses", self.poses, (None, 6))
        loads = check_array("loads", self.loads, (len(poses), 12))
        if not len(loads):
            raise InputError("poses: expected at least one sample, found none")
        if loads[:, 1].min() <= 0.0:
            raise InputError(
                f"loads: expected an axial load > 0 in every sample, found {loads[:, 1].min():g} N"
            )
        check_fields(self, poses=(None, 6), loads=(None, 12), weights=(len(poses),))


def samples_of(
    samples: Mapping[str, Samples] | ArrayLike, loads: ContactLoads | None
) -> Mapping[str, Samples]:
    """Return the samples of each compartment, or those of poses (N, 6) [rad, m] with loads."""
    if loads is None and isinstance(samples, Mapping):
        return samples
    if isinstance(samples, Mapping) or not isinstance(loads, ContactLoads):
        raise InputError(
            "loads: expected ContactLoads at poses, or samples of each compartment by its name "
            f"alone, found {type(loads).__name__}; "
            "surrogates.families.registry.fit_family fits other outputs"
        )
    poses, by_compartment = np.atleast_2d(pose_array(samples)), {}
    for place, name in enumerate(loads.compartments):
        values = loads.values[:, place]
        pressed = values[:, AXIAL_FORCE] > 0.0
        by_compartment[name] = Samples(poses[pressed], values[pressed])
    return by_compartment


class TrainingData(NamedTuple):
    """Inputs (N, 6 + P) [1] and outputs that are learnt, and the compartment's constants."""

    coordinates: CondyleCoordinates
    inputs: FloatArray
    #: Outputs in groups of like outputs (N, k) [SI].
    groups: Sequence[FloatArray]
    #: F_max [N].
    largest: float
    #: p [1].
    degree: float
    #: Middle and half range of the height, where the height is an input (2,) [m].
    depth: FloatArray


def height_over_load(
    samples: Samples,
    largest: float,
    degree: float,
    coordinates: CondyleCoordinates | None = None,
    depth: FloatArray | None = None,
) -> TrainingData:
    """Return the training data of "inverted" for F_max [N], p [1]; `depth` (2,) [m] is not used."""
    del depth
    coordinates = coordinates or CondyleCoordinates.fit(samples.poses, samples.loads)
    u, height, points = coordinates.variables(samples.poses)
    loads = samples.loads
    root = (loads[:, 1] / largest) ** (1.0 / degree)
    groups = [
        height[:, None],
        ratios_of(coordinates, loads, points),
        quantities_of(coordinates, loads, points, root, degree),
    ]
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    return TrainingData(coordinates, inputs, groups, largest, degree, np.array([0.0, 1.0]))


def loads_over_height(
    samples: Samples,
    largest: float,
    degree: float,
    coordinates: CondyleCoordinates | None = None,
    depth: FloatArray | None = None,
) -> TrainingData:
    """Return the training data of "direct": the loads about the tibial origin; `depth` (2,) [m]."""
    del largest, degree
    if coordinates is None:
        coordinates = CondyleCoordinates.fit(samples.poses, samples.loads, at_centre=False)
    u, height, points = coordinates.variables(samples.poses)
    depth = middle_and_half(height) if depth is None else depth
    values = samples.loads.copy()
    values[:, 9:] -= coordinates.lever(points)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    return TrainingData(coordinates, inputs, [values], 1.0, 1.0, depth)


def middle_and_half(values: FloatArray) -> FloatArray:
    """Return middle and half range (2,) of the samples' heights (N,) [m]."""
    low, high = values.min(), values.max()
    if not low < high:
        raise InputError(f"poses: expected samples of different heights, found only {low:g} m")
    return np.array([0.5 * (low + high), 0.5 * (high - low)])


def ratios_of(coordinates: CondyleCoordinates, loads: FloatArray, points: FloatArray) -> FloatArray:
    """Return F_x, F_z [1] and moments about the point [m] over the axial load, (N, 5)."""
    moments = loads[:, 3:6] - np.cross(coordinates.lever(points), loads[:, :3])
    return np.column_stack([loads[:, [0, 2]], moments]) / loads[:, 1:2]


def quantities_of(
    coordinates: CondyleCoordinates,
    loads: FloatArray,
    points: FloatArray,
    root: FloatArray,
    degree: float,
) -> FloatArray:
    """Return area over the root, pressures over its power, centre from the point, (N, 6) [SI]."""
    pressures = loads[:, 7:9] / root[:, None] ** (degree - 1.0)
    centres = loads[:, 9:] - coordinates.lever(points)
    return np.column_stack([loads[:, 6] / root, pressures, centres])


class Formulation(NamedTuple):
    """A formulation of a compartment, and what a surrogate learns for F_max [N] and p [1]."""

    #: Whether heights over the load are learnt, or the loads over the height.
    learns_heights: bool
    #: Groups of outputs, whose units `pipeline.store.quantities.OUTPUTS` lists.
    groups: tuple[str, ...]
    training_data: Callable[..., TrainingData]


#: Formulations of a compartment by name, which is also the name of the functions in exported C.
FORMULATIONS = {
    "inverted": Formulation(True, ("height", "ratios", "quantities"), height_over_load),
    "direct": Formulation(False, ("loads",), loads_over_height),
}
