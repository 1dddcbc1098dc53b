"""Uncertain ligaments of a knee as standard normal variables, and laxity as their function.

Each group of bundles has a factor exp(s z) on its rest lengths and one on its stiffnesses, and a
displacement s z of its femoral and of its tibial attachments along each axis of the bone; the
restraint of the menisci has a factor exp(s z). The z of the prior are independent, with mean 0 and
standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dynamics.laxity.states import DIRECTIONS, LaxityKnee, LaxityStates, LaxityTest
from dynamics.ligaments.bundles import Ligament
from dynamics.ligaments.derivatives import FEMORAL, REST, STIFFNESS, TIBIAL, force_derivatives
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.base.pose import ANTERIOR, COORDINATES, Pose

#: Shortest step, as a part of the way, in which states are followed over parameters.
_SHORTEST = 0.1
#: Parameters of a group, in order: rest length, stiffness, then both attachments.
_AXES = ("anterior", "superior", "lateral")
OF_GROUP = (
    "rest_length",
    "stiffness",
    *(f"{end}_{axis}" for end in ("femoral", "tibial") for axis in _AXES),
)
MENISCI = "menisci_stiffness"


class Spreads(NamedTuple):
    """Standard deviations of the prior of a group."""

    #: Of the logarithms of the factors [1].
    rest_length: float = 0.05
    stiffness: float = 0.3
    #: Of the displacements of the attachments along each axis [m].
    insertion: float = 3e-3

    @property
    def sizes(self) -> FloatArray:
        """In the order of `OF_GROUP`, (8,) [1, m]."""
        return np.array([self.rest_length, self.stiffness, *[self.insertion] * 6])


@dataclass(frozen=True, eq=False)
class UncertainKnee:
    """A knee with uncertain parameters (P,) of its ligaments and menisci."""

    #: The knee at the means of the prior.
    knee: LaxityKnee
    #: Numbers of the bundles of each group, and its prior, by name.
    groups: dict[str, NDArray[np.int64]]
    spreads: dict[str, Spreads]
    #: Standard deviation of the logarithm of the restraint of the menisci [1].
    menisci: float = 0.5

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, (P,)."""
        return (*(f"{group} {name}" for group in self.groups for name in OF_GROUP), MENISCI)

    @cached_property
    def sizes(self) -> FloatArray:
        """Standard deviations of the parameters in the prior (P,) [1, m]."""
        rows = [self.spreads[name].sizes for name in self.groups]
        return np.concatenate([*rows, [self.menisci]])

    def at(self, z: FloatArray) -> LaxityKnee:
        """Return the knee with parameters (P,) [1]."""
        values = self.sizes * z
        bundles = list(self.knee.ligaments)
        rows = values[:-1].reshape(-1, len(OF_GROUP))
        for members, row in zip(self.groups.values(), rows, strict=True):
            for k in members.tolist():
                each = bundles[k]
                bundles[k] = replace(
                    each,
                    rest_length=each.rest_length * float(np.exp(row[REST])),
                    stiffness=each.stiffness * float(np.exp(row[STIFFNESS])),
                    femoral=each.femoral + row[FEMORAL],
                    tibial=each.tibial + row[TIBIAL],
                )
        menisci = self.knee.menisci * float(np.exp(values[-1]))
        return replace(self.knee, ligaments=tuple(bundles), menisci=menisci)

    def at_strains(self, strains: Mapping[str, float], pose: Pose) -> Self:
        """Return the knee whose bundles of some groups have strains [1] at a pose."""
        bundles = list(self.knee.ligaments)
        for name, strain in strains.items():
            for k in self.groups[name].tolist():
                each = bundles[k]
                line = pose.rotation_matrix @ each.femoral + pose.translation - each.tibial
                length = float(np.linalg.norm(line))
                bundles[k] = replace(each, rest_length=length / (1.0 + strain))
        return replace(self, knee=replace(self.knee, ligaments=tuple(bundles)))

    def pose_derivatives(self, knee: LaxityKnee, states: LaxityStates) -> FloatArray:
        """Return the derivatives (1 + S, 6, P) [rad, m] of the poses of states by the parameters.

        `knee` is that of the states. By the implicit function theorem, dq/dz = -(dQ/dq)^-1 dQ/dz at
        the equilibrium Q(q, z) = 0.
        """
        applied, poses = states.test.applied, states.poses
        found = np.zeros((*poses.shape, len(self.names)))
        for k, (pose, loads) in enumerate(zip(poses, applied, strict=True)):
            centre = None if k == 0 else float(poses[0, ANTERIOR])
            _, slopes = knee.balance(pose, loads, centre)
            by_z = self._force_derivatives(knee, pose)[1:]
            if centre is not None:
                by_z[ANTERIOR - 1] += knee.menisci * found[0, ANTERIOR]
                spring = -knee.menisci * (pose[ANTERIOR] - centre)
                by_z[ANTERIOR - 1, -1] += self.sizes[-1] * spring
            found[k, 1:] = np.linalg.solve(-slopes, by_z)
        return found

    def _force_derivatives(self, knee: LaxityKnee, pose: FloatArray) -> FloatArray:
        """Return the derivatives (6, P) of the forces of bundles by the parameters."""
        by_bundle = force_derivatives(knee.ligaments, pose)
        by_bundle[:, REST] *= np.array([each.rest_length for each in knee.ligaments])[:, None]
        by_bundle[:, STIFFNESS] *= np.array([each.stiffness for each in knee.ligaments])[:, None]
        rows = [by_bundle[members].sum(axis=0) for members in self.groups.values()]
        by_z = np.concatenate([*rows, np.zeros((1, 6))]).T * self.sizes
        return np.ascontiguousarray(by_z)


class Answer(NamedTuple):
    """Displacements (N,) [mm, deg] at parameters (P,) and their derivatives (N, P)."""

    z: FloatArray
    values: FloatArray
    jacobian: FloatArray
    #: States of each test, and derivatives (1 + S, 6, P) of their poses [rad, m].
    states: tuple[LaxityStates, ...]
    slopes: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class LaxityModel:
    """Displacements of N states, from the first of each test, as functions of P parameters."""

    uncertain: UncertainKnee
    tests: tuple[LaxityTest, ...]
    #: Pose near contact from which the knee settles.
    start: Pose

    @cached_property
    def base(self) -> Answer:
        """The answer at the means of the prior; raises `EquilibriumError` with the test."""
        knee, zero = self.uncertain.knee, np.zeros(len(self.uncertain.names))
        return self._answer(zero, knee, [self._settled(knee, test) for test in self.tests])

    def __call__(self, z: FloatArray, near: Answer | None = None) -> Answer:
        """Return the answer at parameters (P,) [1], followed from that `near`, by default `base`.

        Raises `EquilibriumError` as `base`.
        """
        known = self.base if near is None else near
        knee = self.uncertain.at(z)
        tests = range(len(self.tests))
        return self._answer(z, knee, [self._followed(z, knee, known, k) for k in tests])

    def _answer(self, z: FloatArray, knee: LaxityKnee, states: list[LaxityStates]) -> Answer:
        slopes = [self.uncertain.pose_derivatives(knee, each) for each in states]
        values = np.concatenate([each.displacement[1:] for each in states])
        rows = [_by_parameters(each, slope) for each, slope in zip(states, slopes, strict=True)]
        return Answer(z.copy(), values, np.concatenate(rows), tuple(states), tuple(slopes))

    def _followed(self, z: FloatArray, aim: LaxityKnee, known: Answer, k: int) -> LaxityStates:
        """Return the states of test k at parameters (P,), in steps from those of a known answer."""
        states, slope, at, step = known.states[k], known.slopes[k], 0.0, 1.0
        whole = z - known.z
        while step > _SHORTEST:
            step = min(step, 1.0 - at)
            last = at + step == 1.0
            knee = aim if last else self.uncertain.at(known.z + (at + step) * whole)
            found = knee.near(states.test, states.poses + slope @ (step * whole))
            if found is None:
                step *= 0.5
                continue
            if last:
                return found
            at += step
            states, slope = found, self.uncertain.pose_derivatives(knee, found)
        raise EquilibriumError(
            f"test {states.test.name}: the states end {100 * at:.0f} % of the way to the ligaments"
        )

    def _settled(self, knee: LaxityKnee, test: LaxityTest) -> LaxityStates:
        try:
            return knee.states(test, self.start)
        except EquilibriumError as error:
            raise EquilibriumError(f"test {test.name}: {error}") from error


def _by_parameters(states: LaxityStates, slopes: FloatArray) -> FloatArray:
    """Return the derivatives (S - 1, P) of the displacements of states from the first."""
    direction = DIRECTIONS[states.test.direction]
    along = direction.factor * slopes[1:, COORDINATES.index(direction.coordinate)]
    return along[1:] - along[0]


def groups_of(
    ligaments: Sequence[Ligament], names: Sequence[str] = ()
) -> dict[str, NDArray[np.int64]]:
    """Return the numbers (B,) of the bundles of each group.

    A bundle belongs to the longest of `names` that its own name begins with, by default to its name
    without the digits at the end. Raises an InputError for a group without bundles.
    """
    found: dict[str, list[int]] = {name: [] for name in names}
    for k, each in enumerate(ligaments):
        own = [name for name in names if each.name.startswith(name)]
        group = max(own, key=len, default=each.name.rstrip("0123456789") or each.name)
        found.setdefault(group, []).append(k)
    empty = [name for name, members in found.items() if not members]
    if empty:
        raise InputError(
            f"groups: expected the beginnings of names of bundles, found {empty[0]}, and the "
            f"bundles {', '.join(each.name for each in ligaments)}"
        )
    return {name: check_array(name, members).astype(np.int64) for name, members in found.items()}
