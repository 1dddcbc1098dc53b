"""Fit of pressure fields to the fields of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from foundation.base.checks import FloatArray, IntArray, check_array, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose, rotation_matrix
from foundation.core.library import BLOCK, CONSTANTS, CORE, GROUP, addresses
from surrogates.core.correlations import CORRELATIONS
from surrogates.families.kriging import Likelihood, factorise_safely, maximise, solve
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.knee_fields import (
    MEASURES,
    TERMS,
    CompartmentField,
    LayerResponse,
    PairFields,
    Skin,
    SpringResponse,
    parts_of,
)

#: Of the polynomial of the pressure over a patch, as of the library.
DEGREE, SHAPES = int(CONSTANTS["PATCH_DEGREE"]), TERMS - 1
WIDTH, REACH, SPAN = (CONSTANTS[f"PATCH_{name}"] for name in ("WIDTH", "REACH", "SPAN"))
#: Exponent of the pressure: between the root at a sharp edge, which nodes blur, and a thin layer.
EXPONENT = 0.8
#: Penalty of the terms, over the square of their degree; evaluations of a fit.
_HOLD, _MOST_EVALUATIONS = 3e-3, 40
#: Fewest places in contact from which the terms of a sample are found, and fewest such samples.
_FEWEST, _FEWEST_SAMPLES = 25, 40
#: Bounds of the nugget, samples and iterations of the search for lengths, and of its refinement.
_NUGGET, _SEARCHED, _ITERATIONS, _REFINED = (1e-6, 0.3), 400, 80, 8


def fit_layer(depths: FloatArray, pressures: FloatArray, bed: FloatArray) -> LayerResponse:
    """Return the layer that fits overlaps (N, P) [m] and pressures (N, P) [Pa] of a bed (P, 7)."""
    patches = [
        _patch(depth, pressure, bed) for depth, pressure in zip(depths, pressures, strict=True)
    ]
    usable = [patch for patch in patches if patch is not None]
    if len(usable) < _FEWEST_SAMPLES:
        raise InputError(
            f"fields: expected at least {_FEWEST_SAMPLES} samples with {_FEWEST} places in "
            f"contact, found {len(usable)}; use more samples or a finer tibial mesh"
        )
    terms = np.array([[*_terms(patch), patch.stiffness] for patch in usable])
    return LayerResponse(EXPONENT, *_kriging(np.array([patch.measures for patch in usable]), terms))


class _Patch(NamedTuple):
    """Contact of one sample."""

    #: Of the overlap (15,).
    measures: FloatArray
    #: Relative, of the places that overlap (n,).
    pressure: FloatArray
    #: At these places (n, 15).
    polynomials: FloatArray
    #: Logarithm of the integral of the pressure over the size of the overlap [Pa].
    stiffness: float


def _patch(depth: FloatArray, pressure: FloatArray, bed: FloatArray) -> _Patch | None:
    inside: IntArray = np.flatnonzero(depth > 0.0)
    frame, measures = np.empty(6), np.empty(MEASURES)
    if (pressure > 0.0).sum() < _FEWEST:
        return None
    overlap = [np.ascontiguousarray(values) for values in (depth, bed)]
    if not CORE.measure_overlap(len(depth), *addresses(*overlap, frame, measures)):
        return None
    b = bed[inside, 2] - frame[1]
    a = (bed[inside, 0] - frame[0] - frame[4] * b) / (WIDTH * frame[2])
    b = b / (WIDTH * frame[3])
    near = a**2 + b**2 < REACH**2
    first, second = (np.polynomial.legendre.legvander(x[near] / SPAN, DEGREE) for x in (a, b))
    products = [
        first[:, degree - j] * second[:, j]
        for degree in range(DEGREE + 1)
        for j in range(degree + 1)
    ]
    total = float(pressure @ bed[:, 6])
    mean = total / (4.0 * WIDTH**2 * frame[2] * frame[3])
    return _Patch(
        measures, pressure[inside[near]] / mean, np.column_stack(products), np.log(total / frame[5])
    )


def _terms(patch: _Patch) -> FloatArray:
    """Return the terms (15,) of the polynomial of a patch."""
    pressure, shapes = patch.pressure, patch.polynomials
    degrees = np.repeat(np.arange(DEGREE + 1), np.arange(1, DEGREE + 2))
    hold = _HOLD * np.sqrt(len(shapes)) * (degrees / DEGREE) ** 2
    pressed = pressure > 0.0
    rows = np.vstack([shapes[pressed], 0.1 * np.eye(SHAPES)])
    start = np.linalg.lstsq(
        rows, np.append(pressure[pressed] ** (1.0 / EXPONENT), np.zeros(SHAPES))
    )[0]

    def misses(terms: FloatArray) -> FloatArray:
        predicted = np.maximum(shapes @ terms, 0.0) ** EXPONENT
        return np.append(predicted - pressure, hold * terms)

    def slopes(terms: FloatArray) -> FloatArray:
        bearing = shapes @ terms
        # The slope of the pressure has no limit at the edge.
        steep = EXPONENT * np.maximum(bearing, 1e-3) ** (EXPONENT - 1.0)
        return np.vstack([np.where(bearing > 1e-3, steep, 0.0)[:, None] * shapes, np.diag(hold)])

    return np.asarray(least_squares(misses, start, slopes, max_nfev=_MOST_EVALUATIONS).x)


def _kriging(measures: FloatArray, terms: FloatArray) -> tuple[FloatArray, ...]:
    """Return scaling, points, lengths and weights, as of `LayerResponse`."""
    low, high = measures.min(axis=0), measures.max(axis=0)
    half = np.maximum((high - low) / 2.0, 1e-9)
    scaling = np.array([(low + high) / 2.0, half])
    z = (measures - scaling[0]) / half
    mean, deviation = terms.mean(axis=0), np.maximum(terms.std(axis=0), 1e-12)
    varying = np.append(True, z.std(axis=0) > 1e-3)
    y, trend = (terms - mean) / deviation, np.column_stack([np.ones(len(z)), z])[:, varying]
    kinds = np.full(MEASURES, CORRELATIONS["matern52"].code)
    rows = np.linspace(0, len(z) - 1, min(len(z), _SEARCHED)).astype(np.int64)
    few = Likelihood(z[rows], y[rows], trend[rows], kinds, (), _NUGGET)
    vector, _ = maximise(few, few.first(), _ITERATIONS)
    every = Likelihood(z, y, trend, kinds, (), _NUGGET)
    if len(rows) < len(z):
        vector, _ = maximise(every, vector, _REFINED)
    parameters = every.parameters(vector)
    factors, _ = factorise_safely(parameters, z, kinds, trend)
    solution = solve(factors, y)[0].T * deviation
    weights = np.zeros((len(varying) + len(z), TERMS))
    weights[np.append(varying, np.full(len(z), True))] = solution
    weights[0] += mean
    lengths = parameters.lengths / np.sqrt(5.0)
    return scaling, np.ascontiguousarray((z / lengths).T), lengths, weights


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

    @classmethod
    def of(cls, state: Callable[[Pose], Any], poses: ArrayLike, chosen: ArrayLike) -> Self:
        """Return fields of a model's `state` at poses (N, 6) [rad, m], of `chosen` places."""
        places, selected = (
            check_array("poses", poses, (None, 6)),
            np.asarray(chosen, dtype=np.int64),
        )
        parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
        for place in places:
            contact = state(Pose.from_array(place))
            depth, pressure = contact.indentation[selected], contact.pressure[selected]
            touching = np.flatnonzero((depth > 0.0) | (pressure > 0.0))
            parts.append((touching, depth[touching], pressure[touching]))
        starts = np.cumsum([0, *(len(touching) for touching, _, _ in parts)])
        none = np.empty(0)
        joined = [np.concatenate([none, *(sample[k] for sample in parts)]) for k in range(3)]
        return cls(places, starts, joined[0].astype(np.int64), *joined[1:])

    def rows(self) -> IntArray:
        """Return the sample (K,) of each place that overlaps."""
        return np.repeat(np.arange(len(self.poses)), np.diff(self.starts))

    def largest(self) -> FloatArray:
        """Return the largest indentation of each sample (N,) [m], 0 without contact."""
        largest = np.zeros(len(self.poses))
        np.maximum.at(largest, self.rows(), self.indentation)
        return largest


#: Most points that the surface of a condyle is fitted to.
_MOST_POINTS = 1_500_000
#: Width beyond the contact of the samples to which the fields extend [m].
_MARGIN = 2e-3


class Places(NamedTuple):
    """Places (P,) [m, 1, m²], as of `foundation.surface_contact.PressurePlaces`."""

    points: FloatArray
    normals: FloatArray
    areas: FloatArray
    triangles: IntArray
    corners: IntArray | None = None
    shares: FloatArray | None = None


def _rows(places: Places, chosen: IntArray) -> FloatArray:
    """Return position, normal and projected area (K, 7) [m, 1, m²] of places (K,)."""
    area = places.areas[chosen] * np.abs(places.normals[chosen, 1])
    return np.column_stack([places.points[chosen], places.normals[chosen], area])


def _interpolation(places: Places, chosen: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return triangles (K,), corners (K, 3) among chosen places, and shares (K, 3) [1]."""
    if places.corners is None or places.shares is None:
        return places.triangles[chosen], np.empty((0, 3), dtype=np.int64), np.empty((0, 3))
    number = np.full(len(places.areas), -1)
    number[chosen] = np.arange(len(chosen))
    corners = number[places.corners]
    known = (corners >= 0).all(axis=1)
    return places.triangles[known], corners[known], places.shares[known]


def fit_fields(
    samples: Mapping[str, FieldSamples],
    places: Mapping[str, Places],
    faces: int,
    spacing: float = 0.6e-3,
) -> PairFields:
    """Fit the pressure fields of all compartments, over the `faces` of the tibial mesh.

    The grid of the surface of a condyle has a `spacing` [m].
    """
    check_number("spacing", spacing, above=0.0, at_most=0.1, unit="m")
    names = COMPARTMENTS if set(samples) == set(COMPARTMENTS) else tuple(samples)
    fitted = {name: _fit_compartment(name, samples[name], places[name], spacing) for name in names}
    return PairFields(faces, fitted)


def _fit_compartment(
    name: str, samples: FieldSamples, places: Places, spacing: float
) -> CompartmentField:
    if not len(samples.place):
        raise InputError(f"fields: expected samples of the {name} compartment in contact")
    surface, _ = CondyleSurface.fit(_exits(samples, places), spacing)
    chosen = _near(np.unique(samples.place), places.points)
    bed, interpolation = _rows(places, chosen), _interpolation(places, chosen)
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
    place, row, depth = (a[::step] for a in (samples.place, samples.rows(), samples.indentation))
    touched = places.points[place] - depth[:, None] * places.normals[place]
    turns = np.array([rotation_matrix(*pose[:3]) for pose in samples.poses])
    return np.asarray(np.einsum("kji,kj->ki", turns[row], touched - samples.poses[row, 3:]))


def _near(touched: IntArray, points: FloatArray) -> IntArray:
    """Return the places that are touched, or as near as the margin."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    distance = np.asarray(KDTree(points[touched]).query(points)[0])
    near = np.flatnonzero(distance <= _MARGIN)
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
        xyz = points[part]
        order = part[np.argsort(xyz[:, int(np.argmax(np.ptp(xyz, axis=0)))], kind="stable")]
        unit = BLOCK if len(part) > BLOCK else GROUP
        middle = unit * ((len(part) // unit + 1) // 2)
        open_parts += [order[middle:], order[:middle]]
    return np.concatenate(done)


def _nearest(known: FloatArray, places: FloatArray) -> IntArray:
    """Return the index (N,) of the known point [m] nearest to each place (N, 3) [m]."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    return np.asarray(KDTree(known).query(places)[1], dtype=np.int64)
