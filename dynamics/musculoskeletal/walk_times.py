"""Times of the files of a walk: in seconds, and of one clock."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Largest time between rows that resolve a step [s].
_COARSEST = 0.1


def check_seconds(source: object, time: FloatArray) -> None:
    """Refuse rows at times (N,) [s] that are too far apart for seconds; `source` is the file."""
    if len(time) < 2:
        return
    step = float(np.median(np.diff(time)))
    if step <= _COARSEST:
        return
    whole = step == round(step)
    unit = "numbers of frames, or per cent of a stride" if whole else "milliseconds"
    raise InputError(
        f"{source}: expected times in seconds, with rows at most {_COARSEST:g} s apart, found rows "
        f"{step:.4g} apart from {time[0]:g} to {time[-1]:g}; the times look like {unit}: convert "
        "them to seconds"
    )
