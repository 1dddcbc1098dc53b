"""The surrogate of one compartment over pose and design.

Its regressors have the five coordinates of the condyle, the P scaled parameters of the design and
the last input (root of the load or height) as inputs, in this order. The reference path of the box
and the coordinates of the condyle are polynomials of the parameters. At a design, everything
becomes a `CompartmentSurrogate`, without approximation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_fields, check_in, check_number
from foundation.base.errors import InputError
from foundation.core.library import Struct
from surrogates.core.packing import PackedCompartment, PackedContact, PackedRegressor, packed_path
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.fixed_inputs import FixedInputs
from surrogates.families.regressor import (
    Regressor,
    arrays_of,
    linear_in,
    no_outputs,
    part_of,
    regressors_of,
    under,
)
from surrogates.formulations.compartment import (
    OUTPUTS,
    PARTS,
    CompartmentSurrogate,
    check_smoothing,
    checked_depth,
    fields_of,
)
from surrogates.formulations.domain import Domain
from surrogates.formulations.lessons import FORMULATIONS
from surrogates.parametric.smooth_array import SmoothArray
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Number of the first parameter among the inputs of a regressor.
FIRST = 5


@dataclass(frozen=True, eq=False)
class ParametricPath(ArrayRecord):
    """A path over flexion whose cubics are polynomials of the parameters.

    The knots are (K,) [rad], and the coefficients of a `ReferencePath` (4, K - 1, 5) [rad, m].
    """

    flexion: FloatArray
    pieces: SmoothArray

    def __post_init__(self) -> None:
        check_fields(self, "path ", flexion=(None,))
        shape = (4, len(self.flexion) - 1, 5)
        if self.pieces.coefficients.shape[1:] != shape:
            raise InputError(
                f"path pieces: expected arrays of shape {shape}, found "
                f"{self.pieces.coefficients.shape[1:]}"
            )

    @classmethod
    def fit(cls, z: FloatArray, paths: list[ReferencePath]) -> Self:
        """Return the path that comes closest to those of designs z (N, P) [1], of equal knots."""
        pieces = np.array([path.pieces for path in paths])
        return cls(np.array(paths[0].flexion), SmoothArray.fit(z, pieces))

    def at(self, z: FloatArray) -> ReferencePath:
        """Return the path of a design of scaled parameters z (P,) [1]."""
        return ReferencePath(self.flexion, self.pieces.at(z))

    @cached_property
    def packed(self) -> Struct:
        """The path for the library, its pieces as regressors over the parameters."""
        own = self.pieces.coefficients  # (T, 4, K - 1, 5)
        pieces = [
            _packed_polynomial(self.pieces.exponents, own[:, :, k].reshape(len(own), -1).T)
            for k in range(own.shape[2])
        ]
        return packed_path(self.flexion, None, pieces)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as flexion (K,) [rad]."""
        return {"flexion": self.flexion, **under("pieces", self.pieces.to_arrays())}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as flexion (K,) [rad]; or `InputError`."""
        if "flexion" not in arrays:
            raise InputError("arrays: missing 'flexion' of a path")
        return cls(arrays["flexion"], SmoothArray.from_arrays(part_of(arrays, "pieces")))


@dataclass(frozen=True, eq=False)
class ParametricSpace(ArrayRecord):
    """Box of the samples of a compartment at every design, about the path of the design.

    Flexion (2,), offsets (4,) and load (2,) are those of `SampleSpace` [rad, m, N].
    """

    path: ParametricPath
    flexion: FloatArray
    offsets: FloatArray
    load: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, flexion=(2,), offsets=(4,), load=(2,))

    def at(self, z: FloatArray) -> SampleSpace:
        """Return the box of a design of scaled parameters z (P,) [1]."""
        return SampleSpace(self.path.at(z), self.flexion, self.offsets, self.load)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as flexion (2,) [rad]."""
        ranges = {"flexion": self.flexion, "offsets": self.offsets, "load": self.load}
        return {**ranges, **under("path", self.path.to_arrays())}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as flexion (2,) [rad]; or `InputError`."""
        missing = {"flexion", "offsets", "load"} - set(arrays)
        if missing:
            raise InputError(f"arrays: missing {sorted(missing)} of a sample space")
        path = ParametricPath.from_arrays(part_of(arrays, "path"))
        return cls(path, arrays["flexion"], arrays["offsets"], arrays["load"])


@dataclass(frozen=True, eq=False)
class ParametricCoordinates(ArrayRecord):
    """Coordinates (5,) [rad, m] of a condyle at every design: those of `CondyleCoordinates`."""

    #: Point of the condyle in the femoral frame (3,) [m].
    centre: SmoothArray
    path: ParametricPath
    #: Scaling of the variables (5,) [rad, m].
    middle: FloatArray
    half: FloatArray
    #: Whether moments and centres of pressure are learnt about the point.
    about_point: bool = True

    def __post_init__(self) -> None:
        check_fields(self, middle=(5,), half=(5,))
        if self.centre.coefficients.shape[1:] != (3,):
            raise InputError(
                f"centre: expected points (3,), found {self.centre.coefficients.shape[1:]}"
            )

    def at(self, z: FloatArray) -> CondyleCoordinates:
        """Return the coordinates of a design of scaled parameters z (P,) [1]."""
        centre, path = self.centre.at(z), self.path.at(z)
        return CondyleCoordinates(centre, path, self.middle, self.half, self.about_point)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as middle (5,) [rad, m]."""
        return {
            **{"middle": self.middle, "half": self.half},
            "about_point": np.array(int(self.about_point)),
            **under("centre", self.centre.to_arrays()),
            **under("path", self.path.to_arrays()),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as middle (5,) [rad, m]; or `InputError`."""
        missing = {"middle", "half", "about_point"} - set(arrays)
        if missing:
            raise InputError(f"arrays: missing {sorted(missing)} of a condyle's coordinates")
        return cls(
            SmoothArray.from_arrays(part_of(arrays, "centre")),
            ParametricPath.from_arrays(part_of(arrays, "path")),
            arrays["middle"],
            arrays["half"],
            bool(arrays["about_point"]),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ParametricDomain(ArrayRecord):
    """Trained part of the box over all designs: a `Domain` of 6 + P inputs.

    The fields, such as limits (3,) [1, 1, Pa], are those of
    `surrogates.formulations.domain.Domain`; the P scaled parameters stand before the last input of
    both regressors.
    """

    limits: FloatArray
    regressor: Regressor
    inflation: FloatArray
    errors: Regressor
    lifted: float

    @classmethod
    def of(cls, domain: Domain) -> Self:
        """Return the domain over all designs of a domain that was fitted with parameters."""
        fields = domain.regressor, domain.inflation, domain.errors, domain.lifted
        return cls(domain.limits, *fields)

    def at(self, z: FloatArray) -> Domain:
        """Return the domain of a design of scaled parameters z (P,) [1]."""
        regressor, errors = (at(each, z) for each in self._fixable)
        return Domain(self.limits, regressor, self.inflation, errors, self.lifted)

    @cached_property
    def _fixable(self) -> tuple[FixedInputs | None, ...]:
        return tuple(map(fixable, (self.regressor, self.errors)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the domain as arrays, such as limits (3,) [1, 1, Pa]."""
        named = {"limits": self.limits, "inflation": self.inflation}
        lifted = {"lifted": np.array([self.lifted])}
        parts = arrays_of(("regressor", "errors"), (self.regressor, self.errors))
        return {**named, **lifted, **parts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Build from the arrays of `to_arrays`, such as limits (3,) [1, 1, Pa]; or `InputError`."""
        missing = {"limits", "inflation", "lifted"} - set(arrays)
        if missing:
            raise InputError(f"arrays: missing {sorted(missing)} of a domain")
        regressor, errors = regressors_of(arrays, {"regressor": inputs, "errors": inputs})
        lifted = float(check_array("lifted", arrays["lifted"], (1,))[0])
        return cls(arrays["limits"], regressor, arrays["inflation"], errors, lifted)


@dataclass(frozen=True, eq=False, repr=False)
class ParametricCompartment(ArrayRecord):
    """Surrogate of one compartment over pose and design, of one of `FORMULATIONS`.

    Middle and half range `depth` (2,) [m] of the height matter where the height is an input. Raises
    `InputError` if a constant is out of range or the regressors do not suit the formulation.
    """

    formulation: str
    #: Box of the samples at every design.
    space: ParametricSpace
    #: Inputs of the regressors beside the parameters.
    coordinates: ParametricCoordinates
    #: F_max [N].
    largest: float
    #: p [1].
    degree: float
    depth: FloatArray
    #: Three of 6 + P inputs that share the outputs; a part may have no outputs.
    regressors: tuple[Regressor, Regressor, Regressor]
    #: Trained part of the space.
    domain: ParametricDomain
    #: As of `CompartmentSurrogate` [1].
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        check_in("formulation", self.formulation, FORMULATIONS)
        check_number("largest", self.largest, above=0.0)
        check_number("degree", self.degree, at_least=1.0)
        object.__setattr__(self, "depth", checked_depth(self.depth))
        check_smoothing(self.smoothing)
        inputs = 6 + self.parameters
        for regressor in (*self.regressors, self.domain.regressor, self.domain.errors):
            if regressor.outputs and regressor.inputs != inputs:
                raise InputError(
                    f"regressors: expected {inputs} inputs with {self.parameters} parameters, "
                    f"found {regressor.inputs}"
                )
        outputs = sum(part.outputs for part in self.regressors)
        if outputs != OUTPUTS:
            raise InputError(f"regressors: expected {OUTPUTS} outputs, found {outputs}")

    @property
    def parameters(self) -> int:
        """Number of parameters P."""
        return self.space.path.pieces.exponents.shape[1]

    def at(self, z: FloatArray) -> CompartmentSurrogate:
        """Return the surrogate of a design of scaled parameters z (P,) [1]."""
        first, second, third = (at(each, z) for each in self._fixable)
        return CompartmentSurrogate(
            self.formulation, self.space.at(z), self.coordinates.at(z), self.largest, self.degree,
            self.depth, (first, second, third), self.domain.at(z), self.smoothing,
        )  # fmt: skip

    def smoothed(self, width: float) -> Self:
        """Return the same surrogate with another width of the smoothing [1], 0 to 0.2.

        Raises `InputError` if the width is out of range.
        """
        return replace(self, smoothing=float(width))

    @cached_property
    def _fixable(self) -> tuple[FixedInputs | None, ...]:
        return tuple(map(fixable, self.regressors))

    @cached_property
    def packed(self) -> PackedCompartment:
        """The compartment for the library, whose inputs are a pose and scaled parameters."""
        middle, half = self.space.at(np.zeros(self.parameters)).centre_and_half
        limits = np.append(self.domain.limits, self.domain.lifted)
        centre = self.coordinates.centre
        geometry = {
            "parameters": self.parameters, "box": self.space.path.packed,
            "box_middle": middle, "box_half": half, "condyle": self.coordinates.path.packed,
            "centre": np.zeros(3), "fall": 0.0,
            "centre_of_design": _packed_polynomial(centre.exponents, centre.coefficients.T),
        }  # fmt: skip
        return PackedCompartment(geometry | fields_of(self, limits))

    def loads_and_slopes(self, poses: ArrayLike, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return loads (N, 12) [SI] and d(loads)/dz (N, 12, P) [SI] at poses (N, 6) of a design.

        The poses are in [rad, m]; z (P,) are the scaled parameters of the design [1]. Out of
        contact the slopes are zero. Beyond the largest load, without smoothing, the change of the
        tangent on which the height continues is left out, as in the derivative by the pose. Raises
        `InputError` if the poses are malformed.
        """
        points = check_array("poses", poses, (None, 6))
        inputs = np.column_stack([points, np.tile(z, (len(points), 1))])
        _, loads, slopes = PackedContact([self.packed]).loads(inputs)[1]
        found = slopes[:, 0, :, 6:]
        if FORMULATIONS[self.formulation].learns_heights:
            found = np.where(loads[:, 0, 1, None, None] > 0.0, found, 0.0)
        return loads[:, 0], found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays, such as constants (4,) [SI]."""
        smoothing = {"smoothing": np.array([self.smoothing])} if self.smoothing > 0.0 else {}
        return {
            "constants": np.array([self.largest, self.degree, *self.depth]),
            **smoothing,
            **under("space", self.space.to_arrays()),
            **under("coordinates", self.coordinates.to_arrays()),
            **under("domain", self.domain.to_arrays()),
            **arrays_of(PARTS, self.regressors),
        }

    @classmethod
    def from_arrays(cls, formulation: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as constants (4,) [SI].

        Raises `InputError` if an array is missing or malformed.
        """
        if "constants" not in arrays:
            raise InputError("arrays: missing 'constants' of a compartment")
        largest, degree, *depth = check_array("constants", arrays["constants"], (4,)).tolist()
        # Only a smoothed surrogate has "smoothing".
        smoothing = check_array("smoothing", arrays.get("smoothing", [0.0]), (1,))
        space = ParametricSpace.from_arrays(part_of(arrays, "space"))
        inputs = 6 + space.path.pieces.exponents.shape[1]
        first, second, third = regressors_of(arrays, dict.fromkeys(PARTS, inputs))
        return cls(
            formulation, space, ParametricCoordinates.from_arrays(part_of(arrays, "coordinates")),
            largest, degree, np.array(depth), (first, second, third),
            ParametricDomain.from_arrays(part_of(arrays, "domain"), inputs), float(smoothing[0]),
        )  # fmt: skip


def _packed_polynomial(exponents: NDArray[np.int64], weights: FloatArray) -> PackedRegressor:
    """Return the polynomial of scaled parameters of degrees (T, P) and weights (k, T)."""
    inputs, outputs = exponents.shape[1], len(weights)
    scalings = np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs)
    return linear_in("polynomial", scalings, exponents, weights).packed


def fixable(regressor: Regressor) -> FixedInputs | None:
    """Return a regressor of 6 + P inputs with its parameters to be fixed; None without outputs."""
    if not regressor.outputs:
        return None
    return FixedInputs(regressor, FIRST, regressor.inputs - 6)


def at(regressor: FixedInputs | None, z: FloatArray) -> Regressor:
    """Return a regressor of `fixable` with its parameters fixed at z (P,) [1], of 6 inputs."""
    return no_outputs(6) if regressor is None else regressor.at(z)


def with_parameters(inputs: FloatArray, z: FloatArray) -> FloatArray:
    """Return inputs (N, 6) with parameters z (P,) or (N, P) before the last one, (N, 6 + P) [1]."""
    rows = np.broadcast_to(z, (len(inputs), np.shape(z)[-1]))
    return np.concatenate([inputs[:, :FIRST], rows, inputs[:, FIRST:]], axis=1)
