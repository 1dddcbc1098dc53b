"""Pressure fields of a knee at poses, on the triangles of the tibial mesh of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray, IntArray, check_fields, check_number, frozen
from foundation.errors import InputError
from foundation.loads import AXIAL_FORCE, COMPARTMENTS
from foundation.pose import rotation_matrix
from surrogates.compiled import evaluate_value, new_work
from surrogates.compiled import pressure as compiled
from surrogates.compiled.pressure import BLOCK, GROUP
from surrogates.families.regressor import part_of, under
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.layer_response import LayerResponse
from surrogates.fields.spring_response import SpringResponse

#: Version of the arrays of the fields in a file.
VERSION = 1


class PressureField(NamedTuple):
    """Pressure on the tibial mesh at a pose.

    `pressure` (F,) [Pa] of the triangles, and `flags` as of `foundation.loads.ContactLoads`.
    """

    pressure: FloatArray
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class CompartmentField:
    """Pressure field of one compartment.

    Parameters
    ----------
    triangles : (T,) int64
        Triangles of the tibial mesh that may bear pressure.
    bed : (T, 7) float64
        Middle (3,) [m], unit normal (3,) and projected area [m²] of these triangles, tibial frame.
    surface : CondyleSurface
        The condyle.
    response : SpringResponse or LayerResponse
        Pressure of the overlap.

    Raises
    ------
    InputError
        If an array is malformed.
    """

    triangles: IntArray
    bed: FloatArray
    surface: CondyleSurface
    response: SpringResponse | LayerResponse

    def __post_init__(self) -> None:
        found = np.asarray(self.triangles)
        if found.ndim != 1 or found.dtype.kind not in "iu" or len(np.unique(found)) != found.size:
            raise InputError(f"triangles: expected different whole numbers, found {found}")
        object.__setattr__(self, "triangles", frozen(np.array(found, dtype=np.int64)))
        check_fields(self, bed=(len(found), 7))
        if isinstance(self.response, SpringResponse) and len(self.response.law) != len(found):
            raise InputError(
                f"law: expected one row per triangle ({len(found)}), found {len(self.response.law)}"
            )

    @cached_property
    def groups(self) -> tuple[FloatArray, FloatArray]:
        """Balls (G, 5) around groups and blocks of triangles: centre, bend and size [m]."""
        return self._balls(GROUP), self._balls(GROUP * BLOCK)

    def _balls(self, count: int) -> FloatArray:
        points = [self.bed[k : k + count, :3] for k in range(0, len(self.bed), count)]
        centres = np.array([own.mean(axis=0) for own in points]).reshape(-1, 3)
        sizes = np.array(
            [
                np.linalg.norm(own - centre, axis=1).max()
                for own, centre in zip(points, centres, strict=True)
            ]
        )
        return np.column_stack([centres, self.surface.bend * sizes**2, sizes])

    def indentations(self, pose: FloatArray) -> tuple[FloatArray, float]:
        """Return indentations (T,) [m], 0 or less out of contact, at a pose (6,), and the largest.

        The pose [rad, m] is used as it is, inside the box or not.
        """
        depth = np.empty(len(self.triangles))
        largest = compiled.indentations(
            rotation_matrix(*pose[:3]), np.ascontiguousarray(pose[3:]), self.surface.frame,
            self.surface.coefficients, self.surface.known, self.bed, *self.groups, depth,
        )  # fmt: skip
        return depth, float(largest)

    def pressures(self, pose: FloatArray, variables: FloatArray, force: float) -> FloatArray:
        """Return the pressures (T,) [Pa] at a pose of the box.

        Parameters
        ----------
        pose : (6,) float64
            Pose [rad, m].
        variables : (6,) float64
            Scaled variables of the box [1].
        force : float
            Axial load [N]; only a layer depends on `variables` and `force`.
        """
        depth, largest = self.indentations(pose)
        pressure = np.zeros(len(depth))
        if isinstance(self.response, SpringResponse):
            law = self.response
            compiled.bed_pressures(depth, largest, law.constants, law.law, pressure)
        elif largest > 0.0 and force > 0.0:
            frame = np.empty(5)
            if compiled.patch_frame(depth, self.bed, frame):
                terms = _terms(self.response, variables)
                m = self.response.exponent
                compiled.layer_pressures(depth, largest, m, terms, frame, self.bed, force, pressure)
        return pressure

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as bed (T, 7) [SI]; the inverse of `from_arrays`."""
        named: dict[str, NDArray[Any]] = {
            "triangles": np.array(self.triangles), "bed": np.array(self.bed),
        }  # fmt: skip
        kind = "springs" if isinstance(self.response, SpringResponse) else "layer"
        named |= under("surface", self.surface.to_arrays())
        return named | under(kind, self.response.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as bed (T, 7) [SI], or raise InputError."""
        missing = [name for name in ("triangles", "bed") if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a pressure field")
        springs = part_of(arrays, "springs")
        response: SpringResponse | LayerResponse
        if springs:
            response = SpringResponse.from_arrays(springs)
        else:
            response = LayerResponse.from_arrays(part_of(arrays, "layer"))
        surface = CondyleSurface.from_arrays(part_of(arrays, "surface"))
        return cls(arrays["triangles"], np.asarray(arrays["bed"]), surface, response)


@dataclass(frozen=True, eq=False, repr=False)
class KneeFields:
    """Pressure fields of both compartments.

    Parameters
    ----------
    faces : int
        F, the number of triangles of the tibial mesh.
    medial, lateral : CompartmentField
        Field of each compartment.

    Raises
    ------
    InputError
        If a triangle is not one of the mesh.
    """

    faces: int
    medial: CompartmentField
    lateral: CompartmentField

    def __post_init__(self) -> None:
        check_number("faces", self.faces, at_least=1)
        for name in COMPARTMENTS:
            own = self.compartment(name).triangles
            if len(own) and not 0 <= own.min() <= own.max() < self.faces:
                raise InputError(
                    f"triangles: expected 0 to {self.faces - 1}, found {own.min()} to {own.max()}"
                )

    def compartment(self, name: str) -> CompartmentField:
        """Return the field of one compartment, "medial" or "lateral"."""
        field: CompartmentField = getattr(self, name)
        return field

    def pressure(self, poses: FloatArray, variables: FloatArray, loads: FloatArray) -> FloatArray:
        """Return the pressure of each triangle of the tibial mesh (F,) [Pa].

        Parameters
        ----------
        poses : (2, 6) float64
            Pose [rad, m], held in the box of each compartment.
        variables : (2, 7) float64
            Scaled variables of the boxes [1].
        loads : (2, 12) float64
            Loads of both compartments [SI].
        """
        found = np.zeros(self.faces)
        for side, name in enumerate(COMPARTMENTS):
            field = self.compartment(name)
            force = float(loads[side, AXIAL_FORCE])
            found[field.triangles] += field.pressures(poses[side], variables[side, :6], force)
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays, such as medial/bed (T, 7) [SI]; inverse of `from_arrays`."""
        named: dict[str, NDArray[Any]] = {
            "version": np.array(VERSION), "faces": np.array(self.faces),
        }  # fmt: skip
        for name in COMPARTMENTS:
            named |= under(name, self.compartment(name).to_arrays())
        return named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as medial/bed (T, 7) [SI].

        Raises
        ------
        InputError
            If an array is missing or malformed, or the fields are of a later version.
        """
        missing = [name for name in ("version", "faces") if name not in arrays]
        if missing:
            raise InputError(f"fields: missing {missing}")
        version, faces = (_whole(name, arrays[name]) for name in ("version", "faces"))
        if version != VERSION:
            raise InputError(
                f"fields: expected version {VERSION}, found {version}; train the surrogate again "
                "or update this package"
            )
        medial, lateral = (
            CompartmentField.from_arrays(part_of(arrays, name)) for name in COMPARTMENTS
        )
        return cls(faces, medial, lateral)


def _whole(name: str, value: NDArray[Any]) -> int:
    if value.shape != () or value.dtype.kind not in "iu":
        raise InputError(f"{name}: expected a whole number, found {value!r}")
    return int(value)


def _terms(response: LayerResponse, variables: FloatArray) -> FloatArray:
    """Return the terms (11,) of a layer at scaled variables (6,), held in the box."""
    regressor = response.regressor
    terms = np.empty(regressor.outputs)
    inputs = np.clip(variables, -1.0, 1.0)
    evaluate_value(inputs, regressor.arguments, terms, new_work(regressor.workspace_size))
    return terms
