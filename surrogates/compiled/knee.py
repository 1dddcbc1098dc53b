"""Loads of both compartments of a knee at a pose, for the compiled loop of a simulation.

The arguments of a compartment are packed into three arrays, of the same types for all surrogates,
so that a user's loop is compiled only once and calls from Python are fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, frozen
from foundation.base.compiling import entry, kernel, part, pasted
from surrogates.compiled.compartments import (
    INVERTED,
    Box,
    Condyle,
    Constants,
    compartment_loads,
    compartment_workspace,
)
from surrogates.compiled.domain import DOMAIN_SCRATCH, extrapolation
from surrogates.compiled.lanes import LANES
from surrogates.compiled.layout import Arguments, new_work, workspace_size
from surrogates.compiled.load_hessians import HESSIAN_SCRATCH, compartment_hessian
from surrogates.compiled.packing import read_only
from surrogates.compiled.wrenches import compartment_wrench

#: Regressors of a compartment: three that share the outputs, and that of the domain.
_PARTS = 4
#: Places in `geometry`: knots of both paths, constants, lever, centre, middle, half, box, limits.
_KNOTS, _CONSTANTS, _LEVER, _CENTRE, _MIDDLE, _HALF, _BOX = 0, 2, 9, 10, 13, 18, 23
_LIMITS, _PATHS = 35, 39
#: Places in `layouts`: first places of each regressor's layout, first rows of its numbers, layouts.
_ROWS, _LAYOUTS = _PARTS + 1, 2 * (_PARTS + 1)
#: How far beyond 1 a scaled variable or the extrapolation still counts as inside.
TOLERANCE = 1e-9


class CompartmentArguments(NamedTuple):
    """Packed form of a compartment.

    `geometry` (G,) [SI] has `Box`, `Condyle` and `Constants` of `surrogates.compiled.compartments`,
    and the limits of `domain.extrapolation`.
    """

    geometry: FloatArray
    #: `Arguments.layout` of the four regressors, the last of the domain (L,).
    layouts: NDArray[np.int64]
    #: `Arguments.numbers` of the four regressors (R, 8) [1].
    numbers: FloatArray


def pack_compartment(
    box: Box,
    condyle: Condyle,
    constants: Constants,
    limits: FloatArray,
    regressors: Sequence[Arguments],
) -> CompartmentArguments:
    """Return packed arguments; `limits` (4,) as of `domain.extrapolation` [1, 1, Pa, m]."""
    parts = (
        [len(box.breaks), len(condyle.breaks)], constants, condyle.lever, condyle.centre,
        condyle.middle, condyle.half, box.centre, box.half, limits, box.breaks, box.pieces,
        condyle.breaks, condyle.pieces,
    )  # fmt: skip
    geometry = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
    places = np.cumsum([0, *(len(r.layout) for r in regressors)])
    rows = np.cumsum([0, *(len(r.numbers) for r in regressors)])
    layouts = np.concatenate([places + _LAYOUTS, rows, *(r.layout for r in regressors)])
    numbers = new_work(LANES * int(rows[-1])).reshape(-1, LANES)
    numbers[:] = np.concatenate([r.numbers for r in regressors])
    # Read-only as the arrays of a regressor, so that the kernels are compiled for one type.
    return CompartmentArguments(
        frozen(geometry), frozen(layouts.astype(np.int64)), read_only(numbers)
    )


@pasted
def _regressor(k, packed):
    places = packed.layouts
    return Arguments(
        packed.layouts[places[k] : places[k + 1]],
        packed.numbers[places[_ROWS + k] : places[_ROWS + k + 1]],
    )


@pasted
def _path(start, knots, geometry):
    """Return breaks (K,) and pieces (4, K - 1, 5) of a path."""
    end = start + knots
    pieces = geometry[end : end + 20 * (knots - 1)].reshape(4, knots - 1, 5)
    return geometry[start:end], pieces


@pasted
def _constants(geometry):
    start = _CONSTANTS
    return Constants(
        code=geometry[start], largest=geometry[start + 1], degree=geometry[start + 2],
        middle=geometry[start + 3], half=geometry[start + 4], width=geometry[start + 5],
        fall=geometry[start + 6],
    )  # fmt: skip


@pasted
def _unpacked(packed):
    """Return the input arguments of `compartments.compartment_loads`."""
    geometry = packed.geometry
    box_knots, knots = int(geometry[_KNOTS]), int(geometry[_KNOTS + 1])
    breaks, pieces = _path(_PATHS, box_knots, geometry)
    box = Box(breaks, pieces, geometry[_BOX : _BOX + 6], geometry[_BOX + 6 : _BOX + 12])
    breaks, pieces = _path(_PATHS + box_knots + 20 * (box_knots - 1), knots, geometry)
    condyle = Condyle(
        geometry[_CENTRE:_MIDDLE], breaks, pieces, geometry[_MIDDLE:_HALF], geometry[_HALF:_BOX],
        geometry[_LEVER],
    )  # fmt: skip
    return (
        box, condyle, _constants(geometry), _regressor(0, packed), _regressor(1, packed),
        _regressor(2, packed),
    )  # fmt: skip


@part
def _packed_loads(pose, packed, loads, jacobian, x, work):
    """Unpack the arguments of `compartment_loads`, call it and return the extrapolation.

    If x has a seventh number, the number is filled with the extrapolation.
    """
    box, condyle, constants, first, second, third = _unpacked(packed)
    gap = compartment_loads(pose, box, condyle, constants, first, second, third, loads, jacobian,
                            x, work)  # fmt: skip
    limits = packed.geometry[_LIMITS:_PATHS]
    found = extrapolation(x, loads, gap, limits, _regressor(_PARTS - 1, packed), work)
    if x.size > 6:
        x[6] = found
    return found


@kernel
def hessians_of_compartment(poses, packed, hessians, work):
    """Fill d2(wrench)/d(pose)2 (N, 6, 6, 6) of one compartment at poses (N, 6).

    See `load_hessians.compartment_hessian`; `work` of `hessian_workspace` numbers.
    """
    box, condyle, constants, first, second, third = _unpacked(packed)
    for i in range(poses.shape[0]):
        compartment_hessian(poses[i], box, condyle, constants, first, second, third, hessians[i],
                            work)  # fmt: skip


@entry
def hessian_workspace(packed):
    """Return the size of the scratch that `hessians_of_compartment` needs."""
    parts = compartment_workspace(
        _regressor(0, packed), _regressor(1, packed), _regressor(2, packed)
    )
    return HESSIAN_SCRATCH + parts


@part
def is_outside(x):
    """Return whether scaled variables (C, 6 or more) leave the box that a knee was trained in."""
    outside = False
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            # written so that NaN counts as outside
            outside = outside or not (abs(x[c, k]) <= 1.0 + TOLERANCE)
    return outside


@entry
def workspace(packed):
    """Return the size of the scratch that `knee_loads` needs for a compartment."""
    parts = compartment_workspace(
        _regressor(0, packed), _regressor(1, packed), _regressor(2, packed)
    )
    return max(parts, DOMAIN_SCRATCH + workspace_size(_regressor(_PARTS - 1, packed)))


@kernel
def loads_of_compartment(poses, packed, loads, jacobian, x, work):
    """Fill loads (N, 12), jacobian (N, 6, 6) and x (N, 7) of one compartment at poses (N, 6)."""
    for i in range(poses.shape[0]):
        _packed_loads(poses[i], packed, loads[i], jacobian[i], x[i], work)


@pasted
def both_loads(pose, medial, lateral, loads, jacobian, x, work):
    """`knee_loads` as part of its caller."""
    first = _packed_loads(pose, medial, loads[0], jacobian[0], x[0], work)
    second = _packed_loads(pose, lateral, loads[1], jacobian[1], x[1], work)
    # written so that NaN counts as outside
    return is_outside(x) or not max(first, second) <= 1.0 + TOLERANCE


@entry
def knee_loads(pose, medial, lateral, loads, jacobian, x, work):
    """Fill loads (2, 12), jacobian (2, 6, 6) and x (2, 7) of both compartments at a pose (6,).

    `medial` and `lateral` are `CompartmentArguments`; the last number of x is the extrapolation,
    unless x is (2, 6); all else is as in `compartments.compartment_loads`. Returns whether the pose
    is outside the trained domain.
    """
    return both_loads(pose, medial, lateral, loads, jacobian, x, work)


@entry
def has_wrench(medial, lateral):
    """Return whether `knee_wrench` can evaluate a knee: both compartments are `INVERTED`."""
    return medial.geometry[_CONSTANTS] == INVERTED and lateral.geometry[_CONSTANTS] == INVERTED


@part
def _packed_wrench(pose, packed, loads, x, work):
    box, condyle, constants, first, second, third = _unpacked(packed)
    compartment_wrench(pose, box, condyle, constants, first, second, third, loads, x, work)


@pasted
def both_wrenches(pose, medial, lateral, loads, x, work):
    """`knee_wrench` as part of its caller."""
    _packed_wrench(pose, medial, loads[0], x[0], work)
    _packed_wrench(pose, lateral, loads[1], x[1], work)
    return is_outside(x[:, :6])


@entry
def knee_wrench(pose, medial, lateral, loads, x, work):
    """Fill only loads[:, :6] and x[:, :6] of a knee that `has_wrench`; see `knee_loads`.

    Takes about half the time, and returns whether the pose is outside the box (not the domain).
    """
    return both_wrenches(pose, medial, lateral, loads, x, work)


@entry
def compartment_of_all(poses, packed, place, loads, jacobian, x, work):
    """Fill the columns `place` of loads (N, C, 12), jacobian (N, C, 6, 6) and x (N, C, 7).

    Of the compartment with these packed arguments, at poses (N, 6). Returns whether any pose is
    outside the compartment's trained domain, the last number of x the extrapolation.
    """
    any_outside = False
    for i in range(poses.shape[0]):
        own = x[i, place : place + 1]
        found = _packed_loads(poses[i], packed, loads[i, place], jacobian[i, place], own[0], work)
        # written so that NaN counts as outside
        any_outside = any_outside or is_outside(own) or not found <= 1.0 + TOLERANCE
    return any_outside


@entry
def knee_loads_of_all(poses, medial, lateral, loads, jacobian, x, work):
    """As `knee_loads` for poses (N, 6): loads (N, 2, 12), jacobian (N, 2, 6, 6), x (N, 2, 7).

    Returns whether any pose is outside the trained domain.
    """
    any_outside = False
    for i in range(poses.shape[0]):
        outside = both_loads(poses[i], medial, lateral, loads[i], jacobian[i], x[i], work)
        any_outside = any_outside or outside
    return any_outside
