"""Values and derivatives of regressors.

The functions do not allocate: `work` is scratch memory (`workspace_size`, `new_work`) of any
content. The lengths of `value` and `jacobian` define the number of outputs k, which may be 0.
"""

from __future__ import annotations

from foundation.base.compiling import kernel, part
from surrogates.compiled import layout as slot
from surrogates.compiled.features import (
    correlate,
    fill_table,
    inner_units,
    outer_values,
    point_rows,
    scale_input,
    steepen,
    term_rows,
    term_values,
    unit_rows,
)
from surrogates.compiled.lanes import LANES, fma, load, spread, store
from surrogates.compiled.layout import rows_of
from surrogates.compiled.splines import add_spline_rows, add_spline_values
from surrogates.compiled.sums import STORED, add_rows, add_values


@kernel
def evaluate(x, arguments, value, jacobian, work):
    """Fill the outputs `value` (k,) and their derivatives at one input `x` (d,).

    `arguments` are `Regressor.arguments`, and `jacobian` (m, d) is d(output)/d(input) of the first
    m <= k outputs. `work` (W,) is scratch memory, `workspace_size(arguments)` numbers or more, see
    `new_work`.
    """
    outputs = value.size
    if outputs == 0:
        return
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    sums = layout[slot.SUMS]
    for o in range(outputs):
        store(work, sums + o, spread(0.0))
    scale_input(x, layout[slot.INPUTS], layout, numbers, work)
    if layout[slot.BLOCKS] > 0:
        _add_correlations(layout, numbers, work, outputs)
    fill_table(layout, numbers, work)
    term_rows(layout, numbers, work)
    count = layout[slot.TERMS]
    if layout[slot.PIECES] > 0:
        add_spline_rows(layout, numbers, work, outputs, jacobian.shape[0])
    else:
        add_rows(
            work, layout[slot.ROWS], count, numbers, layout[slot.TERM_WEIGHTS], count,
            layout[slot.TERM_LINE], sums, outputs, STORED,
        )  # fmt: skip
    if layout[slot.NETS] > 0:
        _add_networks(layout, numbers, work, outputs)
    d = layout[slot.INPUTS]
    for o in range(outputs):
        value[o] = work[sums + o, slot.VALUE]
    for o in range(jacobian.shape[0]):
        for j in range(d):
            jacobian[o, j] = work[sums + o, j] * numbers[slot.INVERSE_SCALE, j]


@part
def _add_correlations(layout, numbers, work, outputs):
    n, sums = layout[slot.BLOCKS] * LANES, layout[slot.SUMS]
    correlate(0, layout[slot.INPUTS], layout, numbers, work, layout[slot.RADII])
    weights, line = layout[slot.POINT_WEIGHTS], layout[slot.POINT_LINE]
    if layout[slot.ROUGH] == 0:
        add_rows(
            work, layout[slot.RADII], n, numbers, weights, n, line, sums, outputs,
            layout[slot.PLACES],
        )  # fmt: skip
    else:
        steepen(layout, numbers, work)
        for first in range(0, n, slot.POINT_GROUP):
            count = min(slot.POINT_GROUP, n - first)
            point_rows(first, count, layout, numbers, work)
            add_rows(
                work, layout[slot.ROWS], count, numbers, weights + first, n, line + first // LANES,
                sums, outputs, STORED,
            )  # fmt: skip
    # From derivatives by sheared inputs in units of the correlations to derivatives by z
    for o in range(sums, sums + outputs):
        row = load(work, o) * load(numbers, slot.STEEP_SCALE)
        by_first = work[o, 0] * numbers[slot.STEEP_SCALE, 0]
        store(work, o, fma(load(numbers, slot.SHEAR), by_first, row))


@part
def _add_networks(layout, numbers, work, outputs):
    count = layout[slot.UNIT_BLOCKS] * LANES
    for net in range(layout[slot.NETS]):
        rows = unit_rows(net, layout, numbers, work)
        add_rows(
            work, rows, count, numbers, layout[slot.UNIT_WEIGHTS] + net * count,
            layout[slot.NETS] * count, layout[slot.UNIT_LINE] + net * layout[slot.UNIT_BLOCKS],
            layout[slot.SUMS], outputs, STORED,
        )  # fmt: skip


@kernel
def evaluate_value(x, arguments, value, work):
    """Fill the outputs (k,) at one input (d,); see `evaluate`."""
    if value.size == 0:
        return
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    value[:] = 0.0
    scale_input(x, layout[slot.INPUTS], layout, numbers, work)
    blocks = layout[slot.BLOCKS]
    if blocks > 0:
        correlate(0, layout[slot.INPUTS], layout, numbers, work, layout[slot.RADII])
        add_values(
            work, layout[slot.RADII], blocks, numbers, layout[slot.POINT_WEIGHTS], blocks * LANES,
            layout[slot.POINT_LINE], value,
        )  # fmt: skip
    fill_table(layout, numbers, work)
    count, blocks = layout[slot.TERMS], layout[slot.UNIT_BLOCKS]
    term_values(slot.TERM_LIST, count, layout, work)
    if layout[slot.PIECES] > 0:
        add_spline_values(0, layout, numbers, work, value)
    else:
        add_values(
            work, layout[slot.ROWS], count // LANES, numbers, layout[slot.TERM_WEIGHTS], count,
            layout[slot.TERM_LINE], value,
        )  # fmt: skip
    count = blocks * LANES
    for net in range(layout[slot.NETS]):
        inner_units(net, layout, numbers, work)
        outer_values(net, layout, numbers, work)
        add_values(
            work, layout[slot.UNITS] + 2 * blocks, blocks, numbers,
            layout[slot.UNIT_WEIGHTS] + net * count, layout[slot.NETS] * count,
            layout[slot.UNIT_LINE] + net * blocks, value,
        )  # fmt: skip


@kernel
def evaluate_all(inputs, arguments, values, jacobians, work):
    """Fill values (N, k) and jacobians (N, k, d) at inputs (N, d); see `evaluate`."""
    for row in range(inputs.shape[0]):
        evaluate(inputs[row], arguments, values[row], jacobians[row], work)


@kernel
def evaluate_values(inputs, arguments, values, work):
    """Fill values (N, k) at inputs (N, d); see `evaluate`."""
    for row in range(inputs.shape[0]):
        evaluate_value(inputs[row], arguments, values[row], work)
