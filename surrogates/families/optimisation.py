"""Minimisation of a smooth function of a few bounded variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from foundation.checks import FloatArray


def minimise(
    function: Callable[[Any], Any],
    start: FloatArray,
    bounds: list[tuple[float, float]],
    iterations: int,
) -> tuple[FloatArray, float]:
    """Return the place (n,) of the least value found from a start, and that value (L-BFGS-B).

    Parameters
    ----------
    function : callable
        Returns the value and the gradient (n,) at a place (n,).
    start : (n,) float64
    bounds : n pairs of float
    iterations : int
        Most iterations; the function is called at most twice as often.
    """
    found = optimize.minimize(
        function, np.clip(start, *np.transpose(bounds)), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": iterations, "maxfun": 2 * iterations},
    )  # fmt: skip
    return np.asarray(found.x), float(found.fun)
