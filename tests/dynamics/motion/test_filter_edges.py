"""Instants at which the filter of a motion has no data on one side."""

import numpy as np
import pytest

from dynamics.motion.filter_edges import EDGE, edge_notes
from dynamics.motion.motion_tables import MotionTable
from dynamics.motion.smoothing import smoothed

ROWS = 0.01 * np.arange(101.0)


@pytest.mark.parametrize(
    ("start", "stop", "told"),
    [
        (0.2, 0.8, []),
        (0.04, 0.96, []),
        (0.2, 1.0, ["found an end at 1 s: the frames from 0.97 s", "set the end = 0.9667"]),
        (0.01, 0.8, ["found an end at 0 s: the frames up to 0.03 s", "set the start = 0.03333"]),
        (0.0, 1.0, ["frames up to 0.03 s", "frames from 0.97 s"]),
    ],
)
def test_instants_near_the_ends_are_told(start, stop, told):
    instants = ROWS[round(100 * start) : round(100 * stop) + 1]
    keys = ("the start", "the end")
    assert edge_notes("a.mot", ROWS, instants, None, keys) == ()
    text = "\n".join(edge_notes("a.mot", ROWS, instants, 6.0, keys))
    assert bool(text) == bool(told)
    for part in told:
        assert part in text


def test_accelerations_are_off_near_the_end_alone():
    """The error of a short record against a long one falls within the distance that is told."""
    long = 0.005 * np.arange(401.0)
    signal = np.sin(2.0 * np.pi * 1.1 * long) + 0.4 * np.cos(2.0 * np.pi * 3.1 * long)

    def accelerations(count, at):
        table = MotionTable(("x",), long[:count], signal[:count, None])
        return smoothed(table, table.values, "cutoff", 6.0)(at, 2)[:, 0]

    at = long[201:291]
    wrong = np.abs(accelerations(291, at) - accelerations(401, at))
    size = np.sqrt((accelerations(401, at) ** 2).mean())
    near = at > long[290] - EDGE / 6.0
    assert wrong[-1] > 0.5 * size
    assert wrong[~near].max() < 0.5 * wrong[near].max()
    assert wrong[at < long[290] - 1.5 / 6.0].max() < 0.02 * size
