"""Where the learnt height reaches a given height, with exact first and second derivatives.

The root s of h(u, s) = y is sought from a start that a quadratic of u and y gives, by a fixed
number of Newton steps without derivatives. A last step of third order (Chebyshev's),

    s = s0 - e / h' - e^2 h'' / (2 h'^3),  e = h(u, s0) - y,

with s0 a constant, has the first and second derivatives of the implicit function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.core.library import LEAST_FALL
from surrogates.core.packing import PackedRegressor
from surrogates.core.regressor_data import RegressorData
from surrogates.expressions.data import CompartmentData
from surrogates.expressions.functions import Expression, Functions, clip_above
from surrogates.expressions.geometry import Condyle
from surrogates.expressions.learners import Learner, Line

#: Newton steps before the last one, of polynomials and of other regressors. At poses in and around
#: the box, from out of contact to beyond the largest load, the largest residual is then 2e-16 of
#: the range of heights for regressors of random weights (2e-8 after 2 steps, 8e-16 after 3) and for
#: a polynomial of degree 3 far outside its samples (4e-9 after 5 steps), and 2e-12, the rounding of
#: its sums, for Kriging of the built-in implant with weights of 3e4. Where the height rises with s,
#: as polynomials of degree 5 can outside the samples, there may be no root to find.
POLYNOMIAL_STEPS, STEPS = 8, 4
_SAMPLES, _SEED = 2000, 0
#: Inputs of a regressor without parameters of a design.
_INPUTS = 6
#: Largest root at which a step but the last may end: the height is a line there.
_FAR = 3.0
#: Least fall with s that a step divides by, over the mean fall.
_LEAST_SLOPE = -1e-3


class Root(NamedTuple):
    """A root of the height.

    Attributes
    ----------
    s : ()
        Root [1], beyond 1 on the line that continues the height.
    gap : ()
        Height over the predicted first contact, below 0 in contact [m].
    touches : ()
        Whether there is contact.
    """

    s: Expression
    gap: Expression
    touches: Expression


@dataclass(frozen=True, eq=False)
class Start:
    """Quadratic of (u, y) from which the root is sought.

    Attributes
    ----------
    weights : (1 + n + n (n + 1) / 2,) float64
        Of 1, v_i and v_i v_j, i <= j, where v (n,) is u and the scaled height [1].
    middle, half : float
        Scaling of the height [m].
    """

    weights: FloatArray
    middle: float
    half: float

    @classmethod
    def of(cls, data: CompartmentData) -> Start:
        """Return the quadratic that comes closest to the root at random (u, s)."""
        n = data.parts[0].inputs
        x = np.random.default_rng(_SEED).uniform(-1.0, 1.0, (_SAMPLES, n))
        x[:, -1] *= 1.0 + 2.0 * data.width
        u, s = x[:, :-1], x[:, -1]
        height = first_output(data.parts[0], np.column_stack([u, np.minimum(s, 1.0)]))
        middle, half = float(height.mean()), max(float(np.ptp(height)) / 2.0, 1e-12)
        v = np.column_stack([u, (height - middle) / half])
        rows, columns = np.triu_indices(n)
        features = np.column_stack([np.ones(len(v)), v, v[:, rows] * v[:, columns]])
        weights = np.linalg.lstsq(features, s, rcond=None)[0]
        return cls(np.asarray(weights, dtype=np.float64), middle, half)

    def at(self, f: Functions, u: Expression, height: Expression) -> Expression:
        """Return the start at u (n - 1,) [1] and a height [m]."""
        v = f.join([u, (height - self.middle) * (1.0 / self.half)])
        n = v.shape[0]
        quadratic = np.zeros((n, n))
        quadratic[np.triu_indices(n)] = self.weights[n + 1 :]
        slopes = f.constant(self.weights[1 : n + 1]) + f.matmul(quadratic, v)
        return float(self.weights[0]) + f.matmul(np.ones((1, n)), v * slopes)[0]


def first_output(data: RegressorData, x: FloatArray) -> FloatArray:
    """Return the first output (N,) of a regressor at inputs (N, d) [any unit]."""
    found = PackedRegressor(data).evaluate(np.ascontiguousarray(x))[0]
    return found[:, 0]


def height_root(
    f: Functions, data: CompartmentData, height: Learner, condyle: Condyle, start: Start
) -> Root:
    """Return the root s of height(u, s) = y of a condyle at u (5 + P,) [1] and y [m]."""
    u, y, w = condyle.u, condyle.height, data.width
    line, low = height.line(u), -1.0 - 2.0 * w
    inversion = Inversion(f, data, height, start)
    touch = f.fixed(line.at(low)[0])
    gap = y - height.first_at(line, u, -1.0)
    touches = y < touch
    if w > 0.0:
        return Root(inversion.smooth_root(u, y, touch), gap, touches)
    end, slope = height.first_at(line, u, 1.0), line.at(1.0)[1]
    chord = 0.5 * (end - touch)
    # Beyond the largest load on the tangent, whose change with the pose is left out.
    beyond = f.fixed(f.where(slope < 0.0, slope, f.where(chord < 0.0, chord, y - end)))
    inside = y > end
    s = inversion.root(u, f.maximum(f.minimum(y, touch), f.fixed(end)))
    s = f.where(touches, f.where(inside, s, 1.0 + (y - end) / beyond), low)
    return Root(s, gap, touches)


@dataclass(frozen=True, eq=False)
class Inversion:
    """Inversion of the learnt height, which goes on beyond s = 1 as a line.

    Parameters
    ----------
    f, data, height, start
        As of `height_root`.
    """

    f: Functions
    data: CompartmentData
    height: Learner
    start: Start

    def root(self, u: Expression, target: Expression) -> Expression:
        """Return s at u (5 + P,) [1] and a height [m], with exact first and second derivatives."""
        return self.f.implicit(self._found, self._refined, self._slopes, u, target)

    def smooth_root(self, u: Expression, height: Expression, touch: Expression) -> Expression:
        """Return s at u (5 + P,) [1] and a height [m] below that of first contact, or the least s.

        The derivatives are taken at the s that is returned, where the outputs are evaluated too:
        compilers see one evaluation.
        """
        f, low = self.f, -1.0 - 2.0 * self.data.width

        def found(u: Expression, y: Expression, touch: Expression) -> Expression:
            return self._found(u, f.minimum(y, touch))

        def refined(s: Expression, u: Expression, y: Expression, touch: Expression) -> Expression:
            return f.where(y < touch, self._refined(s, u, f.minimum(y, touch)), low)

        def slopes(
            s: Expression, u: Expression, y: Expression, touch: Expression
        ) -> tuple[Expression, ...]:
            by_u, by_height = self._slopes(s, u, y)
            return f.where(y < touch, by_u, 0.0), f.where(y < touch, by_height, 0.0), 0.0 * y

        return f.implicit(found, refined, slopes, u, height, touch)

    def _found(self, u: Expression, target: Expression) -> Expression:
        f, data = self.f, self.data
        line, low = self.height.line(u), -1.0 - 2.0 * data.width
        high = _FAR if data.width > 0.0 else 1.0
        fall = self._fall(u)

        def nearer(s: Expression) -> Expression:
            value, slope = _level(f, data, line, s, fall)
            step = (value - target) / f.minimum(slope, _LEAST_SLOPE * fall)
            return f.minimum(f.maximum(s - step, low), high)

        s = f.minimum(f.maximum(self.start.at(f, u, target), low), 1.0)
        found = self.height.data
        polynomial = not len(found.points) and not len(found.inner)
        return f.iterated(nearer, s, POLYNOMIAL_STEPS if polynomial else STEPS)

    def _refined(self, s: Expression, u: Expression, target: Expression) -> Expression:
        f, data = self.f, self.data
        fall = self._fall(u)
        value, slope, bend = _level(f, data, self.height.line(u), s, fall, bend=True)
        slope = f.minimum(slope, _LEAST_SLOPE * fall)
        miss = (value - target) / slope
        near = f.where(miss * miss < 1.0, miss, 0.0)  # else no root is near, or the height a line
        return s - miss - 0.5 * near * near * bend / slope

    def _slopes(self, s: Expression, u: Expression, target: Expression) -> tuple[Expression, ...]:
        f, data = self.f, self.data
        c, along, _ = clip_above(f, s, data.width)
        if data.width == 0.0:
            c, along = s, 1.0
        gradient, fall = self.height.gradient(f.join([u, c])), self._fall(u)
        slope = along * gradient[-1] - (1.0 - along) * fall
        slope = f.minimum(slope, _LEAST_SLOPE * fall)
        by_u = gradient[:-1]
        if self._falls_differ:
            by_u = by_u - (s - c) * self._fall_slopes(u)
        return -by_u / slope, 1.0 / slope

    @property
    def _falls_differ(self) -> bool:
        """Whether the line beyond s = 1 depends on the design."""
        return self.data.width > 0.0 and self.height.inputs > _INPUTS

    def _fall(self, u: Expression) -> Expression:
        """Return the fall of the height beyond the samples [m] at u (5 + P,) [1].

        As of `surrogates.formulations.compartment.CompartmentSurrogate.fall`.
        """
        if not self._falls_differ:
            return self.data.fall
        at = self._on_path(u)
        line = self.height.line(at)
        low, high = (self.height.first_at(line, at, s) for s in (-1.0, 1.0))
        return self.f.maximum(0.5 * (low - high), LEAST_FALL)

    def _fall_slopes(self, u: Expression) -> Expression:
        """Return the derivatives (5 + P,) of the fall by u (5 + P,) [m]."""
        f, at = self.f, self._on_path(u)
        low, high = (self.height.gradient(f.join([at, s])) for s in (-1.0, 1.0))
        steep = f.where(self._fall(u) > LEAST_FALL, 0.5 * (low - high), 0.0 * low)
        return f.join([0.0 * steep[: _INPUTS - 1], steep[_INPUTS - 1 : -1]])

    def _on_path(self, u: Expression) -> Expression:
        """Return u (5 + P,) [1] at the path: the parameters of the design alone."""
        return self.f.join([0.0 * u[: _INPUTS - 1], u[_INPUTS - 1 :]])


def _level(
    f: Functions,
    data: CompartmentData,
    line: Line,
    s: Expression,
    fall: Expression,
    bend: bool = False,
) -> tuple[Expression, ...]:
    """Return the height at s and its derivatives, with the line that continues it beyond 1."""
    if data.width == 0.0:
        return line.at(s, bend)
    c, along, curve = clip_above(f, s, data.width)
    found = line.at(c, bend)
    value = found[0] - fall * (s - c)
    slope = along * found[1] - (1.0 - along) * fall
    if not bend:
        return value, slope
    return value, slope, along * along * found[2] + curve * (found[1] + fall)
