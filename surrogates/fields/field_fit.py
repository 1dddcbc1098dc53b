"""Fit of pressure fields to the fields of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import FloatArray, IntArray, check_array, check_number
from foundation.errors import InputError
from foundation.loads import AXIAL_FORCE, COMPARTMENTS
from foundation.pose import rotation_matrix
from surrogates.compiled.pressure import BLOCK, GROUP
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.knee_fields import CompartmentField, KneeFields
from surrogates.fields.layer_response import Fit, LayerResponse
from surrogates.fields.samples import FieldSamples
from surrogates.fields.spring_response import SpringResponse
from surrogates.sampling.space import SampleSpace


@dataclass(frozen=True, eq=False)
class Bed:
    """Triangles of the tibial mesh.

    Parameters
    ----------
    centroids, normals : (F, 3) float64
        Middles [m] and unit normals [1], tibial frame.
    areas : (F,) float64
        Areas [m²].
    compartments : (F,) int8
        0 for the medial and 1 for the lateral compartment.

    Raises
    ------
    InputError
        If the lengths differ or a number is not finite.
    """

    centroids: FloatArray
    normals: FloatArray
    areas: FloatArray
    compartments: ArrayLike

    def __post_init__(self) -> None:
        count = len(self.areas)
        for name, shape in (
            ("centroids", (count, 3)),
            ("normals", (count, 3)),
            ("areas", (count,)),
        ):
            object.__setattr__(self, name, check_array(name, getattr(self, name), shape))
        if np.shape(self.compartments) != (count,):
            raise InputError(
                f"compartments: expected shape ({count},), found {np.shape(self.compartments)}"
            )

    def rows(self, triangles: IntArray) -> FloatArray:
        """Return middle, normal and projected area (T, 7) [m, 1, m²] of triangles (T,)."""
        area = self.areas[triangles] * np.abs(self.normals[triangles, 1])
        return np.column_stack([self.centroids[triangles], self.normals[triangles], area])


@dataclass(frozen=True)
class FieldSettings:
    """Settings of a fit of pressure fields.

    Parameters
    ----------
    spacing : float
        Spacing of the grid of the condyle's surface [m].
    margin : float
        Width beyond the contact of the samples to which the fields extend [m].

    Raises
    ------
    InputError
        If the spacing is not positive or the margin is negative.
    """

    spacing: float = 0.6e-3
    margin: float = 2e-3

    def __post_init__(self) -> None:
        check_number("spacing", self.spacing, above=0.0, at_most=0.1, unit="m")
        check_number("margin", self.margin, at_least=0.0, at_most=0.1, unit="m")


def fit_fields(
    samples: Mapping[str, FieldSamples],
    bed: Bed,
    spaces: Mapping[str, SampleSpace],
    fit: Fit,
    settings: FieldSettings | None = None,
) -> KneeFields:
    """Fit the pressure fields of both compartments.

    Parameters
    ----------
    samples : mapping
        Fields of the samples, by compartment.
    bed : Bed
        Triangles of the tibial mesh.
    spaces : mapping
        Sample space of each compartment.
    fit : callable
        Fit of a family to inputs (N, 6) and outputs (N, k), for layers that are not springs.
    settings : FieldSettings, optional
        Settings of the fit.

    Raises
    ------
    InputError
        If a compartment has too few samples in contact.
    """
    chosen = settings or FieldSettings()
    medial, lateral = (
        _fit_compartment(name, side, samples[name], bed, spaces[name], fit, chosen)
        for side, name in enumerate(COMPARTMENTS)
    )
    return KneeFields(len(bed.areas), medial, lateral)


def _fit_compartment(
    name: str,
    side: int,
    samples: FieldSamples,
    bed: Bed,
    space: SampleSpace,
    fit: Fit,
    settings: FieldSettings,
) -> CompartmentField:
    if not len(samples.triangle):
        raise InputError(f"fields: expected samples of the {name} compartment in contact")
    points = _exits(samples, bed)
    surface, _ = CondyleSurface.fit(points, settings.spacing)
    own = np.flatnonzero(np.asarray(bed.compartments) == side)
    triangles = _near(np.unique(samples.triangle), own, bed.centroids, settings.margin)
    rows, largest = bed.rows(triangles), samples.largest()[samples.rows()]
    springs, known = SpringResponse.fit(
        samples.triangle, samples.indentation, largest, samples.pressure
    )
    if springs is not None:
        nearest = _nearest(bed.centroids[known], bed.centroids[triangles])
        law = SpringResponse(springs.constants, springs.law[nearest])
        return CompartmentField(triangles, rows, surface, law)
    # The response below is that of springs of unit stiffness, whose overlaps are wanted.
    unit = SpringResponse(np.array([0.0, 1.0, 0.0]), np.ones((len(triangles), 2)))
    overlap = CompartmentField(triangles, rows, surface, unit)
    depths = np.array([overlap.indentations(pose)[0] for pose in samples.poses])
    pressures = np.zeros((len(samples.poses), len(bed.areas)))
    pressures[samples.rows(), samples.triangle] = samples.pressure
    variables, _ = space.scaled(samples.poses, samples.loads[:, AXIAL_FORCE])
    layer = LayerResponse.fit(variables, depths, pressures[:, triangles], rows, fit)
    return CompartmentField(triangles, rows, surface, layer)


def _exits(samples: FieldSamples, bed: Bed) -> FloatArray:
    """Return the points (K, 3) [m] of the femur, femoral frame, below the triangles in contact."""
    at = samples.triangle
    places = bed.centroids[at] - samples.indentation[:, None] * bed.normals[at]
    turns = np.array([rotation_matrix(*pose[:3]) for pose in samples.poses])
    row = samples.rows()
    arms = places - samples.poses[row, 3:]
    return np.asarray(np.einsum("kji,kj->ki", turns[row], arms))


def _near(touched: IntArray, own: IntArray, centroids: FloatArray, margin: float) -> IntArray:
    """Return the triangles of `own` (T,) that are touched, or as near as the margin [m]."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    distance = np.asarray(KDTree(centroids[touched]).query(centroids[own])[0])
    near = own[distance <= margin]
    return near[_by_place(centroids[near])]


def _by_place(points: FloatArray) -> IntArray:
    """Return an order (N,) of points (N, 3) [m] in which neighbours follow each other.

    The points are halved across the longer side, in multiples of a block or group, until one group
    is left.
    """
    done, open_parts = [], [np.arange(len(points))]
    while open_parts:
        part = open_parts.pop()
        if len(part) <= GROUP:
            done.append(part)
            continue
        own = points[part]
        order = part[np.argsort(own[:, int(np.argmax(np.ptp(own, axis=0)))], kind="stable")]
        unit = GROUP * BLOCK if len(part) > GROUP * BLOCK else GROUP
        middle = unit * ((len(part) // unit + 1) // 2)
        open_parts += [order[middle:], order[:middle]]
    return np.concatenate(done)


def _nearest(known: FloatArray, places: FloatArray) -> IntArray:
    """Return the index (N,) of the known point [m] nearest to each place (N, 3) [m]."""
    from scipy.spatial import KDTree  # not needed by a trained surrogate

    return np.asarray(KDTree(known).query(places)[1], dtype=np.int64)
