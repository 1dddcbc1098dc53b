"""The fitted surrogate of one compartment: its coordinates, constants and regressors, evaluated.

The formulations are explained in `surrogates.formulations.compartment_fit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError
from surrogates.compiled import knee as compiled
from surrogates.compiled.compartments import (
    ENERGY,
    INVERTED,
    LEAST_FALL,
    POWER,
    ROOT,
    STIFFNESS,
)
from surrogates.compiled.knee import CompartmentArguments
from surrogates.compiled.layout import new_work
from surrogates.compiled.regressor_data import CORRELATIONS
from surrogates.families.regressor import Regressor, arrays_of, part_of, regressors_of, under
from surrogates.formulations.domain import Domain
from surrogates.formulations.registry import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Parts of a compartment's surrogate; the outputs are distributed over the last three.
PARTS = ("reference", "first", "second", "third")
#: Recommended width of the smoothing, which changes no load by more than 0.1 % of its peak; and the
#: widest.
RECOMMENDED_SMOOTHING, WIDEST_SMOOTHING = 5e-3, 0.2
#: Number of outputs of each formulation, over all regressors.
_OUTPUTS = {INVERTED: 12, ENERGY: 7, ROOT: 12, STIFFNESS: 12, POWER: 12}

#: Fraction of the largest load at which the depth below first contact is measured, and the least
#: fall of the height there [m].
_SMALL_LOAD, _LEAST_FALL = 1e-3, 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CompartmentSurrogate:
    """Surrogate of one compartment: its coordinates, its constants and its regressors.

    Parameters
    ----------
    formulation : str
        One of `FORMULATIONS`.
    space : SampleSpace
        Box of the samples; a pose outside the box is held at the border.
    coordinates : CondyleCoordinates
        Inputs of the regressors.
    largest : float
        F_max [N], or the largest energy [J].
    degree : float
        p [1].
    reference_root : float
        Root of the reference load (load_stiffness) [1].
    depth : (2,) float64
        Middle and half range of the height or depth that is an input [m].
    regressors : tuple of Regressor
        `PARTS`; parts that a formulation does not need have no outputs.
    domain : Domain
        Trained part of the space.
    smoothing : float
        Width w of the smoothing of first contact and of the border of the box, in the root of the
        load and in scaled variables [1], 0 to `WIDEST_SMOOTHING`; see `smoothed`.

    Raises
    ------
    InputError
        If a constant is out of range or the regressors do not suit the formulation.
    """

    formulation: str
    space: SampleSpace
    coordinates: CondyleCoordinates
    largest: float
    degree: float
    reference_root: float
    depth: FloatArray
    regressors: tuple[Regressor, Regressor, Regressor, Regressor]
    domain: Domain = field(default_factory=Domain.whole_box)
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        code = FORMULATIONS[check_in("formulation", self.formulation, FORMULATIONS)].code
        check_number("largest", self.largest, above=0.0)
        check_number("degree", self.degree, at_least=1.0)
        check_number("reference_root", self.reference_root, at_least=0.0, at_most=1.0)
        object.__setattr__(self, "depth", checked_depth(self.depth))
        check_smoothing(self.smoothing)
        reference, *parts = self.regressors
        inputs = [part.inputs for part in parts]
        if inputs != [6, 6, 6] or reference.inputs != 5:
            raise InputError(
                f"regressors: expected 5 and 6 inputs, found {reference.inputs} and {inputs}"
            )
        outputs = sum(part.outputs for part in parts)
        wanted = (1 if code == STIFFNESS else 0), _OUTPUTS[code]
        if (reference.outputs, outputs) != wanted:
            raise InputError(
                f"regressors: expected {wanted} outputs for {self.formulation!r}, found "
                f"{(reference.outputs, outputs)}"
            )
        if code in (INVERTED, ENERGY) and parts[0].outputs < 1:
            raise InputError("regressors: expected the height in the first part, found no output")

    @property
    def code(self) -> int:
        """Code of the formulation in the compiled evaluation."""
        return FORMULATIONS[self.formulation].code

    @cached_property
    def arguments(self) -> CompartmentArguments:
        """Packed form of the compartment for `surrogates.compiled.knee_loads`."""
        constants = np.array(
            [
                *(self.code, self.largest, self.degree, self.reference_root, *self.depth),
                # without smoothing none is read, and finding the fall takes a prediction
                *(self.smoothing, self.fall if self.smoothing > 0.0 else 0.0),
                *self.power_widths,
            ]
        )
        regressors = [r.arguments for r in (*self.regressors, self.domain.regressor)]
        return compiled.pack_compartment(
            self.space.arguments, self.coordinates.arguments, constants, self.domain.bounds,
            regressors,
        )  # fmt: skip

    @cached_property
    def fall(self) -> float:
        """Mean fall over the last input, of the height [m] or the root [1], at the path.

        With smoothing the height or the root goes on with this fall beyond the samples.
        """
        if self.code not in (INVERTED, ENERGY, ROOT):
            return 0.0
        low, high = self.regressors[1].predict(np.outer([-1.0, 1.0], np.eye(6)[5]))[:, 0]
        least = LEAST_FALL if self.code == ROOT else _LEAST_FALL
        return max(0.5 * float(low - high), least)

    @cached_property
    def power_widths(self) -> FloatArray:
        """Widths (9,) of the smoothing of the loads of `POWER` about zero [any unit]."""
        if self.code != POWER:
            return np.zeros(9)
        scales = np.concatenate([part.y_scale for part in self.regressors[1:]])
        return self.smoothing * scales[:9]

    @cached_property
    def workspace(self) -> int:
        """Size of the scratch array that `surrogates.compiled.knee_loads` needs."""
        return int(compiled.workspace(self.arguments))

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Return the same surrogate, its wrench twice continuously differentiable in the pose.

        See `surrogates.formulations.knee.CompartmentwiseContact.smoothed`.
        """
        check_smoothing(width)
        if width > 0.0:
            self._check_correlations()
        return replace(self, smoothing=float(width))

    def _check_correlations(self) -> None:
        """Raise an InputError if a correlation is not smooth enough for second derivatives."""
        rough = {CORRELATIONS["matern32"]}
        if self.code == ENERGY:  # learns a potential, of which the loads are the slopes
            rough.add(CORRELATIONS["matern52"])
        names = {code: name for name, code in CORRELATIONS.items()}
        for regressor in self.regressors:
            found = sorted(rough & set(regressor.kinds.tolist())) if len(regressor.points) else []
            if found:
                raise InputError(
                    f"smoothing: expected correlations with enough derivatives for "
                    f"{self.formulation!r}, found {names[found[0]]!r}; train with "
                    'correlation = "squared_exponential"'
                )

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) [SI] and variables (7,) [1] at a pose (6,).

        Outside the box the pose is held at the border, with its height over the path. Beyond the
        largest load the height continues along its tangent; the jacobian leaves out the change of
        the tangent with the other coordinates. Out of contact the loads are zero, the centre of
        pressure is NaN and the sixth variable is -1.
        """
        loads, jacobian, x = self._evaluated(np.array(coordinates, dtype=np.float64)[None])
        return loads[0], jacobian[0], x[0]

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, 12), jacobians (N, 6, 6) [SI] and variables (N, 7) at poses (N, 6).

        The variables are the scaled ones of the box, `surrogates.sampling.space.VARIABLES`, and the
        extrapolation (`surrogates.formulations.domain`): beyond 1 in size outside the trained
        domain [1].

        Raises
        ------
        InputError
            If the shape is wrong or a number is not finite.
        """
        return self._evaluated(check_array("poses", poses, (None, 6)))

    def _evaluated(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = len(poses)
        filled = np.empty((n, 12)), np.empty((n, 6, 6)), np.empty((n, 7))
        compiled.loads_of_compartment(poses, self.arguments, *filled, new_work(self.workspace))
        return filled

    def hessians(self, poses: ArrayLike) -> FloatArray:
        """Return d2(wrench)/d(pose)2 at poses (N, 6), (N, 6, 6, 6) [SI].

        See `surrogates.formulations.knee.CompartmentwiseContact.hessian`.

        Raises
        ------
        InputError
            If the shape is wrong or a number is not finite.
        """
        points = check_array("poses", poses, (None, 6))
        filled = np.empty((len(points), 6, 6, 6))
        work = new_work(int(compiled.hessian_workspace(self.arguments)))
        compiled.hessians_of_compartment(points, self.arguments, filled, work)
        return filled

    @property
    def tells_gaps(self) -> bool:
        """Whether the formulation learns heights, so that `gaps` are known."""
        return self.code in (INVERTED, ENERGY)

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the predicted first contact at poses (N, 6), (N,) [m].

        Zero in contact, and everywhere unless `tells_gaps`.
        """
        held = self.space.held(poses)
        if not self.tells_gaps or not len(held):
            return np.zeros(len(held))
        u, height, _ = self.coordinates.variables(held)
        touch = self.regressors[1].predict(np.column_stack([u, np.full(len(u), -1.0)]))[:, 0]
        return np.maximum(height - touch, 0.0)

    def at_load(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the poses (N, 6) [rad, m] at given axial loads, and all loads (N, 12) [SI].

        Parameters
        ----------
        poses : (N, 6) float64
            Pose coordinates [rad, m]; the height is not read. Outside the box the offsets are
            held at the border, as in `evaluate`.
        load : (N,) float64
            Axial load of the compartment [N], from 0 to the largest of the space.

        Raises
        ------
        InputError
            If the formulation is not "inverted" or the arguments are malformed.
        """
        level = self._at_load(poses, load)
        found = check_array("poses", poses, (None, 6))
        path, held = self.space.path, level.held
        found[:, 4] = level.height + path.poses(found[:, 0])[:, 4] - path.poses(held[:, 0])[:, 4]
        return found, self._loads_at(level)

    def _loads_at(self, level: _Level) -> FloatArray:
        """Return the loads (N, 12) at given axial loads."""
        axial, outputs, lever = level.axial, level.outputs, level.lever
        loads = np.empty((len(axial), 12))
        loads[:, 1] = axial
        loads[:, [0, 2]] = outputs[:, 1:3] * axial[:, None]
        loads[:, 3:6] = outputs[:, 3:6] * axial[:, None] + np.cross(lever, loads[:, :3])
        loads[:, 6] = outputs[:, 6] * level.root
        loads[:, 7:9] = outputs[:, 7:9] * level.root[:, None] ** (self.degree - 1.0)
        loads[:, 9:] = outputs[:, 9:] + lever
        return loads

    def errors_at_load(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the standard errors of `at_load`: of heights (N,) [m] and loads (N, 12) [SI]."""
        level = self._at_load(poses, load)
        height, errors = self._errors_beside_height(level)
        loads = self._loads_at(level)
        by_height = self._by_lever(loads) * height[:, None]
        return height, np.hypot(errors, by_height)

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] of the loads at poses (N, 6).

        The error of the height at a given load becomes an error of the loads at a given height by
        the change of the loads with the height (error propagation of first order). Where a femur is
        expected to be lifted by less than the error of the height of first contact, the errors are
        the loads of the remaining depth; where the femur is lifted farther, zero. Formulations that
        predict no errors ("energy", "root" and the stiffnesses) take those of the domain, or NaN.
        """
        points = check_array("poses", poses, (None, 6))
        loads, jacobian, x = self.evaluate_batch(points)
        if self.code == POWER:
            return self._loads_error(points, loads) * self.domain.inflation
        if self.formulation != "inverted":
            return self.domain.standard_error(x)
        errors = np.zeros(loads.shape)
        touching = loads[:, 1] > 0.0
        if touching.any():
            chosen = points[touching], loads[touching], jacobian[touching]
            errors[touching] = self._errors_in_contact(*chosen)
        if not touching.all():
            apart = np.flatnonzero(~touching)
            inputs = self._inputs_at_load(points[apart], np.zeros(len(apart)))[2]
            # A forged file can have scales that no number of its variables survives.
            known = np.isfinite(inputs).all(axis=1)
            errors[apart[~known]] = np.nan
            if known.any():
                errors[apart[known]] = self._errors_out_of_contact(points[apart[known]])
        return errors * self.domain.inflation

    def _errors_in_contact(
        self, points: FloatArray, loads: FloatArray, jacobian: FloatArray
    ) -> FloatArray:
        axial = np.minimum(loads[:, 1], self.largest)
        height, beside = self._errors_beside_height(self._at_load(points, axial))
        by_height = np.empty((len(points), 12))
        by_height[:, :6] = jacobian[:, :, 4]
        # Smaller steps drown in the rounding of sums of large Kriging weights.
        step = 1e-3 * axial
        change = self.at_load(points, axial + step)[1] - self.at_load(points, axial - step)[1]
        by_height[:, 6:] = change[:, 6:] / (2.0 * step)[:, None] * by_height[:, 1:2]
        # The pose alone determines the point, whatever the error of the learnt height.
        by_height -= self._by_lever(loads)
        return np.hypot(beside, by_height * height[:, None])

    def _errors_out_of_contact(self, points: FloatArray) -> FloatArray:
        """Return the loads of the depth by which the height of first contact may be too low."""
        none = np.zeros(len(points))
        touch, small = none, np.full(len(points), _SMALL_LOAD * self.largest)
        heights = [self.at_load(points, load)[0][:, 4] for load in (touch, small)]
        error, _ = self._errors_beside_height(self._at_load(points, touch))
        depth = np.maximum(error - (points[:, 4] - heights[0]), 0.0)
        fall = np.maximum(heights[0] - heights[1], _LEAST_FALL)
        # The depth grows with the root of the load.
        part = np.minimum(_SMALL_LOAD * (depth / fall) ** self.degree, 1.0)
        known = np.isfinite(part)
        errors = np.full((len(points), 12), np.nan)
        if known.any():
            errors[known] = np.abs(self.at_load(points[known], part[known] * self.largest)[1])
            errors[known, 9:] = 0.0
        return errors

    def _errors_beside_height(self, level: _Level) -> tuple[FloatArray, FloatArray]:
        """Return the errors of the heights (N,) and, at exact heights, of the loads (N, 12)."""
        axial, root, lever = level.axial, level.root[:, None], level.lever
        error = np.column_stack([r.standard_error(level.inputs) for r in self.regressors[1:]])
        loads = np.zeros((len(axial), 12))
        loads[:, [0, 2]] = error[:, 1:3] * axial[:, None]
        # M = M about the point + lever x F, where F_y is exact.
        across = np.cross(lever, np.eye(3)[[0]]), np.cross(lever, np.eye(3)[[2]])
        moments = (error[:, 3:6] * axial[:, None]) ** 2
        moments += (across[0] * loads[:, [0]]) ** 2 + (across[1] * loads[:, [2]]) ** 2
        loads[:, 3:6] = np.sqrt(moments)
        loads[:, 6:7] = error[:, 6:7] * root
        loads[:, 7:9] = error[:, 7:9] * root ** (self.degree - 1.0)
        loads[:, 9:] = error[:, 9:]
        return error[:, 0], loads

    def _by_lever(self, loads: FloatArray) -> FloatArray:
        """Return how loads (N, 12) change as the condyle's point rises with them, (N, 12)."""
        change = np.zeros(loads.shape)
        if self.coordinates.about_point:
            change[:, 3], change[:, 5], change[:, 10] = loads[:, 2], -loads[:, 0], 1.0
        return change

    def _loads_error(self, poses: FloatArray, loads: FloatArray) -> FloatArray:
        """Return the standard errors (N, 12) where the loads themselves are learnt."""
        u, height, _ = self.coordinates.variables(self.space.held(poses))
        depth = (height - self.depth[0]) / self.depth[1]
        inputs = np.column_stack([u, depth])
        errors = np.column_stack([part.standard_error(inputs) for part in self.regressors[1:]])
        steepness = self.degree * np.abs(loads[:, :9]) ** (1.0 - 1.0 / self.degree)
        errors[:, :9] *= steepness
        return errors

    def inputs_at_load(self, poses: ArrayLike, load: ArrayLike) -> FloatArray:
        """Return the regressors' inputs (N, 6) [1] at poses (N, 6) and axial loads (N,) [N]."""
        return self._inputs_at_load(poses, load)[2]

    def _at_load(self, poses: ArrayLike, load: ArrayLike) -> _Level:
        """Predict all outputs at poses (N, 6), whose height is not read, and axial loads (N,)."""
        axial, held, inputs, offset, points = self._inputs_at_load(poses, load)
        outputs = np.column_stack([part.predict(inputs) for part in self.regressors[1:]])
        # Without a height, `offset` is that of the condyle's point over its path.
        height = outputs[:, 0] - offset
        points[:, 1] += height
        root = 0.5 * (inputs[:, 5] + 1.0)
        lever = self.coordinates.lever(points)
        return _Level(axial, held, inputs, root, outputs, height, lever)

    def _inputs_at_load(
        self, poses: ArrayLike, load: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return loads, held poses, inputs, heights over the path at height 0, and points."""
        if self.formulation != "inverted":
            raise InputError(
                f"formulation: expected 'inverted' to give heights at loads, found "
                f"{self.formulation!r}"
            )
        held = self.space.held(poses)
        axial = check_array("load", load, (len(held),))
        held[:, 4] = 0.0
        u, offset, points = self.coordinates.variables(held)
        root = (axial / self.largest) ** (1.0 / self.degree)
        return axial, held, np.column_stack([u, 2.0 * root - 1.0]), offset, points

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields but the space as arrays, such as constants (5,) [SI]."""
        constants = [self.largest, self.degree, self.reference_root, *self.depth]
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
        """Build from the arrays of `to_arrays`, such as constants (5,) [SI].

        Raises
        ------
        InputError
            If an array is missing or malformed.
        """
        if "constants" not in arrays:
            raise InputError("arrays: missing 'constants' of a compartment")
        largest, degree, root, *depth = check_array("constants", arrays["constants"], (5,))
        # Only a smoothed surrogate has "smoothing".
        smoothing = check_array("smoothing", arrays.get("smoothing", [0.0]), (1,))
        coordinates = CondyleCoordinates.from_arrays(part_of(arrays, "coordinates"))
        reference, first, second, third = regressors_of(
            arrays, dict.fromkeys(PARTS, 6) | {PARTS[0]: 5}
        )
        return cls(
            formulation, space, coordinates, float(largest), float(degree), float(root),
            np.array(depth), (reference, first, second, third),
            Domain.from_arrays(part_of(arrays, "domain")), float(smoothing[0]),
        )  # fmt: skip


class _Level(NamedTuple):
    """Predictions of an inverted surrogate at N axial loads."""

    axial: FloatArray
    held: FloatArray
    inputs: FloatArray
    root: FloatArray
    outputs: FloatArray
    height: FloatArray
    lever: FloatArray


def check_smoothing(width: float) -> None:
    """Raise an InputError unless a number is a width of smoothing."""
    check_number("smoothing width", width, at_least=0.0, at_most=WIDEST_SMOOTHING)


def checked_depth(value: ArrayLike) -> FloatArray:
    """Return middle and half range (2,) [m] of a height or depth, checked and read-only."""
    depth = check_array("depth", value, (2,))
    if depth[1] <= 0.0:
        raise InputError(f"depth: expected a half range > 0 m, found {depth[1]:g}")
    return frozen(depth)
