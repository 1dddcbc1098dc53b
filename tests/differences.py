"""Central differences, the oracle of all derivatives."""

import numpy as np

from foundation.base.pose import Pose


def differences(function, x, step=1e-6):
    """Derivatives of a function of an array (d,), along the last axis; one step, or one each."""
    x = np.asarray(x, dtype=float)
    moves = np.diag(np.broadcast_to(step, x.shape))
    slopes = [(np.asarray(function(x + m)) - function(x - m)) / (2.0 * m.sum()) for m in moves]
    return np.stack(slopes, axis=-1)


def pose_differences(function, pose, step=1e-6):
    """Derivatives of a function of a pose by its coordinates, along the last axis."""
    return differences(lambda x: function(Pose.from_array(x)), pose.array, step)
