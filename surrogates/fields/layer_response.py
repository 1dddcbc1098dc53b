"""Pressure of a continuous layer from the overlap of the surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_fields, check_number
from foundation.base.errors import InputError
from foundation.core.library import CONSTANTS, CORE, Struct, address

#: Names of the arrays in a file.
_NAMES = ("exponent", "scaling", "points", "lengths", "weights")


MEASURES, TERMS = (int(CONSTANTS[name]) for name in ("MEASURES", "PATCH_TERMS"))


@dataclass(frozen=True, eq=False)
class LayerResponse:
    """Pressure p ~ max(s(a, b), 0)^m over coordinates of the patch, of 15 terms, (15,) [SI]."""

    # The terms of the polynomial s, and the load, are functions of measures of the overlap, with
    # Matern 5/2 correlations; see `layer_pressures` of the library.

    #: m [1].
    exponent: float
    #: Middle and half range of the measures (2, 15).
    scaling: FloatArray
    #: Scaled measures of the samples over the lengths (15, N) [1].
    points: FloatArray
    #: Correlation lengths over √5 (15,) [1].
    lengths: FloatArray
    #: Weights of trend and correlations (16 + N, 16) [1].
    weights: FloatArray

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0.0)
        count = np.shape(self.points)[-1]
        check_fields(
            self, scaling=(2, MEASURES), points=(MEASURES, count), lengths=(MEASURES,),
            weights=(1 + MEASURES + count, TERMS),
        )  # fmt: skip
        check_array("scaling", self.scaling[1], (MEASURES,), above=0.0)
        check_array("lengths", self.lengths, (MEASURES,), above=0.0)

    def pressures(self, depth: FloatArray, bed: FloatArray) -> FloatArray:
        """Return the pressures (P,) [Pa] of overlaps (P,) [m] and of the `bed` (P, 7) of a skin."""
        pressure = np.empty(len(depth))
        CORE.layer_pressures(
            self._packed.address, len(depth), address(depth), address(bed), address(pressure)
        )
        return pressure

    @cached_property
    def _packed(self) -> Struct:
        fields = {name: getattr(self, name) for name in _NAMES}
        return Struct("layer", fields | {"samples": self.points.shape[1]})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as scaling (2, 15) [SI]; see `from_arrays`."""
        return {name: np.array(getattr(self, name)) for name in _NAMES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, such as scaling (2, 15) [SI], checked."""
        missing = [name for name in _NAMES if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a layer's response")
        exponent, *others = (np.asarray(arrays[name]) for name in _NAMES)
        return cls(float(check_array("exponent", exponent, ())), *others)
