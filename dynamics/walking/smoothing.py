"""Low-pass filter of measured signals, and splines for their derivatives.

A Butterworth filter of second order runs forwards and backwards (Winter 2009, ch. 3).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.signal import butter, sosfiltfilt

from dynamics.walking.motion_tables import MotionTable
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

_ORDER = 2


def smoothed(table: MotionTable, signals: FloatArray, name: str, cutoff: float | None) -> BSpline:
    """Return a quintic spline through filtered signals.

    Parameters
    ----------
    table : MotionTable
        Table of the signals, with N instants.
    signals : (N, k) float64
        Signals in any unit [1].
    name : str
        Name of the cut-off in messages.
    cutoff : float or None
        Cut-off frequency [Hz]; None for no filter.

    Raises
    ------
    InputError
        If the table has fewer than 6 rows, the cut-off is not below 0.4 of its rate, or rows are
        missing for half a period of the cut-off or more.
    """
    time = table.time
    if len(time) < 6:
        raise InputError(f"{table.source}: expected at least 6 rows, found {len(time)}")
    if cutoff is None:
        return make_interp_spline(time, signals, k=5)
    # The filter needs equal steps; time stamps with few decimals are slightly uneven.
    steps = np.diff(time)
    count = 1 + round((time[-1] - time[0]) / float(np.median(steps)))
    even = np.linspace(time[0], time[-1], count)
    rate = (count - 1) / (time[-1] - time[0])
    label = f"{name} of {table.source} with {rate:.4g} rows per second"
    checked = check_number(label, cutoff, above=0.0, below=0.4 * rate, unit="Hz")
    longest = int(steps.argmax())
    if steps[longest] > 0.5 / checked:
        raise InputError(
            f"{table.source}: expected rows at most {0.5 / checked:.3g} s apart for a cut-off of "
            f"{checked:g} Hz, found no row between {time[longest]:g} and {time[longest + 1]:g} s"
        )
    raised = checked / (math.sqrt(2.0) - 1.0) ** (0.5 / _ORDER)
    sections = butter(_ORDER, raised, fs=rate, output="sos")
    level = make_interp_spline(time, signals, k=3)(even)
    padding = min(count - 1, math.ceil(rate / checked))
    return make_interp_spline(even, sosfiltfilt(sections, level, axis=0, padlen=padding), k=5)
