"""Sample space: a box of poses and axial loads about a reference path, and its unit cube.

The five coordinates of the knee besides the height (the insensitive directions of Lin et al. 2010)
are counted from a *reference path* over flexion, so that a box about the path contains the poses of
gait and few others. The sixth variable is the square root of the axial load of a compartment: for a
bed of linear springs under a smooth condyle, the height falls linearly with the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_fields, check_number, frozen
from foundation.base.errors import InputError
from foundation.core.library import FOLLOWED, Struct
from surrogates.core.packing import packed_path
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.smooth_array import SmoothArray

#: Variables of the sample space; the offsets count from the reference path.
VARIABLES = ("flexion", "adduction", "rotation", "anterior", "lateral", "root_load")
#: Columns of the pose coordinates that the offsets count along, in the order of `VARIABLES[1:5]`.
OFFSET_COORDINATES = np.array([1, 2, 3, 5])
#: Column of the height among the coordinates of a path.
HEIGHT = 3


@dataclass(frozen=True, eq=False)
class ReferencePath(ArrayRecord):
    """Pose coordinates as a piecewise cubic over flexion."""

    #: Knots (K,) [rad], strictly increasing, K >= 2; the end pieces extend beyond the end knots.
    flexion: FloatArray
    #: Coefficients (4, K - 1, 5), in falling powers of the flexion past the piece's first knot, of
    #: adduction, rotation [rad], anterior, superior, lateral [m].
    pieces: FloatArray
    #: The pieces as polynomials of the parameters of a design; `pieces` are those in the middle.
    of_design: SmoothArray | None = None

    def __post_init__(self) -> None:
        knots = check_array("path flexion", self.flexion, (None,))
        if len(knots) < 2 or np.any(np.diff(knots) <= 0.0):
            raise InputError(f"path flexion: expected two or more increasing knots, found {knots}")
        shape = (4, len(knots) - 1, 5)
        check_fields(self, "path ", flexion=(None,), pieces=shape)
        if self.of_design is not None:
            check_array("path pieces of designs", self.of_design.coefficients, (None, *shape))

    @classmethod
    def over_designs(cls, z: FloatArray, paths: Sequence[ReferencePath]) -> Self:
        """Return the path closest to those of designs z (N, P) [1], which have the same knots."""
        smooth = SmoothArray.fit(z, np.array([path.pieces for path in paths]))
        return cls(paths[0].flexion, smooth.middle, smooth)

    def at(self, z: FloatArray) -> ReferencePath:
        """Return the path of a design of scaled parameters z (P,) [1]."""
        return self if self.of_design is None else ReferencePath(self.flexion, self.of_design.at(z))

    @cached_property
    def packed(self) -> Struct:
        """The path for the library; over designs, its pieces are regressors."""
        if self.of_design is None:
            return packed_path(self.flexion, self.pieces)
        whole = self.of_design
        pieces = [
            SmoothArray(whole.exponents, whole.coefficients[:, :, k]).packed
            for k in range(self.pieces.shape[1])
        ]
        return packed_path(self.flexion, None, pieces)

    @classmethod
    def through(cls, flexion: ArrayLike, coordinates: ArrayLike) -> Self:
        """Return the cubic spline (not-a-knot) through poses (K, 5) at flexions (K,) [rad, m]."""
        # Natural through 2 or 3 poses; constant for one.
        knots = check_array("path flexion", flexion, (None,))
        values = check_array("path coordinates", coordinates, (len(knots), 5))
        if len(knots) == 0 or np.any(np.diff(knots) <= 0.0):
            raise InputError(f"path flexion: expected one or more increasing values, found {knots}")
        if len(knots) == 1:
            return cls.constant(float(knots[0]), values[0])
        from scipy.interpolate import CubicSpline  # not needed by a trained surrogate

        fitted = CubicSpline(knots, values, bc_type="not-a-knot" if len(knots) > 3 else "natural")
        return cls(fitted.x, fitted.c)

    @classmethod
    def constant(cls, flexion: float, coordinates: ArrayLike) -> Self:
        """Return the path of constant `coordinates` (5,) [rad, m]."""
        pieces = np.zeros((4, 1, 5))
        pieces[3, 0] = coordinates
        return cls(np.array([flexion, flexion + 1.0]), pieces)

    def poses(self, flexion: ArrayLike) -> FloatArray:
        """Return the poses of the path, (N, 6) [rad, m], at `flexion` (N,) [rad]."""
        angles = check_array("flexion", flexion, (None,))
        last = len(self.flexion) - 2
        piece = np.clip(np.searchsorted(self.flexion, angles, side="right") - 1, 0, last)
        t = (angles - self.flexion[piece])[:, None]
        c = self.pieces[:, piece]
        values = ((c[0] * t + c[1]) * t + c[2]) * t + c[3]
        return np.column_stack([angles, values])


@dataclass(frozen=True, eq=False)
class SampleSpace(ArrayRecord):
    """Box of the samples of a compartment: flexion, offsets from the path, axial load.

    Parameters
    ----------
    path : ReferencePath
        Origin of the offsets.
    flexion : (2,) float64
        Range [rad].
    offsets : (4,) float64
        Half widths in adduction, rotation [rad], anterior, lateral [m], > 0.
    load : (2,) float64
        Range of the axial load of a compartment [N], 0 < low < high.
    """

    path: ReferencePath
    flexion: FloatArray
    offsets: FloatArray
    load: FloatArray

    def __post_init__(self) -> None:
        flexion = check_array("flexion range", self.flexion, (2,))
        offsets = check_array("offset half widths", self.offsets, (4,), above=0.0)
        load = check_array("load range", self.load, (2,))
        if not flexion[0] < flexion[1]:
            raise InputError(f"flexion range: expected low < high, found {flexion} rad")
        if not 0.0 < load[0] < load[1]:
            raise InputError(f"load range: expected 0 < low < high, found {load} N")
        for name, array in (("flexion", flexion), ("offsets", offsets), ("load", load)):
            object.__setattr__(self, name, frozen(array))

    def at(self, z: FloatArray) -> Self:
        """Return the box of a design of scaled parameters z (P,) [1]."""
        return replace(self, path=self.path.at(z))

    @property
    def centre_and_half(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half width of each of the `VARIABLES`, (6,) each [rad, m, sqrt(N)].

        The root of the load runs from 0, which is first contact, to the root of the largest load.
        """
        top = np.sqrt(self.load[1])
        centre = np.array([self.flexion.mean(), 0.0, 0.0, 0.0, 0.0, 0.5 * top])
        half = np.concatenate([[0.5 * np.ptp(self.flexion)], self.offsets, [0.5 * top]])
        return centre, half

    def draw(self, unit: ArrayLike, spread: float = 2.0) -> tuple[FloatArray, FloatArray]:
        """Map a design in the unit cube to poses without height and axial loads.

        Parameters
        ----------
        unit : (N, 6) float64
            Points in [0, 1]^6, in the order of `VARIABLES` [1].
        spread : float
            Degree of the root of the load that is uniformly distributed [1]: 1 for the load, 2 for
            its square root, more for more samples at low loads.

        Returns
        -------
        poses : (N, 6) float64
            Pose coordinates [rad, m]; the height is that of the path, as the start of a search.
        load : (N,) float64
            Axial load of the compartment [N].
        """
        cube = check_array("unit", unit, (None, 6))
        if cube.size and (cube.min() < 0.0 or cube.max() > 1.0):
            raise InputError(
                f"unit: expected values in [0, 1], found {cube.min():g} to {cube.max():g}"
            )
        flexion = self.flexion[0] + np.ptp(self.flexion) * cube[:, 0]
        poses = self.path.poses(flexion)
        poses[:, OFFSET_COORDINATES] += self.offsets * (2.0 * cube[:, 1:5] - 1.0)
        degree = check_number("spread", spread, above=0.0)
        low, high = self.load ** (1.0 / degree)
        return poses, np.clip((low + (high - low) * cube[:, 5]) ** degree, *self.load)

    def scaled(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the variables scaled to [-1, 1] and the height over the path.

        Parameters
        ----------
        poses : (N, 6) float64
            Pose coordinates [rad, m].
        load : (N,) float64
            Axial load of the compartment [N], >= 0.

        Returns
        -------
        variables : (N, 6) float64
            In the order of `VARIABLES` [1]; outside [-1, 1] where the pose is outside the box.
        height : (N,) float64
            Superior coordinate above the path [m].
        """
        points = check_array("poses", poses, (None, 6))
        loads = check_array("load", load, (len(points),), at_least=0.0, unit="N")
        path = self.along_path(points[:, 0])
        centre, half = self.centre_and_half
        variables = np.empty_like(points)
        variables[:, 0] = points[:, 0]
        variables[:, 1:5] = (points - path)[:, OFFSET_COORDINATES]
        variables[:, 5] = np.sqrt(loads)
        return (variables - centre) / half, points[:, 4] - path[:, 4]

    def along_path(self, flexion: FloatArray) -> FloatArray:
        """Return the poses (N, 6) [rad, m] of the path at `flexion` (N,), up to `FOLLOWED`."""
        middle, half = self.flexion.mean(), FOLLOWED * 0.5 * np.ptp(self.flexion)
        return self.path.poses(np.clip(flexion, middle - half, middle + half))

    def held(self, poses: ArrayLike) -> FloatArray:
        """Return the nearest poses (N, 6) [rad, m] of the box, with their heights over the path."""
        points = check_array("poses", poses, (None, 6))
        offsets = points - self.along_path(points[:, 0])
        flexion = np.clip(points[:, 0], *self.flexion)
        nearest = self.path.poses(flexion)
        inside = np.clip(offsets[:, OFFSET_COORDINATES], -self.offsets, self.offsets)
        nearest[:, OFFSET_COORDINATES] += inside
        nearest[:, 4] += offsets[:, 4]
        # A pose of the box is returned bit for bit.
        free = (flexion == points[:, 0]) & (inside == offsets[:, OFFSET_COORDINATES]).all(axis=1)
        nearest[free] = points[free]
        return nearest

    def to_header(self) -> dict[str, Any]:
        """Return the space as plain numbers for a JSON header (SI units)."""
        return {
            "path_flexion_rad": self.path.flexion.tolist(),
            "path_pieces_rad_m": self.path.pieces.tolist(),
            "flexion_rad": self.flexion.tolist(),
            "offsets_rad_m": self.offsets.tolist(),
            "load_N": self.load.tolist(),
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Build from the header of `to_header`."""
        missing = {
            *("path_flexion_rad", "path_pieces_rad_m"),
            *("flexion_rad", "offsets_rad_m", "load_N"),
        } - set(header)
        if missing:
            raise InputError(f"sample space: missing {sorted(missing)}")
        path = ReferencePath(header["path_flexion_rad"], header["path_pieces_rad_m"])
        return cls(path, header["flexion_rad"], header["offsets_rad_m"], header["load_N"])
