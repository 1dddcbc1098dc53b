"""Regressors of a surrogate as named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogates.families.regressor import Regressor, linear_in


def arrays_of(parts: Sequence[str], regressors: Sequence[Regressor]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the regressors that have outputs, under the names of their parts."""
    named: dict[str, NDArray[Any]] = {}
    for part, regressor in zip(parts, regressors, strict=True):
        if regressor.outputs:
            named |= under(part, regressor.to_arrays())
    return named


def regressors_of(arrays: Mapping[str, NDArray[Any]], inputs: Mapping[str, int]) -> list[Regressor]:
    """Return the regressors of which `arrays_of` made arrays; `inputs`: of each part, how many."""
    own = {part: part_of(arrays, part) for part in inputs}
    return [Regressor.from_arrays(a) if a else no_outputs(inputs[p]) for p, a in own.items()]


def no_outputs(inputs: int) -> Regressor:
    """Return a regressor of `inputs` inputs and no outputs."""
    none = np.empty(0)
    scalings = np.zeros(inputs), np.ones(inputs), none, none
    return linear_in("polynomial", scalings, np.zeros((1, inputs), np.int64), np.empty((0, 1)))


def under(head: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays under names that begin with `head`."""
    return {f"{head}/{name}": array for name, array in arrays.items()}


def part_of(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with `part`, without it."""
    head = part + "/"
    return {name[len(head) :]: a for name, a in arrays.items() if name.startswith(head)}
