"""Coordinates of a point of the condyle, the inputs of a surrogate (docs/theory.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.pose import rotation_matrices
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.smooth_array import SmoothArray
from surrogates.sampling.space import HEIGHT, ReferencePath

#: Columns of a `ReferencePath`'s coordinates that are variables.
_VARIABLES = np.array([0, 1, 2, 4])


@dataclass(frozen=True, eq=False)
class CondyleCoordinates(ArrayRecord):
    """Pose of a condyle's point, counted from a smooth path over flexion and scaled."""

    #: The point in the femoral frame (3,) [m].
    centre: FloatArray
    #: Of the point: a single cubic, since the path must be as smooth as the loads.
    path: ReferencePath
    #: middle, half (5,) of flexion and the offsets in adduction, rotation, anterior, lateral [rad,
    #: m].
    middle: FloatArray
    half: FloatArray
    #: Whether moments, centres of pressure are learnt about the point or tibial origin.
    about_point: bool = True
    #: The point as polynomials of the parameters of a design; `centre` is that in their middle.
    of_design: SmoothArray | None = None

    def __post_init__(self) -> None:
        check_array("half", self.half, (5,), above=0.0)
        check_fields(self, centre=(3,), middle=(5,), half=(5,))
        object.__setattr__(self, "about_point", bool(self.about_point))
        if self.of_design is not None:
            check_array("centre of designs", self.of_design.coefficients, (None, 3))

    def at(self, z: FloatArray) -> Self:
        """Return the coordinates of a design of scaled parameters z (P,) [1]."""
        if self.of_design is None:
            return self
        return replace(self, centre=self.of_design.at(z), path=self.path.at(z), of_design=None)

    @classmethod
    def fit(cls, poses: ArrayLike, loads: ArrayLike, *, at_centre: bool = True) -> Self:
        """Return the coordinates in which samples (N, 6) [rad, m], (N, 12) [SI] fill a box."""
        # Counted at the condyle's own centre, or at the femoral origin and about the tibial origin.
        points = check_array("poses", poses, (None, 6))
        values = check_array("loads", loads, (len(points), 12))
        if not len(points):
            raise InputError("poses: expected at least one sample, found none")
        centre = closest_point(points, values) if at_centre else np.zeros(3)
        flexion = points[:, 0].min(), points[:, 0].max()
        return cls.about(centre, points, flexion, at_centre)

    @classmethod
    def about(
        cls, centre: FloatArray, poses: FloatArray, flexion: ArrayLike, about_point: bool
    ) -> Self:
        """Return coordinates of a femoral point (3,) in which poses (N, 6) [rad, m] fill a box."""
        low, high = np.asarray(flexion, dtype=np.float64)
        path = _cubic_path(condyle_poses(poses, centre), float(low), float(high))
        coordinates = cls(centre, path, np.zeros(5), np.ones(5), about_point)
        middle, half = cls.scaling(coordinates.offsets(poses))
        return replace(coordinates, middle=middle, half=half)

    @staticmethod
    def scaling(offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return middle and half range (5,) of offsets (N, 5) [rad, m]; half 1 of a constant."""
        low, high = offsets.min(axis=0), offsets.max(axis=0)
        half = 0.5 * (high - low)
        # A coordinate that is constant over the samples is not scaled.
        half[half <= 1e-12] = 1.0
        return 0.5 * (low + high), half

    def offsets(self, poses: FloatArray) -> FloatArray:
        """Return flexion, and offsets of the point from its path (N, 5) [rad, m], not scaled."""
        return self._found(poses)[0]

    def variables(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return variables (N, 5) [1], heights over the path (N,) [m] and points (N, 3) [m]."""
        raw, height, points = self._found(check_array("poses", poses, (None, 6)))
        return (raw - self.middle) / self.half, height, points

    def _found(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return flexion and offsets (N, 5), heights over the path (N,) and points (N, 3)."""
        condyle = condyle_poses(poses, self.centre)
        offsets = condyle - self.path.poses(condyle[:, 0])
        raw = np.column_stack([condyle[:, 0], offsets[:, 1 + _VARIABLES]])
        return raw, offsets[:, 1 + HEIGHT], condyle[:, 3:]

    def lever(self, points: FloatArray) -> FloatArray:
        """Return the origins (N, 3) [m] of moments and centres, in the tibial frame."""
        return points if self.about_point else np.zeros_like(points)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as centre (3,) [m]; the inverse of `from_arrays`."""
        return {
            "centre": np.array(self.centre),
            "path_flexion": np.array(self.path.flexion),
            "path_pieces": np.array(self.path.pieces),
            "middle": np.array(self.middle),
            "half": np.array(self.half),
            "about_point": np.array(int(self.about_point)),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, such as centre (3,) [m], or raise InputError."""
        names = ("centre", "path_flexion", "path_pieces", "middle", "half", "about_point")
        missing = [name for name in names if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a condyle's coordinates")
        values = {name: np.asarray(arrays[name]) for name in names}
        path = ReferencePath(values["path_flexion"], values["path_pieces"])
        about = values["about_point"]
        if about.shape != () or about.dtype.kind not in "iub" or about not in (0, 1):
            raise InputError(f"about_point: expected 0 or 1, found {about}")
        return cls(values["centre"], path, values["middle"], values["half"], bool(about))


def condyle_poses(poses: FloatArray, centre: FloatArray) -> FloatArray:
    """Return poses (N, 6) [rad, m] of a femoral point (3,) [m] in place of the femoral origin."""
    moved = poses.copy()
    if np.any(centre):
        moved[:, 3:] += rotation_matrices(poses) @ centre
    return moved


def closest_point(poses: FloatArray, loads: FloatArray) -> FloatArray:
    """Return the femoral point (3,) [m] that the lines of the contact forces pass closest to."""
    # The sum of squared distances is least where sum_i (1 - a_i a_i^T) (c - b_i) = 0, with
    # direction a_i and point b_i (centre of pressure) of each line in the femoral frame.
    turns = rotation_matrices(poses).transpose(0, 2, 1)
    along = (turns @ loads[:, :3, None])[:, :, 0]
    along /= np.linalg.norm(along, axis=1)[:, None]
    points = (turns @ (loads[:, 9:] - poses[:, 3:])[:, :, None])[:, :, 0]
    matrix = len(poses) * np.eye(3) - along.T @ along
    right = points.sum(axis=0) - along.T @ (along * points).sum(axis=1)
    # For parallel lines, the point nearest to the origin is taken.
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-9)[0], dtype=np.float64)


def _cubic_path(poses: FloatArray, low: float, high: float) -> ReferencePath:
    """Return the cubic over flexions [rad] that comes closest to poses, as one piece."""
    flexion = poses[:, 0]
    if high - low < 1e-9:
        return ReferencePath.constant(low, poses[:, 1:].mean(axis=0))
    t = (flexion - low) / (high - low)
    powers = t[:, None] ** np.arange(3, -1, -1)
    coefficients = np.linalg.lstsq(powers, poses[:, 1:], rcond=None)[0]
    pieces = coefficients / (high - low) ** np.arange(3, -1, -1)[:, None]
    return ReferencePath(np.array([low, high]), pieces[:, None, :])
