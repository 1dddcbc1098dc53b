"""The fitted surrogate of one compartment: its coordinates, constants and regressors, evaluated.

The formulations are explained in `surrogates.formulations.compartment_fit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError
from surrogates.compiled import knee as compiled
from surrogates.compiled.array_record import ArrayRecord
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
from surrogates.formulations.at_load import inputs_at, level_at, loads_of, poses_of
from surrogates.formulations.domain import Domain
from surrogates.formulations.registry import FORMULATIONS
from surrogates.formulations.standard_errors import errors_at_load, errors_at_pose
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Parts of a compartment's surrogate; the outputs are distributed over the last three.
PARTS = ("reference", "first", "second", "third")
#: Recommended width of the smoothing, which changes no load by more than 0.1 % of its peak; and the
#: widest.
RECOMMENDED_SMOOTHING, WIDEST_SMOOTHING = 5e-3, 0.2
#: Number of outputs of each formulation, over all regressors.
_OUTPUTS = {INVERTED: 12, ENERGY: 7, ROOT: 12, STIFFNESS: 12, POWER: 12}

#: Least fall of the height over the last input that a smoothed height goes on with [m].
_LEAST_FALL = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CompartmentSurrogate(ArrayRecord):
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
        level = level_at(self, poses, load)
        return poses_of(self, level, poses), loads_of(level, self.degree)

    def inputs_at_load(self, poses: ArrayLike, load: ArrayLike) -> FloatArray:
        """Return the regressors' inputs (N, 6) [1] at poses (N, 6) and axial loads (N,) [N]."""
        return inputs_at(self, poses, load)

    def errors_at_load(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the standard errors of `at_load`: of heights (N,) [m] and loads (N, 12) [SI]."""
        return errors_at_load(self, poses, load)

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] of the loads at poses (N, 6).

        See `surrogates.formulations.standard_errors`.
        """
        return errors_at_pose(self, check_array("poses", poses, (None, 6)))

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


def check_smoothing(width: float) -> None:
    """Raise an InputError unless a number is a width of smoothing."""
    check_number("smoothing width", width, at_least=0.0, at_most=WIDEST_SMOOTHING)


def checked_depth(value: ArrayLike) -> FloatArray:
    """Return middle and half range (2,) [m] of a height or depth, checked and read-only."""
    depth = check_array("depth", value, (2,))
    if depth[1] <= 0.0:
        raise InputError(f"depth: expected a half range > 0 m, found {depth[1]:g}")
    return frozen(depth)
