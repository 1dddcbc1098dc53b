"""The fitted surrogate of one compartment: its coordinates, constants and regressors, evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError
from foundation.base.loads import CompartmentLoads, check_order
from foundation.base.pose import Pose, pose_array
from foundation.core.library import LEAST_FALL, REACH
from surrogates.core.packing import PackedCompartment, PackedContact
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.fixed_inputs import FIRST_PARAMETER, FixedInputs
from surrogates.families.regressor import (
    Regressor,
    arrays_of,
    no_outputs,
    part_of,
    regressors_of,
    under,
)
from surrogates.families.smooth_array import SmoothArray
from surrogates.formulations.at_load import LoadLevels, errors_at_load, errors_at_pose
from surrogates.formulations.domain import Domain
from surrogates.formulations.training_data import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Regressors of a compartment, over which the outputs are distributed.
PARTS = ("first", "second", "third")
#: Outputs of a compartment.
OUTPUTS = 12
#: Recommended width of the smoothing, which changes no load by more than 0.1 % of its peak; and the
#: widest.
RECOMMENDED_SMOOTHING, WIDEST_SMOOTHING = 5e-3, 0.2
#: Number in a place of the file's constants that has no meaning.
_UNUSED = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class CompartmentSurrogate(ArrayRecord):
    """Surrogate of one compartment, over designs of P parameters, or of one knee, with P = 0."""

    formulation: str
    #: Box of the samples; a pose outside the box is held at the border.
    space: SampleSpace
    coordinates: CondyleCoordinates
    #: F_max [N].
    largest: float
    #: p [1].
    degree: float
    #: Middle and half range of the height (2,) [m], where the height is an input.
    depth: FloatArray
    #: `PARTS` of 6 + P inputs, the parameters before the last; a part may have no outputs.
    regressors: tuple[Regressor, Regressor, Regressor]
    domain: Domain = field(default_factory=Domain.whole_box)
    #: Width w of the smoothing of first contact and of the border of the box, in the root of the
    #: load and in scaled variables [1], 0 to `WIDEST_SMOOTHING`; see `smoothed`.
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        check_in("formulation", self.formulation, FORMULATIONS)
        check_number("largest", self.largest, above=0.0)
        check_number("degree", self.degree, at_least=1.0)
        object.__setattr__(self, "depth", checked_depth(self.depth))
        check_smoothing(self.smoothing)
        found = {name: smooth.parameters for name, smooth in self._smooth.items()}
        if len(found) not in (0, 3) or len(set(found.values())) > 1:
            raise InputError(
                f"designs: expected box, path and centre over the same parameters, found {found}"
            )
        wanted = 6 + self.parameters
        inputs = [part.inputs for part in self.regressors]
        if inputs != 3 * [wanted]:
            raise InputError(f"regressors: expected three of {wanted} inputs each, found {inputs}")
        inputs = [r.inputs for r in (self.domain.regressor, self.domain.errors) if r.outputs]
        if set(inputs) - {wanted}:
            raise InputError(f"domain: expected regressors of {wanted} inputs each, found {inputs}")
        outputs = sum(part.outputs for part in self.regressors)
        if outputs != OUTPUTS:
            raise InputError(f"regressors: expected {OUTPUTS} outputs, found {outputs}")
        if self.learns_heights and self.regressors[0].outputs < 1:
            raise InputError("regressors: expected the height in the first part, found no output")

    @property
    def learns_heights(self) -> bool:
        """Whether heights over the load are learnt, so that `gaps` and `at_load` are known."""
        return FORMULATIONS[self.formulation].learns_heights

    @property
    def _smooth(self) -> dict[str, SmoothArray]:
        """What depends on the parameters of a design; nothing without parameters."""
        own = self.coordinates
        parts = {"box": self.space.path.of_design, "path": own.path.of_design}
        parts["centre"] = own.of_design
        return {name: smooth for name, smooth in parts.items() if smooth is not None}

    @property
    def parameters(self) -> int:
        """Number of parameters P."""
        return max((smooth.parameters for smooth in self._smooth.values()), default=0)

    def at(self, z: FloatArray) -> Self:
        """Return the surrogate of a design of scaled parameters z (P,) [1]."""
        if not self.parameters:
            return self
        first, second, third, learnt, errors = (
            no_outputs(6) if each is None else each.at(z) for each in self._fixable
        )
        return replace(
            self, space=self.space.at(z), coordinates=self.coordinates.at(z),
            regressors=(first, second, third),
            domain=replace(self.domain, regressor=learnt, errors=errors),
        )  # fmt: skip

    @cached_property
    def _fixable(self) -> list[FixedInputs | None]:
        regressors = (*self.regressors, self.domain.regressor, self.domain.errors)
        return [
            FixedInputs(each, FIRST_PARAMETER, self.parameters) if each.outputs else None
            for each in regressors
        ]

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
        if self.learns_heights:
            found = np.where(loads[:, 0, 1, None, None] > 0.0, found, 0.0)
        return loads[:, 0], found

    @property
    def largest_load(self) -> float:
        """Largest axial load of the samples [N]."""
        return float(self.space.load[1])

    def domain_inputs(self, variables: FloatArray) -> FloatArray:
        """Return the inputs (N, 6) [1] of the domain from variables (N, 6 or more)."""
        return variables[:, :6]

    @cached_property
    def packed(self) -> PackedCompartment:
        """The compartment for the library, whose inputs are a pose and scaled parameters."""
        own, (middle, half) = self.coordinates, self.space.centre_and_half
        learnt = self.domain.regressor
        # Without smoothing the fall is not read, and that of a design is found with its loads.
        fall = self.fall if self.smoothing > 0.0 and not self.parameters else 0.0
        return PackedCompartment({
            "parameters": self.parameters, "box": self.space.path.packed,
            "box_middle": middle, "box_half": half, "condyle": own.path.packed,
            "centre": own.centre, "fall": fall,
            "centre_of_design": None if own.of_design is None else own.of_design.packed,
            "direct": int(self.formulation == "direct"), "middle": own.middle, "half": own.half,
            "lever": float(own.about_point), "largest": self.largest, "degree": self.degree,
            "depth_middle": float(self.depth[0]), "depth_half": float(self.depth[1]),
            "smoothing": self.smoothing, "limits": self.domain.bounds,
            "parts": [r.packed for r in self.regressors if r.outputs],
            "domain": learnt.packed if learnt.outputs else None,
        })  # fmt: skip

    @cached_property
    def _contact(self) -> PackedContact:
        if self.parameters:
            raise InputError(
                f"surrogate over designs: expected the surrogate of one design, found "
                f"{self.parameters} parameters; call `at` first"
            )
        return PackedContact([self.packed])

    @cached_property
    def fall(self) -> float:
        """Mean fall of the height over the last input [m]: a smoothed height continues so."""
        if not self.learns_heights:
            return 0.0
        low, high = self.regressors[0].predict(np.outer([-1.0, 1.0], np.eye(6)[5]))[:, 0]
        return max(0.5 * float(low - high), LEAST_FALL)

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Return the surrogate with a twice differentiable wrench (`ContactSurrogate.smoothed`)."""
        check_smoothing(width)
        return replace(self, smoothing=float(width))

    def loads(self, poses: Pose | Sequence[Pose] | ArrayLike, order: int = 0) -> CompartmentLoads:
        """Return the loads at one pose or at (N, 6) [rad, m], with derivatives up to `order`."""
        # Beyond the largest load the height continues along its tangent; the derivatives leave out
        # the change of the tangent with the other coordinates. Out of contact, loads are zero, the
        # centre of pressure is NaN and the sixth variable is -1.
        rows = pose_array(poses)
        # The values with and without derivatives differ by rounding.
        found = self._contact.loads(rows.reshape(-1, 6), max(check_order(order), 1))[1]
        variables, loads, *slopes = (
            each[:, 0].reshape(*rows.shape[:-1], *each.shape[2:]) for each in found
        )
        return CompartmentLoads.trusted(loads, tuple(slopes[:order]), variables)

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the predicted first contact at poses (N, 6), (N,) [m], or zero."""
        held = self.space.held(poses)
        if not self.learns_heights or not len(held):
            return np.zeros(len(held))
        u, height, _ = self.coordinates.variables(held)
        touch = self.regressors[0].predict(np.column_stack([u, np.full(len(u), -1.0)]))[:, 0]
        return np.maximum(height - touch, 0.0)

    def at_load(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return poses (N, 6) [rad, m] at given axial loads (N,), and all loads (N, 12) [SI]."""
        return self._levels.poses_and_loads(poses, load)

    def inputs_at_load(self, poses: ArrayLike, load: ArrayLike) -> FloatArray:
        """Return the regressors' inputs (N, 6) [1] at poses (N, 6) and axial loads (N,) [N]."""
        return self._levels.inputs(poses, load)

    def errors_at_load(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the standard errors of `at_load`: of heights (N,) [m] and loads (N, 12) [SI]."""
        return errors_at_load(self._levels, poses, load)

    @cached_property
    def _levels(self) -> LoadLevels:
        if not self.learns_heights:
            raise InputError(
                "formulation: expected 'inverted' to give heights at loads, found "
                f"{self.formulation!r}"
            )
        return LoadLevels(self.space, self.coordinates, self.largest, self.degree, self.regressors)

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] of the loads at poses (N, 6)."""
        points = check_array("poses", poses, (None, 6))
        if self.learns_heights:
            loads = self.loads(points, order=1)
            errors = errors_at_pose(self._levels, points, loads.array, loads.jacobian)
        else:
            errors = self._errors_of_loads(points)
        return errors * self.domain.inflation

    def _errors_of_loads(self, points: FloatArray) -> FloatArray:
        """Return the standard errors (N, 12) [SI] of loads that are learnt over the height."""
        u, height, _ = self.coordinates.variables(self.space.held(points))
        inputs = np.column_stack(
            [u, np.clip((height - self.depth[0]) / self.depth[1], -REACH, REACH)]
        )
        # A forged file can have scales that no number of its variables survives.
        known = np.isfinite(inputs).all(axis=1)
        errors = np.full((len(points), OUTPUTS), np.nan)
        if known.any():
            found = [r.standard_error(inputs[known]) for r in self.regressors]
            errors[known] = np.column_stack(found)
        return errors

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields but the space as arrays, such as constants (5,) [SI]."""
        constants = [self.largest, self.degree, _UNUSED, *self.depth]
        named: dict[str, NDArray[Any]] = {"constants": np.array(constants)}
        named |= under("coordinates", self.coordinates.to_arrays())
        named |= under("domain", self.domain.to_arrays())
        if self.smoothing > 0.0:
            named["smoothing"] = np.array([self.smoothing])
        for name, smooth in self._smooth.items():
            named |= under(f"designs/{name}", smooth.to_arrays())
        return named | arrays_of(PARTS, self.regressors)

    @classmethod
    def from_arrays(
        cls, formulation: str, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Build from the arrays of `to_arrays`, such as constants (5,) [SI], checked."""
        if "constants" not in arrays:
            raise InputError("arrays: missing 'constants' of a compartment")
        largest, degree, _, *depth = check_array("constants", arrays["constants"], (5,))
        # Only a smoothed surrogate has "smoothing".
        smoothing = check_array("smoothing", arrays.get("smoothing", [0.0]), (1,))
        coordinates = CondyleCoordinates.from_arrays(part_of(arrays, "coordinates"))
        inputs = 6
        if designs := part_of(arrays, "designs"):
            box, path, centre = (
                SmoothArray.from_arrays(part_of(designs, name))
                for name in ("box", "path", "centre")
            )
            inputs += box.parameters
            space = replace(space, path=replace(space.path, of_design=box))
            path_of_design = replace(coordinates.path, of_design=path)
            coordinates = replace(coordinates, path=path_of_design, of_design=centre)
        first, second, third = regressors_of(arrays, dict.fromkeys(PARTS, inputs))
        return cls(
            formulation, space, coordinates, float(largest), float(degree), np.array(depth),
            (first, second, third), Domain.from_arrays(part_of(arrays, "domain"), inputs),
            float(smoothing[0]),
        )  # fmt: skip


def check_smoothing(width: float) -> None:
    """Raise an InputError unless a number is a width of smoothing."""
    check_number("smoothing width", width, at_least=0.0, at_most=WIDEST_SMOOTHING)


def checked_depth(value: ArrayLike) -> FloatArray:
    """Return middle and half range (2,) [m] of a height, checked and read-only."""
    depth = check_array("depth", value, (2,))
    if depth[1] <= 0.0:
        raise InputError(f"depth: expected a half range > 0 m, found {depth[1]:g}")
    return frozen(depth)
