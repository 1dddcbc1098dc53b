"""Flag of instants at which the forces of contact jump and do not balance."""

from __future__ import annotations

import numpy as np

from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray


def jump_flags(
    motion: CoordinateMotion, names: tuple[str, ...], time: FloatArray, imbalance: FloatArray
) -> list[str]:
    """Return a flag of the instants (N,) [s] at which forces of contact jump, with what they leave.

    `imbalance` (N, C) [N m, N] are the generalised forces that are left on the C named coordinates,
    zero where they balance.
    """
    at = np.flatnonzero(np.abs(imbalance).max(axis=1, initial=0.0))
    if not len(at):
        return []
    largest = np.abs(imbalance).max(axis=0)
    turns = np.array(motion.rotational)[motion.index(names)]
    left = [
        f"{largest[rows].max():.2g} {unit} ({names[rows[largest[rows].argmax()]]})"
        for unit, rows in (("N", np.flatnonzero(~turns)), ("N m", np.flatnonzero(turns)))
        if len(rows)
    ]
    return [
        f"{len(at)} of {len(time)} instants, first at {time[at[0]]:g} s: the forces jump where "
        f"springs meet an edge or a border of a surface, and balance up to {' and '.join(left)}; "
        "finer meshes make the jumps smaller"
    ]
