"""One formula of the loads of a compartment as a function of the pose, for CasADi and JAX.

The values are those of the library (`surrogates.core`), with the same smoothing. A compartment is a
struct of the library, `surrogates.core.packing.PackedCompartment`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from foundation.base.errors import InputError
from foundation.core.library import LEAST_FALL, MOST_LOAD, REACH
from surrogates.core.packing import PackedCompartment
from surrogates.expressions.functions import Expression, clip, clip_above, cross, plus, power_of
from surrogates.expressions.geometry import condyle_of, hold
from surrogates.expressions.learners import Functions, Learner
from surrogates.expressions.of_casadi import CasadiFunctions, casadi
from surrogates.expressions.of_jax import JaxFunctions, jax

#: Names of the criteria of a compartment, each at most 1 in the trained domain.
CRITERIA = (
    *("flexion", "adduction", "rotation", "anterior", "lateral"),
    *("axial_force", "ap_force", "ml_force", "peak_pressure"),
    *("expected_ap_force", "expected_ml_force", "expected_error"),
)
#: Share of the largest axial load below which ratios over the axial load say little.
_LIGHT = 5e-3
#: Newton steps to the root of the height.
POLYNOMIAL_STEPS, STEPS = 9, 5
#: Least fall of the height with s that a step divides by, over the mean fall.
_LEAST_SLOPE = -1e-3


class Compartment:
    """Expressions of the loads of a compartment, in functions of CasADi or JAX."""

    def __init__(self, f: Functions, packed: PackedCompartment) -> None:
        self.f, self.fields = f, packed.fields
        self.width: float = packed.fields["smoothing"]
        self.parts = [Learner(f, part.data) for part in packed.fields["parts"]]
        self.mean_fall = mean_fall(packed)

    def loads_and_criteria(self, pose: Expression) -> tuple[Expression, Expression]:
        """Return loads (12,) [SI] and criteria (12,) [1] at a pose (6,) [rad, m].

        The loads are in the order of `foundation.base.loads.LOAD_COLUMNS`.
        """
        x, held = hold(self.f, self.fields, pose)
        condyle = condyle_of(self.f, self.fields, held)
        form = self._direct if self.fields["direct"] else self._inverted
        loads, root_load, gap = form(*condyle)
        return loads, self._criteria(loads, x, root_load, gap)

    def _outputs(self, x: Expression, skip: int = 0) -> Expression:
        """Return the outputs of all parts from number `skip` on at inputs x (6,) [1]."""
        found = []
        for part in self.parts:
            if part.outputs > skip:
                found.append(part.values(x, slice(skip, None)))
            skip = max(skip - part.outputs, 0)
        return self.f.join(found)

    # ---- loads over the height

    def _direct(
        self, u: Expression, height: Expression, point: Expression
    ) -> tuple[Expression, Expression, None]:
        """Return loads (12,) [SI], root of the axial load [sqrt(N)], and None for the gap."""
        f, own = self.f, self.fields
        depth = (height - own["depth_middle"]) / own["depth_half"]
        out = self._outputs(f.join([u, clip(f, depth, REACH, self.width)]))
        loads = f.join([out[:9], out[9:12] + own["lever"] * point])
        return loads, power_of(f, f.maximum(out[1], 0.0), 0.5), None

    # ---- the height over the root of the load, inverted

    def _inverted(
        self, u: Expression, height: Expression, point: Expression
    ) -> tuple[Expression, Expression, Expression]:
        """Return loads (12,) [SI], root of the axial load [sqrt(N)], gap over first contact [m]."""
        f, own, w, first = self.f, self.fields, self.width, self.parts[0]
        touch = f.fixed(first.on_line(-1.0 - 2.0 * w, *first.line(u)))
        given = first.line(u) if f.by_lines else [u]
        s = self._root(u, height, touch, given)
        most = MOST_LOAD ** (1.0 / own["degree"])
        root = clip_above(f, plus(f, 0.5 * (s + 1.0), w), most, most * w)
        out = self._outputs(f.join([u, clip_above(f, s, 1.0, w)]), skip=1)
        loads = self._from_ratios(root, out, point, height < touch)
        root_load = float(np.sqrt(own["largest"])) * power_of(f, root, 0.5 * own["degree"])
        return loads, root_load, height - self._level(-1.0, *given)

    def _level(self, s: Expression, *given: Expression) -> Expression:
        """Return the learnt height [m] at s [1] and what u gives.

        Where JAX evaluates the outputs too, so that the compiler sees one evaluation.
        """
        if self.f.by_lines:
            return self.parts[0].on_line(s, *given)
        return self.parts[0].values(self.f.join([*given, s]), slice(1))[0]

    def _fall(self, u: Expression, height: Expression, touch: Expression) -> Expression:
        """Return the fall [m] with which the height goes on as a line beyond s = 1."""
        f, first = self.f, self.parts[0]
        if self.width > 0.0:  # the mean one, at the path
            return f.constant(np.array(self.mean_fall))
        end, slope = f.with_slope(first.on_line, 1.0 + 0.0 * height, *first.line(u))
        chord = 0.5 * (end - touch)
        beyond = f.where(slope < 0.0, slope, f.where(chord < 0.0, chord, height - end))
        return f.fixed(-beyond)  # the change of the tangent with the pose is left out

    def _root(
        self, u: Expression, height: Expression, touch: Expression, given: Sequence[Expression]
    ) -> Expression:
        """Return s [1] where the height is that of the condyle, or the least s out of contact."""
        f, first, w = self.f, self.parts[0], self.width
        low, steepest = -1.0 - 2.0 * w, _LEAST_SLOPE * self.mean_fall
        fall = self._fall(u, height, touch)

        def extended(
            learnt: Callable[..., Expression], s: Expression, fall: Expression, *given: Expression
        ) -> Expression:
            c = clip_above(f, s, 1.0, w)
            return learnt(c, *given) - fall * (s - c)

        def find(
            y: Expression, touch: Expression, fall: Expression, *given: Expression
        ) -> Expression:
            line = given if f.by_lines else first.line(*given)

            def nearer(s: Expression) -> Expression:
                value, slope = f.with_slope(partial(extended, first.on_line), s, fall, *line)
                step = (value - f.minimum(y, touch)) / f.minimum(slope, steepest)
                return f.maximum(s - step, low)

            drop = f.maximum(touch - first.on_line(1.0 + 0.0 * y, *line), LEAST_FALL)
            share = f.minimum(f.maximum((touch - y) / drop, 0.0), 1.0)
            polynomial = not len(first.data.points) and not len(first.data.inner)
            steps = POLYNOMIAL_STEPS if polynomial else STEPS
            s = f.iterated(nearer, low + (1.0 - low) * share, steps)
            return f.where(y < touch, s, low)

        def residual(
            s: Expression, y: Expression, touch: Expression, fall: Expression, *given: Expression
        ) -> Expression:
            miss = extended(self._level, s, fall, *given) - y
            return f.where(y < touch, miss, low - s)

        return f.implicit(find, residual, steepest, height, touch, fall, *given)

    def _from_ratios(
        self, root: Expression, out: Expression, point: Expression, touches: Expression
    ) -> Expression:
        """Return loads (12,) of the ratios and quantities in out (11,)."""
        f, own = self.f, self.fields
        axial = own["largest"] * power_of(f, root, own["degree"])
        force = axial * f.join([out[0], 1.0 + 0.0 * out[0], out[1]])
        moment = axial * out[2:5]
        if own["lever"]:
            moment = moment + f.join(cross(point, force))
        stress = power_of(f, root, own["degree"] - 1.0)
        centre = out[8:11] + own["lever"] * point
        if self.width == 0.0:
            centre = f.where(touches, centre, np.nan)
        return f.join([force, moment, out[5] * root, out[6] * stress, out[7] * stress, centre])

    # ---- the trained domain

    def _criteria(
        self,
        loads: Expression,
        x: Expression,
        root_load: Expression,
        gap: Expression | None,
    ) -> Expression:
        """Return the criteria (12,) [1] of `CRITERIA`, from scaled variables x (5,) of the box [1].

        As smooth as the loads, and below 1 out of contact, so that an optimiser can hold them:
        scaled variables of the box and ratios of forces are squared. The last three, of what
        samples of the whole box teach (`surrogates.formulations.domain`), have a kink at first
        contact where the root of the load has one (p other than 2).
        """
        f, half = self.f, float(self.fields["box_half"][5])
        ap, ml, peak, lifted = (float(limit) for limit in self.fields["limits"])
        top = 4.0 * half * half
        axial = loads[1] / top
        # Ratios of forces, squared; of loads below the share `_LIGHT` of the largest they fade.
        pressed = axial * axial + _LIGHT * _LIGHT
        predicted = [
            axial,
            (loads[0] / (ap * top)) ** 2 / pressed,
            (loads[2] / (ml * top)) ** 2 / pressed,
            loads[7] / peak,
        ]
        if self.fields["domain"] is None:
            return f.join([x * x, *predicted, *[0.0 * axial] * 3])
        inputs = clip(f, f.join([x, root_load / half - 1.0]), 1.0, self.width)
        learner = Learner(f, self.fields["domain"].data)
        learnt = learner.values(inputs)
        m = 1.0 + 0.0 * axial
        if gap is not None:
            m = plus(f, 1.0 - plus(f, gap / lifted, self.width), self.width)
        last = [(m * learnt[0]) ** 2, (m * learnt[1]) ** 2, m * (1.0 + learnt[2])]
        return f.join([x * x, *predicted, *last])


def mean_fall(packed: PackedCompartment) -> float:
    """Return the mean fall of a learnt height with s [m], at the path."""
    if packed.fields["direct"]:
        return 0.0
    height = packed.fields["parts"][0]
    ends = np.outer([-1.0, 1.0], np.eye(height.data.inputs)[-1])
    low, high = height.evaluate(ends)[0][:, 0]
    return max(0.5 * float(low - high), LEAST_FALL)


def loads_and_criteria(
    f: Functions, parts: Sequence[PackedCompartment], pose: Expression
) -> tuple[list[Expression], list[Expression]]:
    """Return loads (12,) [SI] and criteria (12,) [1] of each compartment at a pose (6,) [rad, m].

    NaN unless the pose is finite: a comparison with NaN does not hold.
    """
    loads, domain = [], []
    total = sum((pose[k] for k in range(1, 6)), pose[0])
    unknown = f.where(f.maximum(total, -total) < np.inf, 0.0, np.nan)
    for packed in parts:
        own, criteria = Compartment(f, packed).loads_and_criteria(pose)
        domain.append(unknown + criteria)
        loads.append(unknown + own)
    return loads, domain


def casadi_knee(parts: Sequence[PackedCompartment]) -> Any:
    """Return the function "knee" of CasADi, as of `ContactSurrogate.casadi`."""
    ca = casadi()
    pose = ca.SX.sym("pose", 6)
    loads, domain = loads_and_criteria(CasadiFunctions(), parts, pose)
    outputs = ca.cse([ca.horzcat(*loads), ca.horzcat(*domain)])
    return ca.Function("knee", [pose], outputs, ["pose"], ["loads", "domain"])


def jax_knee(parts: Sequence[PackedCompartment]) -> Callable[..., tuple[Any, Any]]:
    """Return the loads of a knee as a pure function of JAX arrays, as of `ContactSurrogate.jax`."""
    jnp = jax().numpy

    def knee(pose: Any) -> tuple[Any, Any]:
        whole = jnp.asarray(pose)
        if whole.shape != (6,):
            raise InputError(
                f"pose: expected shape (6,), found {whole.shape}; use jax.vmap for rows of poses"
            )
        loads, domain = loads_and_criteria(JaxFunctions(whole.dtype), parts, whole)
        return jnp.stack(loads), jnp.stack(domain)

    return knee
