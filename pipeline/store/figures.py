"""Figures of a run as one table in SI units; `validation.json`, with those of held-out samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, RootModel, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import WRENCH_COLUMNS
from pipeline.store.quantities import CATALOGUE
from pipeline.store.run_documents import Count, Number, NumberOrNone, Part

#: What the figures of a surrogate are about: its errors at samples that no fit has seen.
AT_POSE, AT_LOAD = "pose given", "load given"
#: Statistics that are shares of the quantity, or have no unit.
_SHARES, _PURE = frozenset({"nrmse", "coverage"}), frozenset({"q2"})


def _known(column: str) -> str:
    if column not in CATALOGUE:
        raise InputError(f"expected a quantity, found {column!r:.60}")
    return column


class Figure(Part):
    """A figure: `statistic` of a `quantity`, a column of the catalogue with its SI unit.

    `part` is a compartment, `points` the number of samples. The value is that in the unit of the
    quantity or, of a share, in 1; null where the figure is undefined.
    """

    about: str
    part: str
    quantity: Annotated[str, AfterValidator(_known)]
    statistic: str
    # Far beyond: Q² where the truth is constant except for rounding.
    value: Annotated[float, Field(ge=-1e300, le=1e30)] | None
    points: Count

    @classmethod
    def of(
        cls, about: str, part: str, quantity: str, statistic: str, value: float, points: int
    ) -> Self:
        """Return a figure; a value that is not finite is undefined."""
        known = value if math.isfinite(value) else None
        return cls(
            about=about, part=part, quantity=quantity, statistic=statistic, value=known,
            points=points,
        )  # fmt: skip

    @property
    def displayed(self) -> dict[str, Any]:
        """The figure in the unit in which people read it, which ends one of its keys."""
        quantity, content = CATALOGUE[self.quantity], self.content()
        factor = quantity.factor
        if self.statistic in _SHARES | _PURE:
            content["quantity"], factor = quantity.name, 1.0
            if self.statistic in _SHARES:
                content["statistic"], factor = f"{self.statistic}_percent", 100.0
        else:
            content["quantity"] = quantity.column_for_people
        return content | {"value": None if self.value is None else factor * self.value}


class Figures(RootModel[list[Figure]]):
    """Table of figures."""

    @cached_property
    def _places(self) -> dict[tuple[str, str, str, str], Figure]:
        return {(row.about, row.part, row.quantity, row.statistic): row for row in self.root}

    def get(self, about: str, part: str, quantity: str, statistic: str) -> Figure | None:
        """Return a figure, None if the table lacks it."""
        return self._places.get((about, part, quantity, statistic))

    def value(self, about: str, part: str, quantity: str, statistic: str) -> float | None:
        """Return a value in SI units; None if the figure is undefined or missing."""
        figure = self.get(about, part, quantity, statistic)
        return None if figure is None else figure.value

    def shown(self, about: str, part: str, quantity: str, statistic: str) -> float | None:
        """Return a value in the unit in which people read it, as `value`."""
        figure = self.get(about, part, quantity, statistic)
        return None if figure is None else figure.displayed["value"]

    def of(self, about: str, statistic: str, *quantities: str) -> Iterator[Figure]:
        """Yield the figures of quantities in all parts."""
        for row in self.root:
            if (row.about, row.statistic) == (about, statistic) and row.quantity in quantities:
                yield row

    def worst(self, about: str, statistic: str, *quantities: str) -> Figure | None:
        """Return the largest of figures, None without any; an undefined one is the largest."""
        rows = self.of(about, statistic, *quantities)
        return max(rows, key=lambda row: math.inf if row.value is None else row.value, default=None)

    def quantities(self, about: str, part: str) -> list[str]:
        """Return the quantities with figures about something."""
        known = (row for row in self.root if (row.about, row.part) == (about, part))
        return list(dict.fromkeys(row.quantity for row in known))

    def points(self, about: str, part: str) -> int:
        """Return the number of samples of the axial force; 0 without any."""
        figure = self.get(about, part, "force_y_N", "rmse")
        return 0 if figure is None else figure.points

    def without(self, names: Iterable[str]) -> Figures:
        """Return the table without the figures of quantities, by their names."""
        hidden = set(names)
        return Figures([row for row in self.root if CATALOGUE[row.quantity].name not in hidden])

    @property
    def displayed(self) -> list[dict[str, Any]]:
        """The figures in the units in which people read them."""
        return [row.displayed for row in self.root]


def of_model(about: str, model: int) -> str:
    """Return what figures of a model of `validation.json` are about; the first is the main one."""
    return f"{about}, model {model}" if model else about


class Fitted(Part):
    """A surrogate that was judged: its fit [s], and the stage whose samples it was trained on."""

    formulation: str
    family: str
    trained_on: str
    fit_s: NumberOrNone


class FrontRow(Part):
    """A surrogate from which the family "auto" chose, with its out-of-sample errors."""

    part: str
    family: str
    size: Count
    load_error_share: Number
    height_m: Number
    operations: Count
    chosen: bool


class Round(Part):
    """Training samples of the surrogates of a round; errors of the worse compartment.

    Of the axial load at a pose over the largest, and of the height at a load; cross-validated, and
    at held-out samples.
    """

    samples: Count
    load_error_share: NumberOrNone = None
    height_m: NumberOrNone = None
    held_out_load_error_share: NumberOrNone = None
    held_out_height_m: NumberOrNone = None


class Validation(Part):
    """`validation.json`: accuracy of the main surrogate, of others, and of the last round's."""

    models: Annotated[list[Fitted], Field(min_length=1)]
    figures: Figures
    front: list[FrontRow] = Field(default_factory=list)
    learning_curve: list[Round]

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the compartments."""
        return tuple(dict.fromkeys(row.part for row in self.figures.root))

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for compartment in self.parts:
            for column in WRENCH_COLUMNS:
                if self.figures.get(AT_POSE, compartment, column, "nrmse") is None:
                    raise InputError(f"figures: lacks the nrmse of {column} of {compartment}")
        return self
