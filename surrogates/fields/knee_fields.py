"""Pressure fields of a knee at poses, on the triangles of the tibial mesh of the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import (
    FloatArray,
    IntArray,
    check_array,
    check_fields,
    check_number,
    frozen,
)
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, check_names
from foundation.base.pose import rotation_matrix
from foundation.core.library import BLOCK, CONSTANTS, CORE, GROUP, Struct, address
from surrogates.core.regressor_data import StoredArrays
from surrogates.families.regressor import part_of, under
from surrogates.fields.condyle_surface import CondyleSurface, Outline, outline_of


@dataclass(frozen=True, eq=False)
class Skin:
    """Indentations of a bed (P, 7) [m, 1, m²], neighbours side by side, by a condyle."""

    bed: FloatArray
    surface: CondyleSurface

    def __post_init__(self) -> None:
        check_fields(self, bed=(None, 7))

    @cached_property
    def groups(self) -> tuple[FloatArray, FloatArray]:
        """Balls (G, 8) around groups and blocks of places, as of the library's `skin` [m, 1]."""
        return self._balls(GROUP), self._balls(BLOCK)

    def _balls(self, count: int) -> FloatArray:
        balls = []
        for start in range(0, len(self.bed), count):
            places = self.bed[start : start + count]
            centre, normal = places[:, :3].mean(axis=0), places[:, 3:6].mean(axis=0)
            normal /= np.linalg.norm(normal)
            arms = places[:, :3] - centre
            radius, flatness = np.linalg.norm(arms, axis=1).max(), np.abs(arms @ normal).max()
            balls.append([*centre, radius, *normal, flatness])
        return np.array(balls).reshape(-1, 8)

    @cached_property
    def outline(self) -> Outline:
        """The coarse outline of the condyle, for groups and blocks of the bed."""
        condyle = self.surface
        group, block = (float(balls[:, 3].max(initial=0.0)) for balls in self.groups)
        return outline_of(condyle.frame, condyle.coefficients, condyle.known, (group, block))

    @cached_property
    def packed(self) -> Struct:
        """The field as a struct of the library."""
        groups, blocks = self.groups
        return Struct("skin", {
            "condyle": _packed_surface(self.surface), "outline": _packed_surface(self.outline),
            "limits": self.outline.limits, "places": len(self.bed), "bed": self.bed,
            "groups": groups, "blocks": blocks,
        })  # fmt: skip

    def indentations(
        self, rotation: FloatArray, translation: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return indentations (P,) [m], 0 or less out of contact, and the largest anywhere."""
        depth = np.empty(len(self.bed))
        turned, moved = np.ascontiguousarray(rotation), np.ascontiguousarray(translation)
        largest = CORE.skin_indentations(
            self.packed.address, address(turned), address(moved), address(depth)
        )
        return depth, largest


def _packed_surface(own: CondyleSurface | Outline) -> Struct:
    rows, columns = own.known.shape
    return Struct("surface", {
        "frame": np.append(own.frame, 1.0 / own.frame[8]), "rows": rows, "columns": columns,
        "spline": own.coefficients, "known": own.known,
    })  # fmt: skip


def parts_of(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rotation (3, 3) and translation (3,) [m] of a pose (6,) [rad, m]."""
    return rotation_matrix(*pose[:3]), np.ascontiguousarray(pose[3:])


MEASURES, TERMS = (int(CONSTANTS[name]) for name in ("MEASURES", "PATCH_TERMS"))


@dataclass(frozen=True, eq=False)
class LayerResponse(StoredArrays):
    """Pressure p ~ max(s(a, b), 0)^m over coordinates of the patch, of 15 terms, (15,) [SI]."""

    # The terms of the polynomial s, and the load, are functions of measures of the overlap, with
    # Matern 5/2 correlations; see `layer_pressures` of the library.

    #: m [1].
    exponent: float
    #: Middle and half range of the measures (2, 15).
    scaling: FloatArray
    #: Scaled measures of the samples over the lengths (15, N) [1].
    points: FloatArray
    #: Correlation lengths over √5 (15,) [1].
    lengths: FloatArray
    #: Weights of trend and correlations (16 + N, 16) [1].
    weights: FloatArray

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0.0)
        count = np.shape(self.points)[-1]
        check_fields(
            self, scaling=(2, MEASURES), points=(MEASURES, count), lengths=(MEASURES,),
            weights=(1 + MEASURES + count, TERMS),
        )  # fmt: skip
        check_array("scaling", self.scaling[1], (MEASURES,), above=0.0)
        check_array("lengths", self.lengths, (MEASURES,), above=0.0)

    def pressures(self, depth: FloatArray, bed: FloatArray) -> FloatArray:
        """Return the pressures (P,) [Pa] of overlaps (P,) [m] and of the `bed` (P, 7) of a skin."""
        pressure = np.empty(len(depth))
        CORE.layer_pressures(
            self.packed.address, len(depth), address(depth), address(bed), address(pressure)
        )
        return pressure

    @cached_property
    def packed(self) -> Struct:
        """The field as a struct of the library."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return Struct("layer", named | {"samples": self.points.shape[1]})


#: Kinds of laws: p = c x^m, and p = -c ln(1 - x/h).
POWER, LOGARITHMIC = 0, 1
#: Largest RMS error of the law, over the RMS pressure, with which a bed counts as springs.
LARGEST_ERROR = 0.01
#: Shares of the largest indentation that are tried, and rounds that refine them.
_SHARES, _ROUNDS = np.linspace(0.0, 0.9, 19), 3
#: Smallest pressure that tells the law, over the largest of all.
_LEAST = 0.02
#: Moduli of the logarithmic law that are tried, over the largest pressure.
_MODULI = np.geomspace(0.3, 300.0, 61)


@dataclass(frozen=True, eq=False)
class SpringResponse(StoredArrays):
    """Pressure of independent springs: c x^m, or -c ln(1 - x/h), with x = d - share d0."""

    # d is the indentation of the spring and d0 the largest of the compartment.

    #: Kind (`POWER`, `LOGARITHMIC`), exponent m and share (3,) [1].
    constants: FloatArray
    #: c [Pa/m^m, or Pa] and h [m] of each triangle of the compartment's bed (T, 2).
    law: FloatArray

    def __post_init__(self) -> None:
        check_array("law", self.law, (None, 2), above=0.0)
        check_fields(self, constants=(3,), law=(None, 2))
        kind, exponent, share = self.constants.tolist()
        if kind not in (POWER, LOGARITHMIC):
            raise InputError(f"constants: expected kind {POWER} or {LOGARITHMIC}, found {kind:g}")
        check_number("exponent", exponent, above=0.0)
        check_number("share", share, at_least=0.0, below=1.0)

    def pressures(self, depth: FloatArray, largest: float) -> FloatArray:
        """Return the pressures (T,) [Pa] of indentations (T,) [m], with the largest one [m]."""
        pressures = np.empty(len(depth))
        CORE.spring_pressures(
            len(depth), address(depth), largest, address(self.constants), address(self.law),
            address(pressures),
        )  # fmt: skip
        return pressures

    @classmethod
    def fit(
        cls, place: IntArray, depth: FloatArray, largest: FloatArray, pressure: FloatArray
    ) -> tuple[Self | None, IntArray]:
        """Return the law of springs in contact (K,) [m, Pa], and triangles (T,) that it knows."""
        # None instead of the law: pressure is no function of indentations, the layer no bed of
        # springs.
        known, number = np.unique(place, return_inverse=True)
        pressed = pressure > _LEAST * pressure.max(initial=0.0)
        springs, d, p, count = number[pressed], depth[pressed], pressure[pressed], len(known)
        moduli = _MODULI * p.max(initial=1e-300)
        error, constants, law = min(
            _best(lambda share: _power_law(share, springs, d, largest[pressed], p, count), _SHARES),
            _best(lambda modulus: _logarithmic_law(modulus, springs, d, p, count), moduli),
            key=lambda fitted: fitted[0],
        )
        if not error <= LARGEST_ERROR:
            return None, known
        determined = np.isfinite(law).all(axis=1) & (law > 0.0).all(axis=1)
        return cls(constants, law[determined]), known[determined]


_Found = tuple[float, FloatArray, FloatArray]


def _best(law: Callable[[float], _Found], grid: FloatArray) -> _Found:
    """Return the law with the least error over a grid (G,) [any unit], refined about the least."""
    for _ in range(_ROUNDS):
        laws = [law(value) for value in grid.tolist()]
        k = int(np.argmin([error for error, _, _ in laws]))
        grid = np.linspace(grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)], 21)
    return laws[k]


def _power_law(
    share: float,
    place: IntArray,
    depth: FloatArray,
    largest: FloatArray,
    pressure: FloatArray,
    count: int,
) -> _Found:
    """Return relative RMS error, constants and law (T, 2) of c (d - share d0)^m."""
    bearing = depth - share * largest
    if bearing.min(initial=np.inf) <= 0.0:
        return np.inf, np.zeros(3), np.empty((0, 2))
    x, y = np.log(bearing), np.log(pressure)
    means = [_means(place, values, count) for values in (x, y)]
    across, up = x - means[0][place], y - means[1][place]
    exponent = float(across @ up / max(float(across @ across), 1e-300))
    # A linear law is the common case, and exact.
    exponent = 1.0 if abs(exponent - 1.0) < 1e-4 else exponent
    coefficient = np.exp(means[1] - exponent * means[0])
    fitted = coefficient[place] * bearing**exponent
    law = np.column_stack([coefficient, np.ones(count)])
    return _error(fitted, pressure), np.array([float(POWER), max(exponent, 1e-6), share]), law


def _logarithmic_law(
    modulus: float, place: IntArray, depth: FloatArray, pressure: FloatArray, count: int
) -> _Found:
    """Return relative RMS error, constants and law (T, 2) of -c ln(1 - d/h)."""
    thickness = _means(place, depth / -np.expm1(-pressure / modulus), count)
    strain = np.minimum(depth / thickness[place], 0.99)
    law = np.column_stack([np.full(count, max(modulus, 1e-300)), thickness])
    error = _error(-modulus * np.log1p(-strain), pressure)
    return error, np.array([float(LOGARITHMIC), 1.0, 0.0]), law


def _means(place: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the means (count,) of values (K,) by their place; NaN without values."""
    with np.errstate(invalid="ignore"):
        return np.bincount(place, values, count) / np.bincount(place, minlength=count)


def _error(fitted: FloatArray, truth: FloatArray) -> float:
    """Return the RMS error over the RMS of the truth; infinite if a value is not finite."""
    error = float(np.sqrt(((fitted - truth) ** 2).mean() / (truth**2).mean()))
    return error if np.isfinite(error) else np.inf


#: Version of the arrays of the fields in a file.
VERSION = 2
_ARRAYS = ("triangles", "bed", "corners", "shares")


class PressureField:
    """Pressure of tibial triangles, (F,) or (N, F) [Pa]; `reasons` returns the flags."""

    def __init__(
        self, pressure: FloatArray, reasons: Callable[[], tuple[Any, ...]] = tuple
    ) -> None:
        self.pressure, self._reasons = pressure, reasons

    @cached_property
    def flags(self) -> tuple[Any, ...]:
        """Flags as of `foundation.base.loads.ContactLoads`, found on first access."""
        return self._reasons()


@dataclass(frozen=True, eq=False, repr=False)
class CompartmentField:
    """Pressure field of one compartment, over the P places of the bed that may bear pressure."""

    #: Triangles of the tibial mesh that may bear pressure (T,).
    triangles: IntArray
    #: Position (3,) [m], unit normal (3,) and projected area [m²] in the tibial frame (P, 7).
    bed: FloatArray
    surface: CondyleSurface
    #: Pressure of the overlap.
    response: SpringResponse | LayerResponse
    #: Places a triangle interpolates from (T, 3); (0, 3) if they are those of triangles.
    corners: IntArray
    #: Weights of the corners (T, 3) [1]; none (0, 3) as well.
    shares: FloatArray

    def __post_init__(self) -> None:
        triangles, places = _whole_numbers("triangles", self.triangles, 1), np.shape(self.bed)[0]
        corners = _whole_numbers("corners", self.corners, 2)
        if len(np.unique(triangles)) != triangles.size:
            raise InputError(f"triangles: expected distinct numbers, found {triangles}")
        number = len(triangles)
        count = number if len(corners) else 0
        if corners.shape != (count, 3) or not 0 <= corners.min(initial=0) <= corners.max(
            initial=0
        ) < max(places, 1):
            raise InputError(f"corners: expected ({count}, 3) of {places} places, found {corners}")
        if not count and number != places:
            raise InputError(f"bed: expected a place per triangle ({number}), found {places}")
        object.__setattr__(self, "triangles", triangles)
        object.__setattr__(self, "corners", corners)
        check_fields(self, bed=(places, 7), shares=(count, 3))
        if not isinstance(self.response, SpringResponse):
            return
        if (rows := len(self.response.law)) != number:
            raise InputError(f"law: expected one row per triangle ({number}), found {rows}")
        if count:
            raise InputError("corners: expected no corners for springs")

    @cached_property
    def skin(self) -> Skin:
        """The bed and the condyle."""
        return Skin(self.bed, self.surface)

    def add_pressures(
        self, rotation: FloatArray, translation: FloatArray, found: FloatArray
    ) -> None:
        """Add pressures to those of all triangles (F,) [Pa], of a femur rotated (3, 3), moved."""
        depth, largest = self.skin.indentations(rotation, translation)
        if isinstance(self.response, SpringResponse):
            pressure = self.response.pressures(depth, largest)
        else:
            pressure = self.response.pressures(depth, self.bed)
        if len(self.corners):
            pressure = np.maximum((self.shares * pressure[self.corners]).sum(axis=1), 0.0)
        found[self.triangles] += pressure

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as bed (P, 7) [SI]; the inverse of `from_arrays`."""
        named = {name: np.array(getattr(self, name)) for name in _ARRAYS}
        kind = "springs" if isinstance(self.response, SpringResponse) else "layer"
        named |= under("surface", self.surface.to_arrays())
        return named | under(kind, self.response.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as bed (P, 7) [SI], or raise InputError."""
        missing = [name for name in _ARRAYS if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a pressure field")
        law = part_of(arrays, "springs")
        response: SpringResponse | LayerResponse
        if law:
            response = SpringResponse.from_arrays(law)
        else:
            response = LayerResponse.from_arrays(part_of(arrays, "layer"))
        surface = CondyleSurface.from_arrays(part_of(arrays, "surface"))
        triangles, bed, corners, shares = (np.asarray(arrays[name]) for name in _ARRAYS)
        return cls(triangles, bed, surface, response, corners, shares)


class PairFields:
    """Pressure fields of all compartments of a contact pair, over the `faces` of the mesh."""

    def __init__(self, faces: int, by_name: Mapping[str, CompartmentField]) -> None:
        check_names(tuple(by_name))
        self.faces, self.by_name = faces, dict(by_name)
        check_number("faces", self.faces, at_least=1)
        for name, field in self.by_name.items():
            first, last = field.triangles.min(initial=0), field.triangles.max(initial=0)
            if not 0 <= first <= last < self.faces:
                raise InputError(
                    f"{name}: expected triangles 0 to {self.faces - 1}, found {first} to {last}"
                )

    def pressure(self, poses: FloatArray) -> FloatArray:
        """Return the pressures (F,) [Pa] at poses (C, 6) or (1, 6) [rad, m], held in the boxes."""
        pressures = np.zeros(self.faces)
        places = [parts_of(pose) for pose in poses]
        for c, field in enumerate(self.by_name.values()):
            field.add_pressures(*places[c if len(poses) > 1 else 0], pressures)
        return pressures

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays, such as medial/bed (T, 7) [SI]; inverse of `from_arrays`."""
        named: dict[str, NDArray[Any]] = {
            "version": np.array(VERSION), "faces": np.array(self.faces),
        }  # fmt: skip
        for name, field in self.by_name.items():
            named |= under(name, field.to_arrays())
        return named

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], names: Sequence[str] = COMPARTMENTS
    ) -> PairFields:
        """Build from the arrays of `to_arrays`, such as medial/bed (T, 7) [SI], checked."""
        missing = [name for name in ("version", "faces") if name not in arrays]
        if missing:
            raise InputError(f"fields: missing {missing}")
        version, faces = (_whole(name, arrays[name]) for name in ("version", "faces"))
        if version != VERSION:
            raise InputError(
                f"fields: expected version {VERSION}, found {version}; train the surrogate again "
                "or update this package"
            )
        fields = {name: CompartmentField.from_arrays(part_of(arrays, name)) for name in names}
        return cls(faces, fields)


def _whole(name: str, value: NDArray[Any]) -> int:
    if value.shape != () or value.dtype.kind not in "iu":
        raise InputError(f"{name}: expected a whole number, found {value!r}")
    return int(value)


def _whole_numbers(name: str, values: Any, axes: int) -> IntArray:
    array = np.asarray(values)
    if array.ndim != axes or array.dtype.kind not in "iu":
        raise InputError(f"{name}: expected whole numbers along {axes} axes, found {array}")
    return frozen(np.array(array, dtype=np.int64))
