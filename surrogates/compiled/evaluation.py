"""Values and derivatives of regressors.

Nothing here allocates: `work` is scratch memory (`workspace_size`, `new_work`), which may hold
anything. `value` and `jacobian` are slices whose lengths tell the number of outputs k; k = 0
is nothing to do.
"""

from __future__ import annotations

from foundation.compiling import kernel, part
from surrogates.compiled.curvature import evaluate_hessian
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
from surrogates.compiled.layout import (
    BLOCKS,
    INPUTS,
    INVERSE_SCALE,
    NETS,
    PLACES,
    POINT_GROUP,
    POINT_LINE,
    POINT_WEIGHTS,
    RADII,
    ROUGH,
    ROWS,
    SHEAR,
    STEEP_SCALE,
    SUMS,
    TERM_LINE,
    TERM_LIST,
    TERM_WEIGHTS,
    TERMS,
    UNIT_BLOCKS,
    UNIT_LINE,
    UNIT_WEIGHTS,
    UNITS,
    VALUE,
    rows_of,
    workspace_size,
)
from surrogates.compiled.sums import STORED, add_rows, add_values

__all__ = [
    "evaluate",
    "evaluate_all",
    "evaluate_hessian",
    "evaluate_value",
    "evaluate_values",
    "workspace_size",
]


@kernel
def evaluate(x, arguments, value, jacobian, work):
    """Fill the outputs and their derivatives at one input.

    Parameters
    ----------
    x : (d,) float64
    arguments : Arguments
        `Regressor.arguments`.
    value : (k,) float64
    jacobian : (k, d) float64
        d(output)/d(input).
    work : (W,) float64
        Scratch memory, `workspace_size(arguments)` numbers or more, see `new_work`.
    """
    outputs = value.size
    if outputs == 0:
        return
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    sums = layout[SUMS]
    for o in range(outputs):
        store(work, sums + o, spread(0.0))
    scale_input(x, layout[INPUTS], layout, numbers, work)
    if layout[BLOCKS] > 0:
        _add_correlations(layout, numbers, work, outputs)
    fill_table(layout, numbers, work)
    term_rows(layout, numbers, work)
    count = layout[TERMS]
    add_rows(
        work, layout[ROWS], count, numbers, layout[TERM_WEIGHTS], count, layout[TERM_LINE],
        sums, outputs, STORED,
    )  # fmt: skip
    if layout[NETS] > 0:
        _add_networks(layout, numbers, work, outputs)
    d = layout[INPUTS]
    for o in range(outputs):
        value[o] = work[sums + o, VALUE]
        for j in range(d):
            jacobian[o, j] = work[sums + o, j] * numbers[INVERSE_SCALE, j]


@part
def _add_correlations(layout, numbers, work, outputs):
    n, sums = layout[BLOCKS] * LANES, layout[SUMS]
    correlate(0, layout[INPUTS], layout, numbers, work, layout[RADII])
    weights, line = layout[POINT_WEIGHTS], layout[POINT_LINE]
    if layout[ROUGH] == 0:
        add_rows(
            work, layout[RADII], n, numbers, weights, n, line, sums, outputs, layout[PLACES]
        )  # fmt: skip
    else:
        steepen(layout, numbers, work)
        for first in range(0, n, POINT_GROUP):
            count = min(POINT_GROUP, n - first)
            point_rows(first, count, layout, numbers, work)
            add_rows(
                work, layout[ROWS], count, numbers, weights + first, n, line + first // LANES,
                sums, outputs, STORED,
            )  # fmt: skip
    # From derivatives by sheared inputs in units of the correlations to those by z
    for o in range(sums, sums + outputs):
        row = load(work, o) * load(numbers, STEEP_SCALE)
        by_first = work[o, 0] * numbers[STEEP_SCALE, 0]
        store(work, o, fma(load(numbers, SHEAR), by_first, row))


@part
def _add_networks(layout, numbers, work, outputs):
    count = layout[UNIT_BLOCKS] * LANES
    for net in range(layout[NETS]):
        rows = unit_rows(net, layout, numbers, work)
        add_rows(
            work, rows, count, numbers, layout[UNIT_WEIGHTS] + net * count, layout[NETS] * count,
            layout[UNIT_LINE] + net * layout[UNIT_BLOCKS], layout[SUMS], outputs, STORED,
        )  # fmt: skip


@kernel
def evaluate_value(x, arguments, value, work):
    """Fill the outputs (k,) at one input (d,); see `evaluate`."""
    if value.size == 0:
        return
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    value[:] = 0.0
    scale_input(x, layout[INPUTS], layout, numbers, work)
    blocks = layout[BLOCKS]
    if blocks > 0:
        correlate(0, layout[INPUTS], layout, numbers, work, layout[RADII])
        add_values(
            work, layout[RADII], blocks, numbers, layout[POINT_WEIGHTS], blocks * LANES,
            layout[POINT_LINE], value,
        )  # fmt: skip
    fill_table(layout, numbers, work)
    count, blocks = layout[TERMS], layout[UNIT_BLOCKS]
    term_values(TERM_LIST, count, layout, work)
    add_values(
        work, layout[ROWS], count // LANES, numbers, layout[TERM_WEIGHTS], count,
        layout[TERM_LINE], value,
    )  # fmt: skip
    count = blocks * LANES
    for net in range(layout[NETS]):
        inner_units(net, layout, numbers, work)
        outer_values(net, layout, numbers, work)
        add_values(
            work, layout[UNITS] + 2 * blocks, blocks, numbers, layout[UNIT_WEIGHTS] + net * count,
            layout[NETS] * count, layout[UNIT_LINE] + net * blocks, value,
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
