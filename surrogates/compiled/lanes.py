"""Eight numbers side by side: arithmetic on rows of the (rows, 8) arrays of the kernels.

Compiled, a `load`ed row is one vector of the processor, and every operation below one or a few
instructions; without numba it is an array of numpy. Sums of rows run in the order in which they are
written, lane by lane, and products are rounded where they are written: compiled, an answer is the
same to the last bit on every processor.

==================================  ===============================================================
``load(a, i)``, ``store(a, i, v)``  read and write row i of a (rows, 8), which must exist
``peek(a, i)``, ``poke(a, i, s)``   read and write number i of a, counted row by row
``spread(s)``                       eight times the number s
``fma(a, b, c)``                    a b + c, compiled rounded once
``a + b``, ``-``, ``*``, ``/``      of rows, or of a row and a number
``absolute(v)``                     |v|
``signed(v, w)``                    |v| with the signs of w
``at_most(v, s)``                   the lesser of v and the number s
``power_of_two(t)``                 2^k of t = `SHIFT` + k, k an integer from -1022 to 1023
``total(v)``                        the sum of the eight
==================================  ===============================================================
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import COMPILED

LANES = 8
#: Added to a number, rounds it to an integer which then stands in its last bits.
SHIFT = 1.5 * 2.0**52

if COMPILED:
    from surrogates.compiled.vectors import (
        absolute,
        at_most,
        fma,
        load,
        peek,
        poke,
        power_of_two,
        signed,
        spread,
        store,
        total,
    )
else:

    def load(a, i):  # noqa: D103 - see the table above, also for the functions below
        return a[i].copy()

    def store(a, i, v):  # noqa: D103
        a[i] = v

    def peek(a, i):  # noqa: D103
        return a[i // LANES, i % LANES]

    def poke(a, i, s):  # noqa: D103
        a[i // LANES, i % LANES] = s

    def spread(s):  # noqa: D103
        return np.full(LANES, s)

    def fma(a, b, c):  # noqa: D103
        return a * b + c

    def absolute(v):  # noqa: D103
        return np.abs(v)

    def signed(v, s):  # noqa: D103
        return np.copysign(v, s)

    def at_most(v, s):  # noqa: D103
        return np.minimum(v, s)

    def power_of_two(t):  # noqa: D103
        return ((t.view(np.int64) + 1023) << 52).view(np.float64)

    def total(v):  # noqa: D103
        w = v[:4] + v[4:]
        return (w[0] + w[2]) + (w[1] + w[3])


__all__ = [
    "LANES",
    "SHIFT",
    "absolute",
    "at_most",
    "fma",
    "load",
    "peek",
    "poke",
    "power_of_two",
    "signed",
    "spread",
    "store",
    "total",
]
