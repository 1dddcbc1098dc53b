"""Instants at which a low-pass filter of a motion lacks data on one side.

Beyond the first and the last row, a filter continues a motion by its mirror image about the end
point, which has no acceleration there: accelerations are off by as much as themselves at the ends,
and by less near them (docs/muscle_walks.md, with the errors of contact forces that follow).
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray

#: Part of a motion beside its ends in which the filter distorts: periods of its cut-off frequency,
#: and at least some instants.
EDGE, _INSTANTS = 0.2, 3
#: Slack of instants [s].
_SLACK = 1e-6


def edge_notes(
    source: str,
    rows: FloatArray,
    instants: FloatArray,
    cutoff: float | None,
    keys: tuple[str, str],
) -> tuple[str, ...]:
    """Return a note for each end of a filtered motion whose distance to the instants is too small.

    Parameters
    ----------
    source : str
        Name of the motion.
    rows : (N,) float64
        Instants of the rows [s].
    instants : (M,) float64
        Instants that are used [s].
    cutoff : float or None
        Cut-off frequency [Hz]; None for no filter.
    keys : tuple of str
        Keys of a configuration that state the first and the last instant.

    Returns
    -------
    tuple of str
        Up to two sentences.
    """
    if cutoff is None:
        return ()
    needed = max(EDGE / cutoff, _INSTANTS * float(np.diff(instants).min()))
    begin, end = float(rows[0]), float(rows[-1])
    notes = []
    for ahead, frames, key, better in (
        (instants - begin, "up to", keys[0], begin + needed),
        (end - instants, "from", keys[1], end - needed),
    ):
        near = instants[ahead < needed - _SLACK]
        if len(near):
            edge, instant = (begin, near[-1]) if frames == "up to" else (end, near[0])
            notes.append(
                f"{source}: expected rows for {needed:.3g} s before and after the walk, as "
                f"the filter of {cutoff:g} Hz distorts accelerations at the ends of the "
                f"motion, found an end at {edge:g} s: the frames {frames} {instant:.4g} s are "
                f"doubtful; give a longer motion, or set {key} = {better:.4g}"
            )
    return tuple(notes)
