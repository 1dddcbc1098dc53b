"""Kinds of features of the distance from a point; `correlations.c` computes the same in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Correlation(NamedTuple):
    """A kind of correlation along an input."""

    #: Code in the library, the place in `correlations.c`.
    code: int
    #: Factor from a distance over the length to the argument u [1].
    rate: float
    #: Returns exponent and factor [1] at u, in functions of `surrogates.expressions`.
    along: Callable[[Any, Any], tuple[Any, Any]]
    #: Returns the feature without its factor from the sum of the exponents, in these functions.
    close: Callable[[Any, Any], Any]


def _matern52(f: Any, u: Any) -> tuple[Any, Any]:
    # |u| with the slope 1 at 0, from which the second derivative there is right.
    a = f.where(u >= 0.0, u, -u)
    return a, 1.0 + a * (1.0 + a * (1.0 / 3.0))


def _decay(f: Any, exponent: Any) -> Any:
    return f.exp(-exponent)


#: By name (Rasmussen & Williams 2006, Eq. 4.9 and 4.17).
CORRELATIONS = {
    "squared_exponential": Correlation(0, np.sqrt(0.5), lambda f, u: (u * u, 1.0), _decay),
    "matern52": Correlation(1, np.sqrt(5.0), _matern52, _decay),
}
#: By code.
BY_CODE = tuple(CORRELATIONS.values())
RATES = np.array([kind.rate for kind in BY_CODE])
