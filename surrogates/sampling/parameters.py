"""Parameters of a design space: names with units, ranges, and designs as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_fields, check_unique
from foundation.base.errors import InputError
from foundation.base.wording import counted
from surrogates.core.regressor_data import ArrayRecord

#: Most parameters of a design space.
MOST_PARAMETERS = 8
#: Part of a range by which a design may be outside it: rounding of units.
_ROUNDING = 1e-9

#: A design: the value of each parameter by its name, or all values in their order.
Design = Mapping[str, float] | ArrayLike


@dataclass(frozen=True, eq=False)
class Parameters(ArrayRecord):
    """Parameters of a design space.

    Parameters
    ----------
    names : tuple of str
        Names of the P parameters, which end with their unit.
    low, high : (P,) float64
        Least and largest values [any unit].

    Raises
    ------
    InputError
        If there are more than eight, a name is repeated, or a range is empty.
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        check_unique("parameters", self.names)
        if len(self.names) > MOST_PARAMETERS:
            raise InputError(
                f"parameters: expected at most {MOST_PARAMETERS}, found {len(self.names)}"
            )
        shape = (len(self.names),)
        check_fields(self, low=shape, high=shape)
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            if not low < high:
                raise InputError(f"{name}: expected low < high, found {low:g} and {high:g}")

    def __len__(self) -> int:
        return len(self.names)

    def values(self, design: Design) -> FloatArray:
        """Return the values (P,) [any unit] of a design, in the order of the names.

        Raises
        ------
        InputError
            If a parameter is missing, unknown or outside its range.
        """
        if isinstance(design, Mapping):
            self._check_names(design)
            design = [design[name] for name in self.names]
        values = check_array("design", design, (len(self.names),))
        self._check_ranges(values)
        return values

    def scaled(self, design: Design) -> FloatArray:
        """Return the values (P,) of a design, scaled to -1 ... 1 [1]; errors as of `values`."""
        return self.scaled_row(self.values(design))

    def scaled_row(self, values: FloatArray) -> FloatArray:
        """Return values (P,), also outside the ranges, scaled to [-1, 1] in the ranges [1]."""
        return self.scaled_rows(values[None])[0]

    def scaled_rows(self, values: FloatArray) -> FloatArray:
        """Return values (N, P) in the units of the names, scaled to [-1, 1] in the ranges [1]."""
        return np.asarray((values - 0.5 * (self.low + self.high)) / (0.5 * (self.high - self.low)))

    def from_unit(self, unit: FloatArray) -> FloatArray:
        """Return the values (..., P) [any unit] of points (..., P) of the unit cube."""
        return np.asarray(self.low + (self.high - self.low) * unit)

    def named(self, values: FloatArray) -> dict[str, float]:
        """Return values (P,) [any unit] by name."""
        return dict(zip(self.names, map(float, values), strict=True))

    def _check_names(self, design: Mapping[str, float]) -> None:
        wrong = [*(set(self.names) - set(design)), *(set(design) - set(self.names))]
        if wrong:
            raise InputError(
                f"design: expected values of {', '.join(self.names) or 'no parameters'}, found "
                f"{', '.join(design) or 'none'}"
            )

    @property
    def accepted(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest accepted values (P,) [any unit]: the ranges, up to rounding."""
        slack = _ROUNDING * (self.high - self.low)
        return self.low - slack, self.high + slack

    def _check_ranges(self, values: FloatArray) -> None:
        least, largest = self.accepted
        outside = (values < least) | (values > largest)
        messages = [
            f"{self.names[k]}: expected {self.low[k]:g} to {self.high[k]:g}, found {values[k]:g}"
            for k in np.flatnonzero(outside)
        ]
        if messages:
            raise InputError(
                f"design: {counted(len(messages), 'parameter')} outside the trained range: "
                + "; ".join(messages)
            )

    def to_header(self) -> list[dict[str, Any]]:
        """Return name and range of each parameter for a JSON header, in the units of the names."""
        return [
            {"name": name, "low": float(low), "high": float(high)}
            for name, low, high in zip(self.names, self.low, self.high, strict=True)
        ]

    @classmethod
    def from_header(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Build from the rows of `to_header`, or raise `InputError`."""
        for row in rows:
            if not isinstance(row, Mapping) or set(row) != {"name", "low", "high"}:
                raise InputError(f"parameters: expected name, low and high, found {row!r}")
        low, high = ([row[key] for row in rows] for key in ("low", "high"))
        return cls(tuple(str(row["name"]) for row in rows), np.array(low), np.array(high))


#: Parameters of the surrogate of a single knee.
NO_PARAMETERS = Parameters((), np.empty(0), np.empty(0))
