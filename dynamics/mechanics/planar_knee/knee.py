"""Planar knee after Machado et al. (2010): a tibia with three degrees of freedom, a fixed femur.

The femur's frame is the global one: x anterior, y superior. The tibia's frame has its origin in
the centre of mass, ξ along the shaft towards the knee and η posterior where the shaft is upright;
φ is the angle of ξ from x, so that the knee is straight at φ = 90°. The contact force F >= 0 acts
along the outward normal n of the femur at the contact point P, with the indentation δ = -gap and
its rate δ̇ = -n · v_P. There is no friction; only the damping of the contact dissipates energy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.mechanics.planar_knee.contact_point import (
    Angles,
    ContactGeometry,
    ContactLocation,
    Place,
)
from dynamics.mechanics.planar_knee.ligaments import PlanarLigament
from foundation.base.checks import FloatArray, check_array, check_numbers, check_unique, frozen
from foundation.base.errors import InputError
from foundation.contact_laws import ContactLaw, LinearHysteresisLaw

#: Direction of the pull of Machado et al. (2010, section 6) in the global frame [1]: proximal,
#: along the shaft of the tibia at the start.
PROXIMAL = (math.cos(math.radians(35.21)), math.sin(math.radians(35.21)))


@dataclass(frozen=True, eq=False)
class Pull:
    """Exponentially decaying sine A exp(-4.73 (t/td)²) sin(π t/td) at the centre of mass.

    Parameters
    ----------
    amplitude : float
        A [N]; the largest force is 0.532 A, at t = 0.278 td.
    duration : float
        td [s], > 0. Beyond td the force is less than 0.11 % of A.
    direction : (2,) float64
        Constant direction in the global frame [1]; normalised. By default `PROXIMAL`: cos 35.21°
        and sin 35.21°.
    """

    amplitude: float
    duration: float = 0.05
    direction: FloatArray = PROXIMAL  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_numbers(self, "pull ", amplitude="N")
        check_numbers(self, "pull ", above=0.0, duration="s")
        direction = check_array("pull direction", self.direction, (2,))
        length = math.hypot(*direction)
        if length == 0.0:
            raise InputError("pull direction: expected a nonzero vector, found (0, 0)")
        object.__setattr__(self, "direction", frozen(direction / length))

    def magnitude(self, time: float) -> float:
        """Return the force [N] at a time [s], along the direction; zero before t = 0."""
        if time <= 0.0:
            return 0.0
        s = time / self.duration
        return self.amplitude * math.exp(-4.73 * s * s) * math.sin(math.pi * s)


class ContactState(NamedTuple):
    """Contact at one instant."""

    point: ContactLocation
    #: δ [m], negative where the bodies are apart.
    indentation: float
    #: dδ/dt [m/s].
    rate: float
    #: Velocity of the tibia along the femur's tangent, the normal turned counterclockwise [m/s].
    sliding: float


class Loads(NamedTuple):
    """Total load on the tibia at one instant, and powers."""

    #: [N, N, N m], the moment about the centre of mass.
    force: tuple[float, float, float]
    #: Of the pull [W].
    pull_power: float
    #: Lost in the contact [W], >= 0.
    loss_power: float
    #: F [N].
    contact_force: float


@dataclass(frozen=True, eq=False)
class PlanarKnee:
    """Tibia with contact, ligaments and loads.

    Parameters
    ----------
    mass, inertia : float
        Mass and moment of inertia of the tibia about its centre of mass [kg, kg m²], > 0.
    geometry : ContactGeometry
        `ProfileContact` or `ClearanceJoint`.
    law : ContactLaw
        Contact force over the indentation, continuous in its rate.
    ligaments : tuple of PlanarLigament
        Ligaments with unique names; by default none.
    pull : Pull, optional
        External force at the centre of mass.
    gravity : float
        Acceleration [m/s²] along -y, >= 0.
    least_impact_rate : float
        Lower limit of the impact rate in the contact law [m/s], > 0. Laws of the Hunt-Crossley
        family divide by the impact rate, so that a contact without impact speed would have infinite
        damping.

    Raises
    ------
    InputError
        If a value is not finite or out of its range, law or pull is of another type, the law is a
        `LinearHysteresisLaw`, or two ligaments have one name.
    """

    mass: float
    inertia: float
    geometry: ContactGeometry
    law: ContactLaw
    ligaments: tuple[PlanarLigament, ...] = ()
    pull: Pull | None = None
    gravity: float = STANDARD_GRAVITY
    least_impact_rate: float = 0.01

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, mass="kg", inertia="kg m²", least_impact_rate="m/s")
        check_numbers(self, at_least=0.0, gravity="m/s²")
        if not isinstance(self.law, ContactLaw):
            raise InputError(f"law: expected a ContactLaw, found {self.law!r}")
        if isinstance(self.law, LinearHysteresisLaw):
            raise InputError(
                "law: expected a force that is continuous in the rate, found LinearHysteresisLaw, "
                "whose force jumps where the rate changes its sign, so that a lasting contact has "
                "no solution; use KelvinVoigtLaw or FloresLaw"
            )
        if not isinstance(self.pull, Pull | None):
            raise InputError(f"pull: expected a Pull or None, found {self.pull!r}")
        object.__setattr__(self, "ligaments", tuple(self.ligaments))
        check_unique("ligaments", [each.name for each in self.ligaments])

    def contact_state(self, state: FloatArray, start: Angles | None = None) -> ContactState:
        """Return the contact for a state (x, y, φ, v_x, v_y, ω), (6,) [m, rad, s]."""
        x, y, angle, v_x, v_y, spin = state[:6].tolist()
        point = self.geometry.contact((x, y, angle), start)
        p_x, p_y = point.point.tolist()
        n_x, n_y = point.normal.tolist()
        # A point of the common normal has one normal velocity, but the tibia's surface is the gap
        # away from the femur's.
        rate = -n_x * (v_x - spin * (p_y - y)) - n_y * (v_y + spin * (p_x - x))
        t_x, t_y = p_x + point.gap * n_x, p_y + point.gap * n_y
        sliding = n_x * (v_y + spin * (t_x - x)) - n_y * (v_x - spin * (t_y - y))
        return ContactState(point, -point.gap, rate, sliding)

    def loads(
        self, time: float, state: FloatArray, contact: ContactState, impact_rate: float
    ) -> Loads:
        """Return the loads on the tibia.

        Parameters
        ----------
        time : float
            Instant [s].
        state : (6,) float64
            (x, y, φ, v_x, v_y, ω) [m, rad, s].
        contact : ContactState
            Contact of the state.
        impact_rate : float
            dδ/dt at the start of the present contact [m/s].
        """
        x, y, angle, v_x, v_y, _ = state[:6].tolist()
        f_x, f_y, moment = 0.0, -self.mass * self.gravity, 0.0
        for ligament in self.ligaments:
            load = ligament.load((x, y, angle))
            f_x, f_y, moment = f_x + load[0], f_y + load[1], moment + load[2]
        power = 0.0
        if self.pull is not None:
            pull = self.pull.magnitude(time)
            u_x, u_y = self.pull.direction.tolist()
            f_x, f_y, power = f_x + pull * u_x, f_y + pull * u_y, pull * (v_x * u_x + v_y * u_y)
        force = loss = 0.0
        depth = contact.indentation
        if depth > 0.0:
            started = max(impact_rate, self.least_impact_rate)
            force = float(self.law.force(depth, contact.rate, started))
            loss = (force - self.law.stiffness * depth**self.law.exponent) * contact.rate
            n_x, n_y = contact.point.normal.tolist()
            p_x, p_y = contact.point.point.tolist()
            f_x, f_y = f_x + force * n_x, f_y + force * n_y
            moment += force * ((p_x - x) * n_y - (p_y - y) * n_x)
        return Loads((f_x, f_y, moment), power, loss, force)

    def energies(self, state: FloatArray, indentation: float) -> tuple[float, float, float, float]:
        """Return kinetic, gravitational, ligament and contact energy [J] at a state (6,)."""
        x, y, angle, v_x, v_y, spin = state[:6].tolist()
        place: Place = (x, y, angle)
        return (
            0.5 * self.mass * (v_x * v_x + v_y * v_y) + 0.5 * self.inertia * spin * spin,
            self.mass * self.gravity * y,
            sum(each.energy(each.length(place)) for each in self.ligaments),
            float(self.law.energy(indentation)),
        )

    def ligament_lengths(self, place: Place) -> FloatArray:
        """Return the ligament lengths (B,) [m] for the tibia at (x, y, φ) [m, m, rad]."""
        return np.array([each.length(place) for each in self.ligaments])
