"""One formula of the loads of a compartment as a function of the pose, for any namespace.

The values are those of the library (`surrogates.core`), with the same smoothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.core.library import MOST_LOAD, REACH
from surrogates.expressions.data import CompartmentData
from surrogates.expressions.functions import (
    Expression,
    Functions,
    above_clip,
    clip,
    clip_above,
    cross,
    plus,
    power_of,
)
from surrogates.expressions.geometry import Condyle, Place, condyle_of, hold
from surrogates.expressions.inversion import Start, height_root


class Found(NamedTuple):
    """Loads of a compartment and what its domain needs.

    Attributes
    ----------
    loads : (12,)
        In the order of `foundation.base.loads.LOAD_COLUMNS` [SI].
    x : (5,)
        Scaled variables of the box, not held [1].
    root_load : ()
        Square root of the axial load [sqrt(N)].
    gap : () or None
        Height over the predicted first contact [m], where heights are learnt.
    """

    loads: Expression
    x: Expression
    root_load: Expression
    gap: Expression | None


class Compartment:
    """Expressions of a compartment's loads in one namespace.

    Parameters
    ----------
    f : Functions
        Namespace.
    data : CompartmentData
        Numbers of the compartment.
    """

    def __init__(self, f: Functions, data: CompartmentData) -> None:
        self.f, self.data = f, data
        self.parts = [f.learner(part) for part in data.parts]
        self.start = Start.of(data) if data.learns_heights else None

    def loads(self, pose: Expression, z: Expression | None = None) -> Found:
        """Return the loads at a pose (6,) [rad, m] and scaled parameters z (P,) of a design [1]."""
        data = self.data
        place = hold(self.f, data.box, pose, data.width, z)
        condyle = condyle_of(self.f, data.condyle, place.held, z)
        if data.learns_heights:
            return self._inverted(place, condyle)
        return self._direct(place, condyle)

    def outputs(self, x: Expression, skip: int = 0) -> Expression:
        """Return the outputs of all parts from number `skip` on at inputs x (6 + P,) [1]."""
        found = []
        for part in self.parts:
            if part.outputs > skip:
                found.append(part.values(x, skip))
            skip = max(skip - part.outputs, 0)
        return self.f.join(found)

    def _inverted(self, place: Place, condyle: Condyle) -> Found:
        f, data, w = self.f, self.data, self.data.width
        assert self.start is not None
        root = height_root(f, data, self.parts[0], condyle, self.start)
        c = clip_above(f, root.s, w)[0]
        r = 0.5 * (root.s + 1.0)
        held = self._held_root(plus(f, r, w))
        out = self.outputs(f.join([condyle.u, c]), skip=1)
        loads = self._from_ratios(held, out, condyle, root.touches)
        root_load = float(np.sqrt(data.largest)) * power_of(f, held, 0.5 * data.degree)
        return Found(loads, place.x, root_load, root.gap)

    def _direct(self, place: Place, condyle: Condyle) -> Found:
        f, data = self.f, self.data
        depth = (condyle.height - float(data.depth[0])) / float(data.depth[1])
        out = self.outputs(f.join([condyle.u, clip(f, depth, REACH, data.width)]))
        loads = f.join([out[:9], out[9:12] + data.condyle.lever * condyle.point])
        axial = out[1]
        safe = f.where(axial > 0.0, axial, 1.0)
        return Found(loads, place.x, f.where(axial > 0.0, f.sqrt(safe), 0.0), None)

    # ---- parts of the loads

    def _held_root(self, root: Expression) -> Expression:
        """Return the root of the axial load over F_max, held at that of `MOST_LOAD`."""
        most, width = MOST_LOAD ** (1.0 / self.data.degree), self.data.width
        if width == 0.0:
            return self.f.where(root > most, most, root)
        return above_clip(self.f, root, most, most * width, 1.0)

    def _from_ratios(
        self, root: Expression, out: Expression, condyle: Condyle, touches: Expression
    ) -> Expression:
        """Return loads (12,) of the ratios and quantities in out (11,)."""
        f, data = self.f, self.data
        axial = data.largest * power_of(f, root, data.degree)
        force = axial * f.join([out[0], 1.0 + 0.0 * out[0], out[1]])
        moment = axial * out[2:5]
        if data.condyle.lever:
            moment = moment + cross(f, condyle.point, force)
        stress = power_of(f, root, data.degree - 1.0)
        centre = out[8:11] + data.condyle.lever * condyle.point
        if data.width == 0.0:
            centre = f.where(touches, centre, np.nan)
        quantities = f.join([out[5] * root, out[6] * stress, out[7] * stress, centre])
        return f.join([force, moment, quantities])
