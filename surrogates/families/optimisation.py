"""Minimisation of a smooth function of a few bounded variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from foundation.base.checks import FloatArray


def minimise(
    function: Callable[[Any], Any],
    start: FloatArray,
    bounds: list[tuple[float, float]],
    iterations: int,
) -> tuple[FloatArray, float]:
    """Return a local minimiser (n,) and the minimum from L-BFGS-B [any unit]."""
    # `function` returns value and gradient, at most twice as often as `iterations`.
    solution = optimize.minimize(
        function, np.clip(start, *np.transpose(bounds)), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": iterations, "maxfun": 2 * iterations},
    )  # fmt: skip
    return np.asarray(solution.x), float(solution.fun)
