"""The law of a bed of springs, found from the indentations and pressures of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, IntArray, check_array, check_fields, check_number
from foundation.base.errors import InputError
from foundation.core.library import CORE, address

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
class SpringResponse:
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
        found = np.empty(len(depth))
        CORE.spring_pressures(
            len(depth), address(depth), largest, address(self.constants), address(self.law),
            address(found),
        )  # fmt: skip
        return found

    @classmethod
    def fit(
        cls, place: IntArray, depth: FloatArray, largest: FloatArray, pressure: FloatArray
    ) -> tuple[Self | None, IntArray]:
        """Return the law of springs in contact (K,) [m, Pa], and triangles (T,) that it knows."""
        # None instead of the law: pressure is no function of indentations, the layer no bed of
        # springs.
        known, number = np.unique(place, return_inverse=True)
        telling = pressure > _LEAST * pressure.max(initial=0.0)
        chosen = number[telling], depth[telling], largest[telling], pressure[telling]
        error, constants, law = min(
            (_power_law(*chosen, len(known)), _logarithmic_law(*chosen, len(known))),
            key=lambda found: found[0],
        )
        if not error <= LARGEST_ERROR:
            return None, known
        told = np.isfinite(law).all(axis=1) & (law > 0.0).all(axis=1)
        return cls(constants, law[told]), known[told]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as law (T, 2) [SI]; the inverse of `from_arrays`."""
        return {"constants": np.array(self.constants), "law": np.array(self.law)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, such as law (T, 2) [SI], or raise InputError."""
        missing = [name for name in ("constants", "law") if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a spring law")
        return cls(np.asarray(arrays["constants"]), np.asarray(arrays["law"]))


_Found = tuple[float, FloatArray, FloatArray]


def _power_law(
    place: IntArray, depth: FloatArray, largest: FloatArray, pressure: FloatArray, count: int
) -> _Found:
    """Return relative RMS error, constants and law (T, 2) of c (d - share d0)^m."""
    shares = _SHARES
    best: _Found = (np.inf, np.zeros(3), np.empty((0, 2)))
    for _ in range(_ROUNDS):
        found = [_power_of(s, place, depth, largest, pressure, count) for s in shares]
        best = min([best, *found], key=lambda each: each[0])
        step, centre = shares[1] - shares[0], best[1][2]
        shares = np.unique(np.clip(centre + np.linspace(-step, step, 21), 0.0, 0.95))
    return best


def _power_of(
    share: float,
    place: IntArray,
    depth: FloatArray,
    largest: FloatArray,
    pressure: FloatArray,
    count: int,
) -> _Found:
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
    place: IntArray, depth: FloatArray, __: FloatArray, pressure: FloatArray, count: int
) -> _Found:
    """Return relative RMS error, constants and law (T, 2) of -c ln(1 - d/h)."""
    moduli = _MODULI * pressure.max(initial=1e-300)
    best: tuple[float, float, FloatArray] = (float("inf"), 0.0, np.empty(0))
    for _ in range(_ROUNDS):
        for modulus in moduli:
            thickness = _means(place, depth / -np.expm1(-pressure / modulus), count)
            strain = np.minimum(depth / thickness[place], 0.99)
            error = _error(-modulus * np.log1p(-strain), pressure)
            if error < best[0]:
                best = (error, float(modulus), thickness)
        ratio = (moduli[1] / moduli[0]) ** np.linspace(-1.0, 1.0, 21)
        moduli = best[1] * ratio
    law = np.column_stack([np.full(count, max(best[1], 1e-300)), best[2]])
    return best[0], np.array([float(LOGARITHMIC), 1.0, 0.0]), law


def _means(place: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the means (count,) of values (K,) by their place; NaN without values."""
    with np.errstate(invalid="ignore"):
        return np.bincount(place, values, count) / np.bincount(place, minlength=count)


def _error(fitted: FloatArray, truth: FloatArray) -> float:
    """Return the RMS error over the RMS of the truth; infinite if a value is not finite."""
    error = float(np.sqrt(((fitted - truth) ** 2).mean() / (truth**2).mean()))
    return error if np.isfinite(error) else np.inf
