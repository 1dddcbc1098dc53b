"""One formula of the loads of a compartment as a function of the pose, for any namespace.

The values are those of `surrogates.compiled.compartments`, with the same smoothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surrogates.compiled.compartments import (
    ENERGY,
    INVERTED,
    LEAST_FALL,
    POWER,
    REACH,
    ROOT,
    STIFFNESS,
)
from surrogates.expressions.data import CompartmentData
from surrogates.expressions.functions import (
    Expression,
    Functions,
    clip,
    clip_above,
    cross,
    plus,
    power_of,
)
from surrogates.expressions.geometry import Condyle, Place, condyle_of, hold, wrench_of
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
        self.reference = f.learner(data.reference)
        self.parts = [f.learner(part) for part in data.parts]
        self.start = Start.of(data) if data.code in (INVERTED, ENERGY) else None

    def loads(self, pose: Expression) -> Found:
        """Return the loads at a pose (6,) [rad, m]."""
        data = self.data
        place = hold(self.f, data.box, pose, data.width)
        condyle = condyle_of(self.f, data.condyle, place.held)
        if data.code == POWER:
            return self._plain(place, condyle)
        if data.code in (INVERTED, ENERGY):
            return self._inverted(place, condyle)
        return self._rooted(place, condyle)

    def outputs(self, x: Expression, skip: int = 0) -> Expression:
        """Return the outputs of all parts from number `skip` on at inputs x (6,) [1]."""
        found = []
        for part in self.parts:
            if part.outputs > skip:
                found.append(part.values(x, skip))
            skip = max(skip - part.outputs, 0)
        return self.f.join(found)

    # ---- formulations that learn heights

    def _inverted(self, place: Place, condyle: Condyle) -> Found:
        f, data, w = self.f, self.data, self.data.width
        assert self.start is not None
        root = height_root(f, data, self.parts[0], condyle, self.start)
        c = clip_above(f, root.s, w)[0]
        r = 0.5 * (root.s + 1.0)
        held = plus(f, r, w)
        out = self.outputs(f.join([condyle.u, c]), skip=1)
        if data.code == INVERTED:
            loads = self._from_ratios(held, out, condyle, root.touches)
            root_load = float(np.sqrt(data.largest)) * power_of(f, held, 0.5 * data.degree)
            return Found(loads, place.x, root_load, root.gap)
        wrench = self._energy_wrench(place, c, r, root.fall)
        wrench = f.where(root.touches, wrench, 0.0)
        quantities = self._quantities(held, data.degree - 1.0, out, condyle, root.touches)
        axial = wrench[1]
        safe = f.where(axial > 0.0, axial, 1.0)
        root_load = f.where(axial > 0.0, f.sqrt(safe), 0.0)
        return Found(f.join([wrench, quantities]), place.x, root_load, root.gap)

    def _energy_wrench(
        self, place: Place, c: Expression, r: Expression, fall: Expression
    ) -> Expression:
        """Return minus the gradient of the energy as a wrench (6,) [N, N m]."""
        f, data = self.f, self.data
        height = self.parts[0]

        def missing(held: Expression, last: Expression) -> Expression:
            at = condyle_of(f, data.condyle, held)
            return height.values(f.join([at.u, last]))[0] - at.height

        by_pose = f.gradient(missing, place.held, c)
        held = plus(f, r, data.width)
        slope = data.largest * data.degree * power_of(f, held, data.degree - 1.0)
        slope = 0.5 * slope * plus_slope(f, r, data.width)
        # s moves by -(gradient of the missing height) / (its fall along s).
        return wrench_of(f, (slope / fall) * by_pose, place.held)

    # ---- formulations that learn the root of the load

    def _rooted(self, place: Place, condyle: Condyle) -> Found:
        f, data, w = self.f, self.data, self.data.width
        level = condyle.height
        if data.code == STIFFNESS:
            level = self.reference.values(condyle.u)[0] - condyle.height
        depth = (level - float(data.depth[0])) / float(data.depth[1])
        last = clip(f, depth, REACH, w)
        inputs = f.join([condyle.u, last])
        out = self.outputs(inputs)
        if data.code == ROOT:
            r = out[0] - self._beyond(condyle.u, last) * (depth - last)
        else:
            r = data.reference_root + f.exp(out[0]) / float(data.depth[1]) * level
        held = plus(f, r, w)
        loads = self._from_ratios(held, out[1:], condyle, r > -w)
        root_load = float(np.sqrt(data.largest)) * power_of(f, held, 0.5 * data.degree)
        return Found(loads, place.x, root_load, None)

    def _beyond(self, u: Expression, last: Expression) -> Expression | float:
        """Return the fall of the root with the scaled height beyond the samples."""
        if self.data.width > 0.0:
            return self.data.fall
        first = self.parts[0]
        slope = first.slope_at(first.line(u), u, last)
        return self.f.fixed(self.f.maximum(-slope, LEAST_FALL))

    # ---- formulations that learn the loads

    def _plain(self, place: Place, condyle: Condyle) -> Found:
        f, data, w = self.f, self.data, self.data.width
        depth = (condyle.height - float(data.depth[0])) / float(data.depth[1])
        out = self.outputs(f.join([condyle.u, clip(f, depth, REACH, w)]))
        widths = w * np.concatenate([part.data.y_scale for part in self.parts])[:9]
        powers = signed_power(f, out[:9], data.degree, widths)
        loads = f.join([powers, out[9:12] + data.condyle.lever * condyle.point])
        axial = powers[1]
        safe = f.where(axial > 0.0, axial, 1.0)
        return Found(loads, place.x, f.where(axial > 0.0, f.sqrt(safe), 0.0), None)

    # ---- parts of the loads

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
        quantities = self._quantities(root, data.degree, out[5:11], condyle, touches)
        return f.join([force, moment, quantities])

    def _quantities(
        self,
        root: Expression,
        degree: float,
        out: Expression,
        condyle: Condyle,
        touches: Expression,
    ) -> Expression:
        """Return area, pressures and centre of pressure (6,) of out (6,)."""
        f, data = self.f, self.data
        stress = power_of(f, root, degree - 1.0)
        centre = out[3:6] + data.condyle.lever * condyle.point
        if data.width == 0.0:
            centre = f.where(touches, centre, np.nan)
        return f.join([out[0] * root, out[1] * stress, out[2] * stress, centre])


def plus_slope(f: Functions, r: Expression, width: float) -> Expression:
    """Return the derivative [1] of the positive part of r."""
    if width == 0.0:
        return f.where(r > 0.0, 1.0, 0.0)
    t = f.where(r > width, 1.0, f.where(r > -width, (r + width) / (2.0 * width), 0.0))
    return t * t * t * (10.0 - t * (15.0 - 6.0 * t))


def signed_power(f: Functions, v: Expression, degree: float, widths: np.ndarray) -> Expression:
    """Return sign(v) |v|^degree (n,) of v (n,) [any unit], smooth within about widths (n,) of 0."""
    if degree == 1.0:
        return v
    if widths.any():
        return v * f.power(v * v + f.constant(widths * widths), 0.5 * (degree - 1.0))
    size = f.where(v > 0.0, v, f.where(v < 0.0, -v, 1.0))
    return f.where(size * size == v * v, v * f.power(size, degree - 1.0), 0.0 * v)
