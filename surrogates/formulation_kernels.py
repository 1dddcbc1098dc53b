"""temp"""
import numpy as np
from numba import njit
from surrogates.kernels import evaluate


#: Steps of the search for the load that a given height carries.
_LOAD_STEPS = 60


@njit(cache=True)
def pose_variables(coordinates, breaks, spline, centre, half, x, slopes):
    """Scale a pose about the reference path; returns its height over the path [m].

    Writes ``x`` (6,): the five scaled variables of the space, unclamped (the last is left), and
    ``slopes`` (6, 6): d(variable)/d(pose coordinate), its last row that of the height over the
    path, zero for a variable outside the box, where it is held.
    """
    flexion = coordinates[0]
    piece = 0
    while piece < breaks.size - 2 and flexion >= breaks[piece + 1]:
        piece += 1
    t = flexion - breaks[piece]
    slopes[:, :] = 0.0
    row = 0
    height = 0.0
    for k in range(5):
        a, b = spline[0, piece, k], spline[1, piece, k]
        c, e = spline[2, piece, k], spline[3, piece, k]
        offset = coordinates[k + 1] - (((a * t + b) * t + c) * t + e)
        path_slope = (3.0 * a * t + 2.0 * b) * t + c
        if k == 3:
            height = offset
            slopes[5, 0] = -path_slope
            slopes[5, 4] = 1.0
            continue
        row += 1
        x[row] = (offset - centre[row]) / half[row]
        if abs(x[row]) <= 1.0:
            slopes[row, 0] = -path_slope / half[row]
            slopes[row, k + 1] = 1.0 / half[row]
    x[0] = (flexion - centre[0]) / half[0]
    if abs(x[0]) <= 1.0:
        slopes[0, 0] = 1.0 / half[0]
    return height


@njit(cache=True)
def load_at_height(height, x, regressor, value, jacobian):
    """Find the scaled root of the load, x[5] > -1, at which the regressor gives `height`.

    ``x[5]`` is written; ``value`` (1,) and ``jacobian`` (1, 6) are left at the root. The height is
    taken to fall with the load; beyond the trained load, x[5] > 1, it goes on along its tangent.
    Returns whether there is contact.
    """
    x[5] = -1.0
    evaluate(x, *regressor, value, jacobian)
    if height >= value[0]:
        return False
    low, high = -1.0, 1.0
    bracketed = False
    # The height falls nearly linearly with the root of the load.
    x[5] = -1.0 + (height - value[0]) / jacobian[0, 5] if jacobian[0, 5] < 0.0 else 0.0
    if x[5] > 1.0:
        x[5] = 1.0
    for _ in range(_LOAD_STEPS):
        evaluate(x, *regressor, value, jacobian)
        excess = value[0] - height
        slope = jacobian[0, 5]
        if excess > 0.0:
            low = x[5]
            if x[5] == 1.0:
                # The tangent goes on; a rising one would have no root, the chord has.
                fall = slope if slope < 0.0 else -abs(excess)
                x[5] = 1.0 - excess / fall
                return True
        else:
            high = x[5]
            bracketed = True
        target = x[5] - excess / slope if slope < 0.0 else 0.5 * (low + high)
        if not (low <= target <= high):
            target = 0.5 * (low + high) if bracketed or target < low else 1.0
        moved = abs(target - x[5])
        x[5] = target
        if moved <= 1e-12:
            break
    evaluate(x, *regressor, value, jacobian)
    return True


@njit(cache=True)
def inverted_loads(
    coordinates, breaks, spline, centre, half, height_regressor, ratio_regressor,
    quantity_regressor, loads, wrench_jacobian, x,
):  # fmt: skip
    """Loads of one compartment at a pose (6,): find the load, then the ratios to it.

    Writes ``loads`` (12,) in the order of `foundation.loads.LOAD_COLUMNS`, ``wrench_jacobian``
    (6, 6) with respect to the pose, and ``x`` (6,), the scaled variables (unclamped).
    """
    slopes = np.empty((6, 6))
    loads[:] = 0.0
    loads[9:] = np.nan
    wrench_jacobian[:, :] = 0.0
    height = pose_variables(coordinates, breaks, spline, centre, half, x, slopes)
    held = np.minimum(np.maximum(x, -1.0), 1.0)
    value = np.empty(1)
    gradient = np.empty((1, 6))
    contact = load_at_height(height, held, height_regressor, value, gradient)
    x[5] = held[5]
    if not contact:
        return
    held[5] = min(held[5], 1.0)
    root = half[5] * (x[5] + 1.0)
    # height(x) = height over the path, differentiated, gives the slope of x[5].
    for j in range(6):
        slope = slopes[5, j]
        for k in range(5):
            slope -= gradient[0, k] * slopes[k, j]
        slopes[5, j] = slope / gradient[0, 5]
    ratios = np.empty(5)
    ratio_jacobian = np.empty((5, 6))
    evaluate(held, *ratio_regressor, ratios, ratio_jacobian)
    axial = root * root
    loads[1] = axial
    for j in range(6):
        wrench_jacobian[1, j] = 2.0 * root * half[5] * slopes[5, j]
    for r in range(5):
        row = 0 if r == 0 else r + 1
        loads[row] = axial * ratios[r]
        for j in range(6):
            change = ratios[r] * wrench_jacobian[1, j]
            for k in range(6):
                if k < 5 or x[5] <= 1.0:
                    change += axial * ratio_jacobian[r, k] * slopes[k, j]
            wrench_jacobian[row, j] = change
    quantities = np.empty(6)
    quantity_jacobian = np.empty((6, 6))
    evaluate(held, *quantity_regressor, quantities, quantity_jacobian)
    for k in range(3):
        loads[6 + k] = root * quantities[k]
        loads[9 + k] = quantities[3 + k]


@njit(cache=True)
def direct_loads(
    coordinates, breaks, spline, centre, half, regressor, loads, wrench_jacobian, x
):
    """Loads of one compartment at a pose (6,) by a regressor of all twelve over the pose.

    Writes as `inverted_loads` does; the last variable is the scaled height over the path.
    """
    slopes = np.empty((6, 6))
    height = pose_variables(coordinates, breaks, spline, centre, half, x, slopes)
    x[5] = (height - centre[5]) / half[5]
    for j in range(6):
        slopes[5, j] = slopes[5, j] / half[5] if abs(x[5]) <= 1.0 else 0.0
    held = np.minimum(np.maximum(x, -1.0), 1.0)
    gradient = np.empty((12, 6))
    evaluate(held, *regressor, loads, gradient)
    for row in range(6):
        for j in range(6):
            change = 0.0
            for k in range(6):
                change += gradient[row, k] * slopes[k, j]
            wrench_jacobian[row, j] = change
