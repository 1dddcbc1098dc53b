"""A packed regressor: two arrays, of the same types for every family.

`layout` contains counts, row numbers and the polynomial terms; `numbers`, (rows, 8), all other
data in scaled form: inputs by their scales, correlations by their lengths, weights by the outputs'
scales, and the constant's weight shifted by the outputs' offsets. A row contains

- eight inputs (seven at most; the eighth lane belongs to the value);
- eight points, or hidden units, side by side;
- the weights of one feature for eight outputs;
- one coefficient of the four B-splines of a piece between two knots, then of their derivatives.

Lists of features are padded to whole rows by features of weight zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.compiling import inlined, kernel
from surrogates.compiled.lanes import LANES

#: Lane of the value in the row of a feature; the lanes before are derivatives by the inputs.
VALUE = 7

# Places in `layout`: counts
(
    INPUTS, OUTPUTS, TERMS, RESTS, DEGREE, LAST_DEGREE, BLOCKS, NETS, UNIT_BLOCKS, ROUGH,
    LAST_MOVES_FIRST, REST_LIST, PIECES,
    # first rows in `numbers`
    FIXED, POINTS, PLACES, INNER, INNER_ROWS, HIDDEN, HIDDEN_BIAS,
    TERM_WEIGHTS, POINT_WEIGHTS, UNIT_WEIGHTS, TERM_LINE, POINT_LINE, UNIT_LINE,
    REST_WEIGHTS, KNOTS, SPLINES,
    # first rows in the scratch memory
    SUMS, TABLE, ROWS, RADII, STEEPS, UNITS, LINE, LINE_BASE, LINE_UNITS, BENDS, BLENDS,
    BLENDED, WORK_SIZE,
) = range(42)  # fmt: skip
#: Kinds of correlation (7), inputs of another kind than the squared exponential (7), and the terms:
#: parent, input and place of the factor in the table of each term.
KINDS, ROUGH_LIST, TERM_LIST = 42, 49, 56

# Rows in `numbers`: unit vectors, then constants of each input
UNIT, OFFSET, INVERSE_SCALE, SCALE, SHEAR = 0, 8, 9, 10, 11
# of the correlations, see `_CONSTANTS`; one in every lane but the value's; `wave`; the
# scale of the derivatives in the rows of points
UPPER, LOWER, BEND, OTHERS, WAVE, STEEP_SCALE = 12, 14, 16, 19, 20, 21
FIXED_ROWS = 22

#: Number of points with rows in memory at a time, so that the rows fit the first-level cache.
POINT_GROUP = 64


class Arguments(NamedTuple):
    """Packed form of a regressor: `layout` (L,) int64 and `numbers` (R, 8) [1]; see the module."""

    layout: NDArray[np.int64]
    numbers: FloatArray


@kernel
def workspace_size(arguments):
    """Return the size of the scratch memory that the kernels need for a regressor."""
    return LANES * arguments.layout[WORK_SIZE]


@inlined
def rows_of(work):
    """Return scratch memory (W,) as rows of eight, (W // 8, 8)."""
    rows = work.size // LANES
    return work[: LANES * rows].reshape(rows, LANES)


def new_work(size: int) -> FloatArray:
    """Return scratch memory (size,) [any unit]; other arrays work as well, but are slower.

    The memory begins at a cache line, as does every multiple of 8 numbers behind the beginning.
    """
    memory = np.zeros(size + LANES)
    first = (-memory.ctypes.data // memory.itemsize) % LANES
    return memory[first : first + size]
