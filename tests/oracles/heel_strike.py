"""Heel strikes and an impact of a leg on compliant and on rigid ground, and Moreau's time stepping.

The postures and speeds at the start are chosen, in the range of walking, and not measured.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from dynamics.mechanics.chains import Assembly
from dynamics.mechanics.ground import (
    ContactPoint,
    GroundContacts,
    jump,
    penalty_ground,
    simulate_strike,
    striking_legs,
)
from foundation.base.checks import FloatArray
from foundation.contact_laws.normal import CompliantFriction

#: Of the reversing impact, as in Newton's law.
FRICTION, RESTITUTION = 0.5, 0.5


@dataclass(frozen=True, eq=False)
class Start:
    """A leg, the points that may touch the ground, coordinates and rates."""

    leg: Assembly
    points: tuple[ContactPoint, ...]
    position: FloatArray
    velocity: FloatArray


def places(assembly, points, position):
    """Return the places (P, 2) [m] of points."""
    at = GroundContacts(assembly, points).at(position, np.zeros(len(position))).position
    return np.column_stack([at.real, at.imag])


def rows(assembly, points, position):
    """Return the Jacobians (P, 2, F) of points."""
    at = GroundContacts(assembly, points).at(position, np.zeros(len(position))).jacobian
    return np.stack([at.real, at.imag], axis=1)


def kinetic(assembly, position, velocity):
    """Return the kinetic energy [J]."""
    return assembly.evaluate(0.0, position, velocity).kinetic


def heel_strike(ankle="locked"):
    """Return the body on one leg, 1 mm above the ground, with a spring in the knee (and ankle)."""
    n = 2 if ankle == "locked" else 3
    leg, points = striking_legs(
        sides=("leg",),
        ankle=ankle,
        joint_stiffness=[0.0, 400.0, 300.0][:n],
        joint_damping=[0.0, 10.0, 8.0][:n],
        joint_rest=np.radians([0.0, -5.0, 0.0][:n]),
    )
    position = np.array([*np.radians([25.0, 18.0, 18.0][:n]), 0.0, 0.0])
    position[-1] = 1e-3 - places(leg, points, position)[:, 1].min()
    velocity = np.array([*[-1.0, -2.0, -2.0][:n], 1.3, -0.2])
    return Start(leg, points, position, velocity)


def reversing_impact():
    """Return a leg pinned at the hip, the heel on the ground, that slides back at first."""
    position, velocity = np.radians([45.0, 39.0]), np.array([-1.5, -3.0])
    leg, points = striking_legs(sides=("leg",), anchor=[0.0, 0.0])
    height = places(leg, points[:1], position)[0, 1]
    leg, points = striking_legs(sides=("leg",), anchor=[0.0, -height])
    return Start(leg, points[:1], position, velocity)


@cache
def soft(name, duration=0.4):
    """Return a simulation on compliant ground: "locked", "hinged" or "reversing"."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    ground = penalty_ground(friction=CompliantFriction(1e5, 200.0, FRICTION if reversing else 0.8))
    state = start.position, start.velocity
    return simulate_strike(start.leg, start.points, ground, *state, duration, samples=2001)


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """Motion on rigid ground: reactions are impulses over the step."""

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    forces: FloatArray
    loss: FloatArray
    energy: FloatArray

    @property
    def reaction(self):
        """Ground reaction (T, 2) [N]."""
        return self.forces.sum(axis=1)


def rigid_motion(leg, points, position, velocity, duration, *, restitution, friction, steps):
    """Return the motion by Moreau's time stepping with Newton's restitution (Moreau 1988).

    In a step h from (q, v) the points that penetrate or touch at the midpoint q + v h/2 obey the
    law at the level of velocities; the order is 1.
    """
    h = duration / steps
    q, v = (np.tile(np.asarray(each, float), (steps + 1, 1)) for each in (position, velocity))
    forces, loss = np.zeros((steps + 1, len(points), 2)), np.zeros(steps + 1)
    for k in range(steps):
        middle = q[k] + 0.5 * h * v[k]
        mass, bias, force = leg.terms(0.0, middle, v[k])
        free = v[k] + h * np.linalg.solve(mass, force - bias)
        touching = places(leg, points, middle)[:, 1] <= 0.0
        v[k + 1], lost = free, 0.0
        if touching.any():
            struck_points = [p for p, on in zip(points, touching, strict=True) if on]
            j = GroundContacts(leg, struck_points).at(middle, v[k]).rows()[2]
            struck = jump(j, np.linalg.solve(mass, j.T), v[k], free, restitution, friction)
            v[k + 1], forces[k + 1, touching] = struck.velocity, struck.impulse / h
            lost = -0.5 * (struck.impulse * (struck.before + struck.after)).sum()
        q[k + 1] = middle + 0.5 * h * v[k + 1]
        state = leg.complete(0.0, middle, 0.5 * (v[k] + v[k + 1]))
        joints = leg.dissipation(leg.equations(leg.tree.at(*state[:2]), state), state)
        loss[k + 1] = loss[k] + lost + h * joints
    at = [leg.evaluate(0.0, *each) for each in zip(q, v, strict=True)]
    energy = np.array([each.kinetic + each.potential for each in at])
    return RigidMotion(np.linspace(0.0, duration, steps + 1), q, v, forces, loss, energy)


@cache
def rigid(name, restitution, duration=0.4, steps=4000):
    """Return a simulation on rigid ground after Newton and Coulomb."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    return rigid_motion(
        start.leg, start.points, start.position, start.velocity, duration, steps=steps,
        restitution=restitution, friction=FRICTION if reversing else 0.8,
    )  # fmt: skip
