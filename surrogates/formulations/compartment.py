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
from surrogates.core.packing import PackedCompartment, PackedContact, packed_path
from surrogates.core.regressor_data import CORRELATIONS, ArrayRecord
from surrogates.families.regressor import Regressor, arrays_of, part_of, regressors_of, under
from surrogates.formulations.at_load import LoadLevels, errors_at_load, errors_at_pose
from surrogates.formulations.domain import Domain
from surrogates.formulations.lessons import FORMULATIONS
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
    """Surrogate of one compartment: its coordinates, its constants and its regressors."""

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
    #: `PARTS`; a part may have no outputs.
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
        inputs = [part.inputs for part in self.regressors]
        if inputs != [6, 6, 6]:
            raise InputError(f"regressors: expected three of 6 inputs each, found {inputs}")
        inputs = [self.domain.regressor.inputs, self.domain.errors.inputs]
        if inputs != [6, 6]:
            raise InputError(f"domain: expected regressors of 6 inputs each, found {inputs}")
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
    def largest_load(self) -> float:
        """Largest axial load of the samples [N]."""
        return float(self.space.load[1])

    def domain_inputs(self, variables: FloatArray) -> FloatArray:
        """Return the inputs (N, 6) [1] of the domain from variables (N, 6 or more)."""
        return variables[:, :6]

    @cached_property
    def packed(self) -> PackedCompartment:
        """The compartment for the library."""
        own, middle_and_half = self.coordinates, self.space.centre_and_half
        geometry = {
            "parameters": 0,
            "box": packed_path(self.space.path.flexion, self.space.path.pieces),
            "box_middle": middle_and_half[0], "box_half": middle_and_half[1],
            "condyle": packed_path(own.path.flexion, own.path.pieces),
            "centre": own.centre, "centre_of_design": None,
            # without smoothing the fall is not read, and finding the fall takes a prediction
            "fall": self.fall if self.smoothing > 0.0 else 0.0,
        }  # fmt: skip
        return PackedCompartment(geometry | fields_of(self, self.domain.bounds))

    @cached_property
    def _contact(self) -> PackedContact:
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
        if width > 0.0:
            self._check_correlations()
        return replace(self, smoothing=float(width))

    def _check_correlations(self) -> None:
        """Raise an InputError if a correlation is not smooth enough for second derivatives."""
        for regressor in self.regressors:
            if len(regressor.points) and CORRELATIONS["matern32"] in regressor.kinds:
                raise InputError(
                    "smoothing: expected correlations with second derivatives, found 'matern32'; "
                    'train with correlation = "squared_exponential"'
                )

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

    def raised(self, height: float, slope: float = 0.0) -> Self:
        """Return the surrogate of surfaces that touch at another height of the femur."""
        # Forces and pressures are those at a pose lower by `height` + `slope` times the flexion [m,
        # m/rad]. Centres of pressure learnt about a point of the condyle are higher by as much.
        path = self.coordinates.path.raised(height, slope)
        return replace(self, coordinates=replace(self.coordinates, path=path))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields but the space as arrays, such as constants (5,) [SI]."""
        constants = [self.largest, self.degree, _UNUSED, *self.depth]
        named: dict[str, NDArray[Any]] = {"constants": np.array(constants)}
        named |= under("coordinates", self.coordinates.to_arrays())
        named |= under("domain", self.domain.to_arrays())
        if self.smoothing > 0.0:
            named["smoothing"] = np.array([self.smoothing])
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
        first, second, third = regressors_of(arrays, dict.fromkeys(PARTS, 6))
        return cls(
            formulation, space, coordinates, float(largest), float(degree), np.array(depth),
            (first, second, third), Domain.from_arrays(part_of(arrays, "domain")),
            float(smoothing[0]),
        )  # fmt: skip


def fields_of(part: Any, limits: FloatArray) -> dict[str, Any]:
    """Return fields of the struct `compartment` of knees and designs, limits (4,) [1, 1, Pa, m]."""
    return {
        "direct": int(part.formulation == "direct"),
        "middle": part.coordinates.middle, "half": part.coordinates.half,
        "lever": float(part.coordinates.about_point), "largest": part.largest,
        "degree": part.degree, "depth_middle": float(part.depth[0]),
        "depth_half": float(part.depth[1]), "smoothing": part.smoothing, "limits": limits,
        "parts": [r.packed for r in part.regressors if r.outputs],
        "domain": part.domain.regressor.packed if part.domain.regressor.outputs else None,
    }  # fmt: skip


def check_smoothing(width: float) -> None:
    """Raise an InputError unless a number is a width of smoothing."""
    check_number("smoothing width", width, at_least=0.0, at_most=WIDEST_SMOOTHING)


def checked_depth(value: ArrayLike) -> FloatArray:
    """Return middle and half range (2,) [m] of a height, checked and read-only."""
    depth = check_array("depth", value, (2,))
    if depth[1] <= 0.0:
        raise InputError(f"depth: expected a half range > 0 m, found {depth[1]:g}")
    return frozen(depth)
