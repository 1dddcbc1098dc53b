"""The trained part of a compartment's box, and the errors of the surrogate there (docs/theory.md).

The *extrapolation* of a pose is at most 1 in the trained part: the largest of the shares of the
limits by the predicted loads, the same shares of the forces as expected from samples of the whole
box, and 1 + log(expected error of the force / largest accepted error). Where a condyle is predicted
to be lifted, the weight of the last two criteria falls linearly with the gap, to zero at
`Domain.lifted`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_fields, check_number
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind, worded
from foundation.core.library import FARTHEST, TOLERANCE
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.regressor import Regressor, arrays_of, no_outputs, regressors_of
from surrogates.sampling.space import VARIABLES, SampleSpace

#: Stands for "no limit", since files and C have no infinite constants.
NO_LIMIT = 1e30
#: Outputs of a domain's regressor: shares of the limits of AP and ML force, log of the error.
OUTPUTS = 3
#: Extrapolation beyond any error: the domain was closed, since too few samples judge the errors.
_UNJUDGED = 25.0
_LOADS = 12
#: Kinds of the flags of the criteria of `Domain.extrapolation`, in their order.
_KINDS = (
    FlagKind.OUTSIDE_AP_RATIO,
    FlagKind.OUTSIDE_ML_RATIO,
    FlagKind.OUTSIDE_PEAK_PRESSURE,
    FlagKind.OUTSIDE_AP_SAMPLES,
    FlagKind.OUTSIDE_ML_SAMPLES,
    FlagKind.OUTSIDE_ERRORS,
)


@dataclass(frozen=True, eq=False, repr=False)
class Domain(ArrayRecord):
    """Trained part of a compartment's box."""

    #: Largest size of F_x / F_y and of F_z / F_y [1], and largest peak pressure [Pa], (3,);
    #: `NO_LIMIT` for none.
    limits: FloatArray
    #: Function of the six scaled variables of the box, over designs also of their parameters
    #: before the last variable: expected F_x / (l_x F_y), F_z / (l_z F_y), and the logarithm of the
    #: expected over the largest accepted error of the force. Without outputs the predicted loads
    #: alone decide.
    regressor: Regressor
    #: Factors on predicted standard errors of the loads, by which their intervals reach the nominal
    #: coverage over the domain (12,) [1].
    inflation: FloatArray
    #: Function of the same variables: logarithms of the standard errors of the twelve loads, for
    #: formulations that predict none.
    errors: Regressor
    #: Height over the predicted first contact above which a condyle is certainly lifted [m].
    lifted: float = NO_LIMIT

    def __post_init__(self) -> None:
        check_number("lifted", self.lifted, above=0.0, unit="m")
        check_fields(self, limits=(3,), inflation=(_LOADS,))
        for name in ("limits", "inflation", "lifted"):
            check_array(name, getattr(self, name), above=0.0)
        for name, outputs in (("regressor", OUTPUTS), ("errors", _LOADS)):
            regressor = getattr(self, name)
            if regressor.inputs < 6 or regressor.outputs not in (0, outputs):
                raise InputError(
                    f"{name}: expected 6 or more inputs and 0 or {outputs} outputs, found "
                    f"{regressor.inputs} and {regressor.outputs}"
                )

    @classmethod
    @cache
    def whole_box(cls) -> Self:
        """Return the domain that is the whole box."""
        return cls.within(np.full(3, NO_LIMIT))

    @classmethod
    def within(cls, limits: FloatArray) -> Self:
        """Return the domain of predicted loads within limits (3,) [1, 1, Pa]."""
        return cls(limits, no_outputs(6), np.ones(_LOADS), no_outputs(6))

    @property
    def bounds(self) -> FloatArray:
        """Limits [1, 1, Pa], and the gap of a condyle that is certainly lifted [m], (4,)."""
        return np.append(self.limits, self.lifted)

    def standard_error(self, variables: FloatArray) -> FloatArray:
        """Return the expected standard errors (N, 12) [SI] of loads at variables (N, 6 or more)."""
        if not self.errors.outputs:
            return np.full((len(variables), _LOADS), np.nan)
        used = variables[:, : self.errors.inputs]
        return np.exp(self.errors.predict(np.clip(used, -1.0, 1.0)))

    def extrapolation(
        self, variables: FloatArray, loads: FloatArray, gaps: FloatArray | float = 0.0
    ) -> FloatArray:
        """Return the extrapolation (N,) [1] of variables (N, 6 or more), loads (N, 12) and gaps."""
        # `gaps` (N,) [m] are heights over the predicted first contact, 0 in contact and where
        # unknown.
        criteria = self._criteria(variables, loads)
        criteria[:, 3:] *= 1.0 - np.minimum(np.reshape(gaps, (-1, 1)) / self.lifted, 1.0)
        return criteria.max(axis=1)

    def _criteria(self, variables: FloatArray, loads: FloatArray) -> FloatArray:
        """Return three shares of the predicted loads and the three learnt criteria, (N, 6)."""
        criteria = np.zeros((len(variables), 6))
        touching = loads[:, 1] > 0.0
        shares = np.abs(loads[touching][:, [0, 2]]) / loads[touching, 1:2]
        criteria[touching, :2] = shares / self.limits[:2]
        criteria[touching, 2] = loads[touching, 7] / self.limits[2]
        if self.regressor.outputs:
            used = variables[:, : self.regressor.inputs]
            learnt = self.regressor.predict(np.clip(used, -1.0, 1.0))
            criteria[:, 3:5] = np.abs(learnt[:, :2])
            criteria[:, 5] = 1.0 + learnt[:, 2]
        return criteria

    def flags(self, compartment: str, variables: FloatArray, loads: FloatArray) -> list[Flag]:
        """Return why poses of variables (N, 6 or more) [1] and loads (N, 12) [SI] are outside."""
        criteria = self._criteria(variables, loads)
        pairs = zip(criteria.tolist(), criteria.argmax(axis=1).tolist(), strict=True)
        return [self._flag(compartment, row, worst) for row, worst in pairs]

    def _flag(self, compartment: str, c: list[float], worst: int) -> Flag:
        """Return the flag of the largest of the six criteria [1], which is number `worst`."""
        ap, ml, peak = self.limits.tolist()
        if worst == 5 and c[5] > _UNJUDGED:
            return Flag(FlagKind.OUTSIDE_TOO_FEW_SAMPLES, compartment)
        numbers = (
            (c[0] * ap, ap),
            (c[1] * ml, ml),
            (1e-6 * c[2] * peak, 1e-6 * peak),
            (c[3],),
            (c[4],),
            (float(np.exp(c[5] - 1.0)),),
        )[worst]
        return Flag(_KINDS[worst], compartment, numbers)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the domain as arrays, such as limits (3,) [1, 1, Pa]."""
        named: dict[str, NDArray[Any]] = {
            "limits": np.array(self.limits),
            "inflation": np.array(self.inflation),
            "lifted": np.array([self.lifted]),
        }
        return named | arrays_of(("regressor", "errors"), (self.regressor, self.errors))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], inputs: int = 6) -> Self:
        """Return the domain of `to_arrays`, as limits (3,) [1, 1, Pa]; of none the whole box."""
        if not arrays:
            return cls.whole_box()
        for name in ("limits", "inflation", "lifted"):
            if name not in arrays:
                raise InputError(f"arrays: missing {name!r} of a domain")
        regressor, errors = regressors_of(arrays, {"regressor": inputs, "errors": inputs})
        lifted = check_array("lifted", arrays["lifted"], (1,))
        return cls(arrays["limits"], regressor, arrays["inflation"], errors, float(lifted[0]))


#: Treatments of a pose outside the trained domain. The loads are those of the nearest pose of the
#: domain and carry flags: "clamp" does no more, "warning" warns, "error" raises.
OUTSIDE = ("clamp", "warning", "error")
#: Kind of the flag of a pose that is beyond the range of a variable; a root of the load below its
#: range tells a height that is too large.
_BEYOND = {
    "flexion": FlagKind.OUTSIDE_FLEXION,
    "adduction": FlagKind.OUTSIDE_ADDUCTION,
    "rotation": FlagKind.OUTSIDE_ROTATION,
    "anterior": FlagKind.OUTSIDE_ANTERIOR,
    "lateral": FlagKind.OUTSIDE_LATERAL,
    "root_load": FlagKind.OUTSIDE_LOAD,
}


class OutsideDomainError(InputError):
    """A pose is outside the trained domain; the message names the coordinate and the distance."""


class OutsideDomainWarning(UserWarning):
    """A pose is outside the trained domain and was held at the border."""


def beyond(variables: ArrayLike) -> NDArray[np.bool_]:
    """Return which scaled variables (N, ...) [1], or extrapolations, are outside the domain."""
    # written so that NaN counts as outside
    return ~(np.abs(variables) <= 1.0 + TOLERANCE)


def compartment_flags(
    name: str, space: SampleSpace, domain: Domain, x: FloatArray, loads: FloatArray
) -> list[list[Flag]]:
    """Return the flags of poses, from variables and extrapolations x (N, 7), loads (N, 12) [SI]."""
    half = space.centre_and_half[1]
    flags: list[list[Flag]] = [[] for _ in x]
    values: tuple[float, ...]
    for row, k in np.argwhere(beyond(x[:, :6])).tolist():
        kind, variable = _BEYOND[VARIABLES[k]], float(x[row, k])
        if kind is FlagKind.OUTSIDE_LOAD and variable < -1.0:
            kind, values = FlagKind.OUTSIDE_SUPERIOR, (-1e3 * FARTHEST * (1.0 + variable),)
        elif kind is FlagKind.OUTSIDE_LOAD:
            load = float(loads[row, 1])
            values = load, load - float(space.load[1])
        else:
            factor = 180.0 / np.pi if k < 3 else 1e3
            values = (float((abs(variable) - 1.0) * half[k] * factor),)
        flags[row].append(Flag(kind, name, values))
    rows = np.flatnonzero(beyond(x[:, 6]))
    if len(rows):
        for row, flag in zip(rows.tolist(), domain.flags(name, x[rows], loads[rows]), strict=True):
            flags[row].append(flag)
    return flags


def treat(flags: Sequence[Flag], outside: str, calls: int = 1) -> None:
    """Warn of flags, or raise `OutsideDomainError`, `calls` calls away from the user's line."""
    if not flags:
        return
    if outside == "error":
        raise OutsideDomainError(f"pose: {worded(flags)}")
    if outside == "warning":
        warnings.warn(worded(flags), OutsideDomainWarning, stacklevel=2 + calls)
