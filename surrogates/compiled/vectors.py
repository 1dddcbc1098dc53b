"""The operations of `surrogates.compiled.lanes` for numba: a type of eight doubles.

Numba leaves vectorisation to LLVM's loop vectoriser, which vectorises neither sums of a fixed order
nor loops of eight iterations; hence a separate type.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, extending
from numba.core.extending import lower_builtin, models, register_model
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

intrinsic: Any = extending.intrinsic  # untyped, since it returns the decorated function's type

_DOUBLE, _LONG, _INT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR, _LONGS = ir.VectorType(_DOUBLE, 8), ir.VectorType(_LONG, 8)


class _Row(types.Type):
    def __init__(self) -> None:
        super().__init__(name="SurrogateRow")


row_type = _Row()


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _broadcast(builder: Any, number: Any) -> Any:
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, _INT(0))
    mask = ir.Constant(ir.VectorType(_INT, 8), [0] * 8)
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), mask)


def _as_row(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    if isinstance(kind, _Row):
        return value
    return _broadcast(builder, context.cast(builder, value, kind, types.float64))


class _Arithmetic(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows = [isinstance(a, _Row) for a in args]
        numbers = [isinstance(a, types.Float | types.Integer) for a in args]
        if len(args) == 2 and any(rows) and sum(rows) + sum(numbers) == 2:
            return signature(row_type, *args)
        return None


def _define(operation: Any, instruction: str) -> None:
    infer_global(operation)(type("_Template", (_Arithmetic,), {"key": operation}))

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        left, right = (_as_row(context, builder, a, k) for a, k in zip(args, sig.args, strict=True))
        return getattr(builder, instruction)(left, right)

    for pair in (
        (_Row, _Row),
        (_Row, types.Float),
        (types.Float, _Row),
        (_Row, types.Integer),
        (types.Integer, _Row),
    ):
        lower_builtin(operation, *pair)(lower)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_operation, _instruction)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    first = builder.gep(data, [builder.mul(index, _LONG(8))])
    return builder.bitcast(first, _VECTOR.as_pointer())


def _check_rows(kind: Any) -> None:
    if not (isinstance(kind, types.Array) and kind.ndim == 2 and kind.layout == "C"):
        raise TypeError(f"expected a C-contiguous (rows, 8) array, found {kind}")


@intrinsic
def load(typing, array, index):  # noqa: D103 - see `surrogates.compiled.lanes`
    _check_rows(array)

    def build(context, builder, sig, args):
        place = context.cast(builder, args[1], sig.args[1], types.int64)
        row = builder.load(_pointer(context, builder, sig.args[0], args[0], place))
        row.align = 8
        return row

    return row_type(array, index), build


@intrinsic
def store(typing, array, index, row):  # noqa: D103
    _check_rows(array)

    def build(context, builder, sig, args):
        place = context.cast(builder, args[1], sig.args[1], types.int64)
        pointer = _pointer(context, builder, sig.args[0], args[0], place)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, index, row_type), build


def _number_pointer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.int64)])


@intrinsic
def peek(typing, array, index):  # noqa: D103
    _check_rows(array)

    def build(context, builder, sig, args):
        return builder.load(_number_pointer(context, builder, sig, args))

    return types.float64(array, index), build


@intrinsic
def poke(typing, array, index, number):  # noqa: D103
    _check_rows(array)

    def build(context, builder, sig, args):
        builder.store(args[2], _number_pointer(context, builder, sig, args))
        return context.get_dummy_value()

    return types.void(array, index, types.float64), build


@intrinsic
def spread(typing, number):  # noqa: D103
    def build(context, builder, sig, args):
        return _broadcast(builder, args[0])

    return row_type(types.float64), build


def _call(builder: Any, name: str, args: Any) -> Any:
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * len(args)), f"llvm.{name}.v8f64"
    )
    return builder.call(function, args)


@intrinsic
def fma(typing, a, b, c):  # noqa: D103
    def build(context, builder, sig, args):
        rows = [_as_row(context, builder, v, k) for v, k in zip(args, sig.args, strict=True)]
        return _call(builder, "fma", rows)

    return row_type(a, b, c), build


@intrinsic
def absolute(typing, row):  # noqa: D103
    def build(context, builder, sig, args):
        return _call(builder, "fabs", args)

    return row_type(row_type), build


@intrinsic
def signed(typing, row, signs):  # noqa: D103
    def build(context, builder, sig, args):
        return _call(builder, "copysign", args)

    return row_type(row_type, row_type), build


@intrinsic
def at_most(typing, row, number):  # noqa: D103
    def build(context, builder, sig, args):
        bound = _broadcast(builder, args[1])
        more = builder.fcmp_ordered(">", args[0], bound)
        return builder.select(more, bound, args[0])

    return row_type(row_type, types.float64), build


@intrinsic
def power_of_two(typing, shifted):  # noqa: D103
    def build(context, builder, sig, args):
        bits = builder.bitcast(args[0], _LONGS)
        bias = builder.add(bits, ir.Constant(_LONGS, [1023] * 8))
        exponent = builder.shl(bias, ir.Constant(_LONGS, [52] * 8))
        return builder.bitcast(exponent, _VECTOR)

    return row_type(row_type), build


@intrinsic
def total(typing, row):  # noqa: D103
    def build(context, builder, sig, args):
        lanes = [builder.extract_element(args[0], _INT(i)) for i in range(8)]
        halves = [builder.fadd(lanes[i], lanes[i + 4]) for i in range(4)]
        return builder.fadd(builder.fadd(halves[0], halves[2]), builder.fadd(halves[1], halves[3]))

    return types.float64(row_type), build
