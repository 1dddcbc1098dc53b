"""How the kernels are compiled; without numba they run as they stand, slowly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ImportError:  # numba is for speed alone

    def njit(*functions: Any, **_: Any) -> Any:
        """Return the function itself in place of its compiled form."""
        return functions[0] if functions else lambda function: function

    COMPILED = False
else:
    COMPILED = True

#: No reordering of sums: the same arguments give the same bits. Division by zero gives infinity
#: instead of an exception.
#:
#: To numba a number or truth value written out in a call is a type of its own, for which the callee
#: is compiled once more; where that is no gain, `np.int64(0)` or `np.bool_(True)` stands in a call.
kernel: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")
#: For what kernels alone call. It has no way in from Python, which would take as long to compile as
#: a short kernel itself: called from there, it ends the program. Call its `py_func`.
part: Callable[..., Any] = njit(
    cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
#: For what Python calls with scratch memory of its own: the interpreter's lock guards it.
entry: Callable[..., Any] = njit(cache=True, error_model="numpy")
#: For the few instructions on rows of `surrogates.compiled.lanes`.
inlined: Callable[..., Any] = njit(nogil=True, error_model="numpy", forceinline=True)

#: For what becomes part of its caller before that is compiled: short kernels with few callers or
#: called with literals, since each compiled kernel holds all that it calls once more; and one that
#: takes another as an argument, since numba does not cache a function that hands another one on.
pasted: Callable[..., Any] = njit(nogil=True, error_model="numpy", inline="always")
