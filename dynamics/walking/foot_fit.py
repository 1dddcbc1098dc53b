"""Fore-aft agreement of ground force and foot.

The centre of pressure is under the foot: ahead of the heel when the foot takes the load, and up to
the metatarsal heads when the foot pushes off. A motion of a planar model, or a plate whose place in
the lab is some centimetres off, may violate that; at ankle and knee, 10 mm are 0.1 N m/kg.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.walking.inverse_dynamics import LegLoads
from dynamics.walking.trial import GaitTrial
from foundation.base.checks import FloatArray

#: Smaller differences are not corrected [m].
SMALLEST = 0.005
#: Share of its peak above which the vertical force is at the peak, and end of early stance [%].
_AT_PEAK, _EARLY = 0.9, 30.0


def force_ahead(trial: GaitTrial, leg: LegLoads) -> float:
    """Return how far a ground force is ahead of a foot [m]; negative behind the heel.

    At the late peak of the vertical force (where the force is at least 0.9 of the peak), the mean
    distance of the centre of pressure from the metatarsal heads; if negative, the mean distance
    from the heel at the early peak (up to 30 % of the stride); 0 for a force between heel and
    metatarsal heads.

    Parameters
    ----------
    trial : GaitTrial
        Stride.
    leg : LegLoads
        Inverse dynamics of the stride.
    """
    centre = trial.centre_of_pressure[:, 0]
    early = trial.percent < _EARLY
    ahead = _mean_at_peak(trial, ~early, centre - leg.toe[:, 0])
    behind = _mean_at_peak(trial, early, leg.heel[:, 0] - centre)
    return ahead if ahead > 0.0 else -max(behind, 0.0)


def _mean_at_peak(trial: GaitTrial, phase: np.ndarray, distance: FloatArray) -> float:
    vertical = np.where(phase, trial.force[:, 1], 0.0)
    at_peak = (vertical > 0.0) & (vertical >= _AT_PEAK * vertical.max())
    return float(distance[at_peak].mean()) if at_peak.any() else 0.0


def fitted_to_foot(trial: GaitTrial, leg: LegLoads) -> tuple[GaitTrial, float]:
    """Return a stride with the force moved fore and aft by a constant, onto the foot.

    The move [m], forward positive, is minus `force_ahead`, or zero below 5 mm. Force and free
    torque do not change. Parameters as of `force_ahead`.
    """
    ahead = force_ahead(trial, leg)
    if abs(ahead) < SMALLEST:
        return trial, 0.0
    moved = trial.centre_of_pressure - (ahead, 0.0, 0.0)
    return replace(trial, centre_of_pressure=moved), -ahead
