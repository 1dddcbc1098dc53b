"""Fit of pressure fields to the fields of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, IntArray, check_array, check_fields, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose, rotation_matrix
from foundation.core.library import BLOCK, GROUP
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.knee_fields import CompartmentField, PairFields, fields_of
from surrogates.fields.layer_fit import fit_layer
from surrogates.fields.skin import Skin, parts_of
from surrogates.fields.spring_response import SpringResponse


@dataclass(frozen=True, eq=False)
class FieldSamples:
    """Overlapping places (middles of triangles, or nodes) of one compartment at sampled poses."""

    #: (N, 6) [rad, m].
    poses: FloatArray
    #: Start of each pose in the arrays below, and their length (N + 1,).
    starts: IntArray
    #: Places that overlap or bear pressure (K,).
    place: IntArray
    #: (K,) [m].
    indentation: FloatArray
    #: (K,) [Pa].
    pressure: FloatArray

    def __post_init__(self) -> None:
        count, touched = len(self.poses), len(self.place)
        check_fields(self, poses=(None, 6), indentation=(touched,), pressure=(touched,))
        steps = np.diff(self.starts)
        if len(steps) != count or steps.min(initial=0) < 0 or self.starts[-1] != touched:
            raise InputError(
                f"starts: expected {count + 1} rising places up to {touched}, found {self.starts}"
            )

    @classmethod
    def of(cls, state: Callable[[Pose], Any], poses: ArrayLike, chosen: ArrayLike) -> Self:
        """Return fields of a model's `state` at poses (N, 6) [rad, m], of `chosen` places."""
        places, own = check_array("poses", poses, (None, 6)), np.asarray(chosen, dtype=np.int64)
        parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
        for place in places:
            found = state(Pose.from_array(place))
            depth, pressure = found.indentation[own], found.pressure[own]
            at = np.flatnonzero((depth > 0.0) | (pressure > 0.0))
            parts.append((at, depth[at], pressure[at]))
        starts = np.cumsum([0, *(len(at) for at, _, _ in parts)])
        none = np.empty(0)
        joined = [np.concatenate([none, *(part[k] for part in parts)]) for k in range(3)]
        return cls(places, starts, joined[0].astype(np.int64), *joined[1:])

    def rows(self) -> IntArray:
        """Return the sample (K,) of each place that overlaps."""
        return np.repeat(np.arange(len(self.poses)), np.diff(self.starts))

    def largest(self) -> FloatArray:
        """Return the largest indentation of each sample (N,) [m], 0 without contact."""
        found = np.zeros(len(self.poses))
        np.maximum.at(found, self.rows(), self.indentation)
        return found


#: Most points that the surface of a condyle is fitted to.
_MOST_POINTS = 1_500_000


@dataclass(frozen=True, eq=False)
class Places:
    """Places of one compartment at which the model gives pressures, checked."""

    #: (P, 3) [m], tibial frame.
    points: FloatArray
    #: (P, 3) [1].
    normals: FloatArray
    #: (P,) [m²].
    areas: FloatArray
    #: Tibial triangles (T,) that get pressures.
    triangles: IntArray
    #: Places (T, 3) from which a triangle interpolates with weights `shares` (T, 3) [1]; by default
    #: the places are the middles of the triangles.
    corners: IntArray | None = None
    shares: FloatArray | None = None

    def __post_init__(self) -> None:
        count = len(self.areas)
        check_fields(self, points=(count, 3), normals=(count, 3), areas=(count,))
        shape = (count,) if self.corners is None else (len(self.triangles),)
        if np.shape(self.triangles) != shape:
            raise InputError(f"triangles: expected {shape}, found {np.shape(self.triangles)}")

    def rows(self, chosen: IntArray) -> FloatArray:
        """Return position, normal and projected area (K, 7) [m, 1, m²] of places (K,)."""
        area = self.areas[chosen] * np.abs(self.normals[chosen, 1])
        return np.column_stack([self.points[chosen], self.normals[chosen], area])

    def interpolation(self, chosen: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return triangles (K,), corners (K, 3) among chosen places, and shares (K, 3) [1]."""
        if self.corners is None or self.shares is None:
            return self.triangles[chosen], np.empty((0, 3), dtype=np.int64), np.empty((0, 3))
        number = np.full(len(self.areas), -1)
        number[chosen] = np.arange(len(chosen))
        corners = number[self.corners]
        known = (corners >= 0).all(axis=1)
        return self.triangles[known], corners[known], self.shares[known]


@dataclass(frozen=True)
class FieldSettings:
    """Settings of a fit of pressure fields: spacing of the grid and margin around it [m]."""

    #: Spacing of the grid of the condyle's surface [m].
    spacing: float = 0.6e-3
    #: Width beyond the contact of the samples to which the fields extend [m].
    margin: float = 2e-3

    def __post_init__(self) -> None:
        check_number("spacing", self.spacing, above=0.0, at_most=0.1, unit="m")
        check_number("margin", self.margin, at_least=0.0, at_most=0.1, unit="m")


def fit_fields(
    samples: Mapping[str, FieldSamples],
    places: Mapping[str, Places],
    faces: int,
    settings: FieldSettings | None = None,
) -> PairFields:
    """Fit the pressure fields of all compartments, over the `faces` of the tibial mesh."""
    chosen = settings or FieldSettings()
    names = COMPARTMENTS if set(samples) == set(COMPARTMENTS) else tuple(samples)
    fitted = {name: _fit_compartment(name, samples[name], places[name], chosen) for name in names}
    return fields_of(faces, fitted)


def _fit_compartment(
    name: str, samples: FieldSamples, places: Places, settings: FieldSettings
) -> CompartmentField:
    if not len(samples.place):
        raise InputError(f"fields: expected samples of the {name} compartment in contact")
    surface, _ = CondyleSurface.fit(_exits(samples, places), settings.spacing)
    chosen = _near(np.unique(samples.place), places.points, settings.margin)
    bed, interpolation = places.rows(chosen), places.interpolation(chosen)
    if places.corners is None:
        springs = _springs(samples, places, chosen)
        if springs is not None:
            return CompartmentField(interpolation[0], bed, surface, springs, *interpolation[1:])
    skin = Skin(bed, surface)
    depths = np.array([skin.indentations(*parts_of(pose))[0] for pose in samples.poses])
    pressures = np.zeros((len(samples.poses), len(places.areas)))
    pressures[samples.rows(), samples.place] = samples.pressure
    layer = fit_layer(depths, pressures[:, chosen], skin.bed)
    return CompartmentField(interpolation[0], bed, surface, layer, *interpolation[1:])


def _springs(samples: FieldSamples, places: Places, chosen: IntArray) -> SpringResponse | None:
    """Return the springs of chosen places, or None if the places are not springs."""
    largest = samples.largest()[samples.rows()]
    springs, known = SpringResponse.fit(
        samples.place, samples.indentation, largest, samples.pressure
    )
    if springs is None:
        return None
    nearest = _nearest(places.points[known], places.points[chosen])
    return SpringResponse(springs.constants, springs.law[nearest])


def _exits(samples: FieldSamples, places: Places) -> FloatArray:
    """Return points (K, 3) [m] of the femur, femoral frame, below places that overlap."""
    step = -(-len(samples.place) // _MOST_POINTS)
    at, row, depth = (a[::step] for a in (samples.place, samples.rows(), samples.indentation))
    touched = places.points[at] - depth[:, None] * places.normals[at]
    turns = np.array([rotation_matrix(*pose[:3]) for pose in samples.poses])
    return np.asarray(np.einsum("kji,kj->ki", turns[row], touched - samples.poses[row, 3:]))


def _near(touched: IntArray, points: FloatArray, margin: float) -> IntArray:
    """Return the places that are touched, or as near as the margin [m]."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    distance = np.asarray(KDTree(points[touched]).query(points)[0])
    near = np.flatnonzero(distance <= margin)
    return near[_by_place(points[near])]


def _by_place(points: FloatArray) -> IntArray:
    """Return an order (N,) of points (N, 3) [m] in which neighbours follow each other."""
    # Points are halved across the longer side, in multiples of a block or group.
    done, open_parts = [], [np.arange(len(points))]
    while open_parts:
        part = open_parts.pop()
        if len(part) <= GROUP:
            done.append(part)
            continue
        own = points[part]
        order = part[np.argsort(own[:, int(np.argmax(np.ptp(own, axis=0)))], kind="stable")]
        unit = BLOCK if len(part) > BLOCK else GROUP
        middle = unit * ((len(part) // unit + 1) // 2)
        open_parts += [order[middle:], order[:middle]]
    return np.concatenate(done)


def _nearest(known: FloatArray, places: FloatArray) -> IntArray:
    """Return the index (N,) of the known point [m] nearest to each place (N, 3) [m]."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    return np.asarray(KDTree(known).query(places)[1], dtype=np.int64)
