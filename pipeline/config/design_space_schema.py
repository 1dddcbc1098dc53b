"""Section [design_space]: parameters of a family of knees, and inequalities between them.

An inequality, such as "condyle_mm < 0.95 * dish_mm", is parsed by Python's own parser and evaluated
here: numbers, names, + - * / and **, and a chain of comparisons. Nothing else is accepted, so that
a configuration executes no code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.schema_base import Range, Section

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def satisfied(text: str, columns: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
    """Return which rows of columns (N,) [any unit] satisfy an inequality, (N,) bool."""
    compared = _parsed(text)
    with np.errstate(all="ignore"):
        values = [_value(side, columns, text) for side in (compared.left, *compared.comparators)]
        holds: Any = True
        for sign, left, right in zip(compared.ops, values, values[1:], strict=False):
            holds = holds & _COMPARISONS[type(sign)](left, right)
    return np.asarray(holds, dtype=np.bool_)


def check_inequality(text: str, names: Collection[str]) -> None:
    """Raise an InputError unless a text is an inequality between sums and products of names."""
    columns = {name: np.ones(1) for name in names}
    if satisfied(text, columns).shape != (1,):
        raise InputError(f"{text!r}: expected at least one of {', '.join(names)}, found none")


def _parsed(text: str) -> ast.Compare:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{text!r}: expected an inequality such as a < 0.9 * b") from error
    if not isinstance(tree, ast.Compare) or not all(type(op) in _COMPARISONS for op in tree.ops):
        raise InputError(f"{text!r}: expected an inequality with <, <=, > or >=")
    return tree


def _value(node: ast.expr, columns: Mapping[str, FloatArray], text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name in columns:
            return columns[name]
        case ast.Name(id=name):
            raise InputError(f"{text!r}: expected one of {', '.join(columns)}, found {name}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, columns, text)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            values = _value(left, columns, text), _value(right, columns, text)
            return _BINARY[type(sign)](*map(np.float64, values))
    raise InputError(
        f"{text!r}: expected numbers, names, + - * / and **, found {ast.unparse(node)}"
    )


#: Sections whose numbers can be parameters of a design.
_SECTIONS = ("knee.", "contact.")
#: Most parameters (`surrogates.sampling.parameters.MOST_PARAMETERS`).
_MOST = 8


class ParameterConfig(Section):
    """A parameter of the designs: a number of [knee] or [contact] and its range."""

    key: str = Field(description="dotted key of a number in [knee] or [contact]")
    range: Range = Field(description="least and largest value, in the unit of the key")
    name: str = Field(
        "",
        pattern=r"^([A-Za-z][A-Za-z0-9_]*)?$",
        description="name of the parameter; by default the end of its key",
    )

    @property
    def label(self) -> str:
        """Name of the parameter."""
        return self.name or self.key.rpartition(".")[2]

    @model_validator(mode="after")
    def _of_the_knee(self) -> Self:
        if not self.key.startswith(_SECTIONS):
            raise InputError(
                f"key: expected a key of [knee] or [contact], such as "
                f"knee.implant.dish_sagittal_radius_mm, found {self.key!r}"
            )
        return self


class DesignSpaceConfig(Section):
    """Designs: the surrogate is trained over all values of a few parameters at once; optional.

    Samples are drawn in nested designs of experiments: designs in the space of the parameters, and
    poses and loads within each design, as [space] describes. [design] and [validation] of a single
    knee have no effect. A search ([optimisation]) is of these designs.
    """

    designs: int = Field(256, ge=4, le=100_000, description="number of designs that are learnt")
    poses: int = Field(
        200, ge=20, description="samples of each compartment within a design that is learnt"
    )
    rounds: int = Field(
        2, ge=1, le=20, description="rounds, all but the first at designs of large predicted errors"
    )
    unseen: int = Field(
        64, ge=0, description="designs that no fit learns: trusted domain and expected errors"
    )
    held_out: int = Field(20, ge=1, description="designs at which the surrogate is judged")
    seed: int = Field(1, ge=0, description="seed of the designs and of their samples")
    constraints: tuple[str, ...] = Field(
        (), description='inequalities of every design, such as "a_mm < 0.95 * b_mm"'
    )
    parameter: tuple[ParameterConfig, ...] = Field(
        min_length=1, max_length=_MOST, description="[[design_space.parameter]]: varied keys"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(parameter.label for parameter in self.parameter)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names, keys = self.names, [parameter.key for parameter in self.parameter]
        for what, entries in (("name", names), ("key", keys)):
            twice = sorted({entry for entry in entries if entries.count(entry) > 1})
            if twice:
                raise InputError(
                    f"parameter: expected each {what} once, found {', '.join(twice)} again; "
                    "give the parameters a name"
                )
        for text in self.constraints:
            check_inequality(text, names)
        return self
