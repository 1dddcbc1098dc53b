"""Pressure fields of a knee at poses, on the triangles of the tibial mesh of the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import (
    FloatArray,
    IntArray,
    check_fields,
    check_in,
    check_number,
    frozen,
)
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, check_names
from surrogates.families.regressor import part_of, under
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.layer_response import LayerResponse
from surrogates.fields.skin import Skin, parts_of
from surrogates.fields.spring_response import SpringResponse

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
        found, places = _whole_numbers("triangles", self.triangles, 1), np.shape(self.bed)[0]
        corners = _whole_numbers("corners", self.corners, 2)
        if len(np.unique(found)) != found.size:
            raise InputError(f"triangles: expected distinct numbers, found {found}")
        count = len(found) if len(corners) else 0
        if corners.shape != (count, 3) or not 0 <= corners.min(initial=0) <= corners.max(
            initial=0
        ) < max(places, 1):
            raise InputError(f"corners: expected ({count}, 3) of {places} places, found {corners}")
        if not count and len(found) != places:
            raise InputError(f"bed: expected a place per triangle ({len(found)}), found {places}")
        object.__setattr__(self, "triangles", found)
        object.__setattr__(self, "corners", corners)
        check_fields(self, bed=(places, 7), shares=(count, 3))
        if not isinstance(self.response, SpringResponse):
            return
        if len(self.response.law) != len(found):
            raise InputError(
                f"law: expected one row per triangle ({len(found)}), found {len(self.response.law)}"
            )
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
        for field in self.by_name.values():
            own = field.triangles
            if len(own) and not 0 <= own.min() <= own.max() < self.faces:
                raise InputError(
                    f"triangles: expected 0 to {self.faces - 1}, found {own.min()} to {own.max()}"
                )

    def compartment(self, name: str) -> CompartmentField:
        """Return the field of one compartment; raise `InputError` for another name."""
        return self.by_name[check_in("name", name, tuple(self.by_name))]

    def pressure(self, poses: FloatArray) -> FloatArray:
        """Return the pressures (F,) [Pa] at poses (C, 6) or (1, 6) [rad, m], held in the boxes."""
        found = np.zeros(self.faces)
        places = [parts_of(pose) for pose in poses]
        for c, field in enumerate(self.by_name.values()):
            field.add_pressures(*places[c if len(poses) > 1 else 0], found)
        return found

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
        return fields_of(faces, fields)


class KneeFields(PairFields):
    """Pressure fields of both compartments of a knee, over the `faces` of the tibial mesh."""

    def __init__(self, faces: int, medial: CompartmentField, lateral: CompartmentField) -> None:
        super().__init__(faces, {"medial": medial, "lateral": lateral})
        self.medial, self.lateral = medial, lateral


def fields_of(faces: int, by_name: Mapping[str, CompartmentField]) -> PairFields:
    """Return the fields of compartments by name: those of a knee if they are medial and lateral."""
    if tuple(by_name) == COMPARTMENTS:
        return KneeFields(faces, *by_name.values())
    return PairFields(faces, by_name)


def _whole(name: str, value: NDArray[Any]) -> int:
    if value.shape != () or value.dtype.kind not in "iu":
        raise InputError(f"{name}: expected a whole number, found {value!r}")
    return int(value)


def _whole_numbers(name: str, values: Any, axes: int) -> IntArray:
    found = np.asarray(values)
    if found.ndim != axes or found.dtype.kind not in "iu":
        raise InputError(f"{name}: expected whole numbers along {axes} axes, found {found}")
    return frozen(np.array(found, dtype=np.int64))
