"""Inequalities between named numbers, such as "condyle_mm < 0.95 * dish_mm", as text.

The text is parsed by Python's own parser, and evaluated here: numbers, names, + - * / and **, and a
chain of comparisons. Nothing else is accepted, so that a configuration executes no code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

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
    """Return which rows of columns (N,) [any unit] satisfy an inequality, (N,) bool.

    Raises `InputError` as `check_inequality`. A row without a value, such as 0 / 0, does not.
    """
    compared = _parsed(text)
    with np.errstate(all="ignore"):
        values = [_value(each, columns, text) for each in (compared.left, *compared.comparators)]
        found: Any = True
        for sign, left, right in zip(compared.ops, values, values[1:], strict=False):
            found = found & _COMPARISONS[type(sign)](left, right)
    return np.asarray(found, dtype=np.bool_)


def check_inequality(text: str, names: Collection[str]) -> None:
    """Raise an InputError unless a text is an inequality between sums and products of names."""
    columns = {name: np.ones(1) for name in names}
    if satisfied(text, columns).shape != (1,):
        raise InputError(f"{text!r}: expected at least one of {', '.join(names)}, found none")


def _parsed(text: str) -> ast.Compare:
    try:
        found = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{text!r}: expected an inequality such as a < 0.9 * b") from error
    if not isinstance(found, ast.Compare) or not all(type(op) in _COMPARISONS for op in found.ops):
        raise InputError(f"{text!r}: expected an inequality with <, <=, > or >=")
    return found


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
