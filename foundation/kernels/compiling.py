"""How the kernels are compiled and cached."""

from __future__ import annotations

from numba import njit

#: Fused multiply-add is allowed, other reordering is not: the same machine gives the same bits.
#: (But for a kernel that the compiler inlines when it is new and calls when it is from the cache:
#: its sums are then fused otherwise. Tests that compare workers with one process find such a one.)
#: Division by zero gives infinity, since a test for it in a loop keeps the compiler from handling
#: several turns of the loop at once.
#:
#: To numba a number or truth value that is written out, in a call or for a variable that a loop
#: will change, is a type of its own, for which what is called is compiled once more; `np.int64(0)`
#: is not.
kernel = njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
#: For what kernels alone call. It has no way in from Python, which would take as long to compile as
#: a short kernel itself: called from there, it ends the program. Call its `py_func`.
part = njit(
    cache=True, nogil=True, fastmath={"contract"}, error_model="numpy", no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)  # fmt: skip
#: For what becomes part of its caller before that is compiled.
pasted = njit(nogil=True, fastmath={"contract"}, error_model="numpy", inline="always")

#: Lines or elements that are handled side by side. Loops over them have this constant length and
#: run over neighbouring numbers, so that the compiler makes vector instructions of them.
LANES = 16
#: Rows of a block of elements, see `foundation.kernels.blocks`.
BLOCK_ROWS = 249
