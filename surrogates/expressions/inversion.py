"""Where the learnt height reaches a given height, with exact first and second derivatives.

The root s of h(u, s) = y is sought from a start that a quadratic of u and y gives, by a fixed number
of Newton steps without derivatives. A last step of third order (Chebyshev's),

    s = s0 - e / h' - e^2 h'' / (2 h'^3),  e = h(u, s0) - y,

with s0 a constant, has the first and second derivatives of the implicit function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foundation.checks import FloatArray
from surrogates.compiled import evaluate_values, new_work, pack, workspace_size
from surrogates.compiled.regressor_data import RegressorData
from surrogates.expressions.data import CompartmentData
from surrogates.expressions.functions import Expression, Functions, clip_above
from surrogates.expressions.geometry import Condyle
from surrogates.expressions.learners import Learner, Line

#: Newton steps before the last one.
STEPS = 5
_SAMPLES, _SEED = 2000, 0
#: Largest root at which a step may end; the next step is exact there, as the height is a line.
_FAR = 1e6


class Root(NamedTuple):
    """A root of the height.

    Attributes
    ----------
    s : ()
        Root [1], beyond 1 on the line that continues the height.
    fall : ()
        Derivative of the height by s there [m].
    gap : ()
        Height over the predicted first contact, below 0 in contact [m].
    touches : ()
        Whether there is contact.
    """

    s: Expression
    fall: Expression
    gap: Expression
    touches: Expression


@dataclass(frozen=True, eq=False)
class Start:
    """Quadratic of (u, y) from which the root is sought.

    Attributes
    ----------
    weights : (28,) float64
        Of 1, v_i and v_i v_j, i <= j, where v is u and the scaled height [1].
    middle, half : float
        Scaling of the height [m].
    """

    weights: FloatArray
    middle: float
    half: float

    @classmethod
    def of(cls, data: CompartmentData) -> Start:
        """Return the quadratic that comes closest to the root at random (u, s)."""
        x = np.random.default_rng(_SEED).uniform(-1.0, 1.0, (_SAMPLES, 6))
        x[:, 5] *= 1.0 + 2.0 * data.width
        height = first_output(data.parts[0], np.column_stack([x[:, :5], np.minimum(x[:, 5], 1.0)]))
        s = x[:, 5]
        middle, half = float(height.mean()), max(float(np.ptp(height)) / 2.0, 1e-12)
        v = np.column_stack([x[:, :5], (height - middle) / half])
        rows, columns = np.triu_indices(6)
        features = np.column_stack([np.ones(len(v)), v, v[:, rows] * v[:, columns]])
        return cls(np.linalg.lstsq(features, s, rcond=None)[0], middle, half)

    def at(self, f: Functions, u: Expression, height: Expression) -> Expression:
        """Return the start at u (5,) [1] and a height [m]."""
        v = f.join([u, (height - self.middle) * (1.0 / self.half)])
        quadratic = np.zeros((6, 6))
        quadratic[np.triu_indices(6)] = self.weights[7:]
        slopes = f.constant(self.weights[1:7]) + f.matmul(quadratic, v)
        return float(self.weights[0]) + f.matmul(np.ones((1, 6)), v * slopes)[0]


def first_output(data: RegressorData, x: FloatArray) -> FloatArray:
    """Return the first output (N,) of a regressor at inputs (N, d) [any unit]."""
    packed = pack(data)
    found = np.empty((len(x), data.outputs))
    evaluate_values(x, packed, found, new_work(int(workspace_size(packed))))
    return found[:, 0]


def height_root(
    f: Functions, data: CompartmentData, height: Learner, condyle: Condyle, start: Start
) -> Root:
    """Return the root s of height(u, s) = y of a condyle at u (5,) [1] and y [m]."""
    w = data.width
    line = height.line(condyle.u)
    low = -1.0 - 2.0 * w
    touch = line.at(low)[0]
    first = line.at(-1.0)[0] if w > 0.0 else touch
    touches = condyle.height < touch
    target = f.where(touches, condyle.height, touch)
    if w > 0.0:
        s = _refined(f, data, line, start.at(f, condyle.u, target), target, low)
        _, along, _ = clip_above(f, s, w)
        fall = line.at(clip_above(f, s, w)[0])[1]
        fall = along * fall - (1.0 - along) * data.fall
        return Root(s, fall, condyle.height - first, touches)
    end, slope = line.at(1.0)
    inside = condyle.height > end
    s = _refined(
        f, data, line, start.at(f, condyle.u, target), f.where(inside, target, end), low, 1.0
    )
    chord = 0.5 * (end - touch)
    # Beyond the largest load on the tangent, whose change with the pose is left out.
    beyond = f.fixed(f.where(slope < 0.0, slope, f.where(chord < 0.0, chord, condyle.height - end)))
    s = f.where(inside, s, 1.0 + (condyle.height - end) / beyond)
    fall = f.where(inside, line.at(f.minimum(s, 1.0))[1], beyond)
    return Root(s, fall, condyle.height - first, touches)


def _refined(
    f: Functions,
    data: CompartmentData,
    line: Line,
    start: Expression,
    target: Expression,
    low: float,
    high: float = _FAR,
) -> Expression:
    s = f.minimum(f.maximum(start, low), 1.0)
    for _ in range(STEPS):
        value, slope = _level(f, data, line, s)
        nearer = s - (value - target) / f.minimum(slope, -1e-3 * data.fall)
        s = f.fixed(f.minimum(f.maximum(nearer, low), high))
    value, slope, bend = _level(f, data, line, s, bend=True)
    slope = f.minimum(slope, -1e-3 * data.fall)
    miss = (value - target) / slope
    return s - miss - 0.5 * miss * miss * bend / slope


def _level(
    f: Functions, data: CompartmentData, line: Line, s: Expression, bend: bool = False
) -> tuple[Expression, ...]:
    """Return the height at s and its derivatives, with the line that continues it beyond 1."""
    if data.width == 0.0:
        return line.at(s, bend)
    c, along, curve = clip_above(f, s, data.width)
    found = line.at(c, bend)
    value = found[0] - data.fall * (s - c)
    slope = along * found[1] - (1.0 - along) * data.fall
    if not bend:
        return value, slope
    return value, slope, along * along * found[2] + curve * (found[1] + data.fall)
