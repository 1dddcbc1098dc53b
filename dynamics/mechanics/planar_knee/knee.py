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
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Chain,
    ChainSegment,
    FreeBase,
    ViscoelasticLink,
)
from dynamics.mechanics.contact import CompliantGround, ContactChange, ContactProblem, Located
from dynamics.mechanics.planar import Pose
from dynamics.mechanics.planar_knee.profiles import (
    Angles,
    ContactGeometry,
    ContactLocation,
    Place,
)
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_number,
    check_numbers,
    check_unique,
    frozen,
)
from foundation.base.errors import InputError
from foundation.contact_laws.normal import ContactLaw, LinearHysteresisLaw

#: Direction of the pull of Machado et al. (2010, section 6) in the global frame [1]: proximal,
#: along the shaft of the tibia at the start.
PROXIMAL = (math.cos(math.radians(35.21)), math.sin(math.radians(35.21)))
#: Coordinates of the assembly (φ, x, y) in the state (x, y, φ), and the other way round.
_TO_TREE, _FROM_TREE = [2, 0, 1], [1, 2, 0]
#: Absolute tolerances of φ, x, y, ω, v_x, v_y and works as parts of the relative tolerance.
_SCALES = np.array([1e-1, 1e-2, 1e-2, 1.0, 1e-1, 1e-1, 1e-1])


@dataclass(frozen=True, eq=False)
class PlanarLigament:
    """One ligament between two points, which only pulls."""

    name: str
    #: Attachments in the frames of femur and tibia (2,) [m].
    femoral: FloatArray
    tibial: FloatArray
    #: l0 [m], > 0.
    rest_length: float
    #: k >= 0 of the tension k (l - l0)² [N/m²].
    stiffness: float
    #: Strain [1] and force [N], > 0, at which the ligament ruptures, which no simulation heeds; by
    #: default infinite.
    strain_limit: float = math.inf
    force_limit: float = math.inf

    def __post_init__(self) -> None:
        of = f"ligament {self.name}:"
        check_fields(self, f"{of} ", femoral=(2,), tibial=(2,))
        check_numbers(self, f"{of} ", above=0.0, rest_length="m")
        check_numbers(self, f"{of} ", at_least=0.0, stiffness="N/m²")
        for name, unit in (("strain_limit", ""), ("force_limit", "N")):
            if getattr(self, name) != math.inf:
                check_number(f"{of} {name}", getattr(self, name), above=0.0, unit=unit)

    def tension(self, length: ArrayLike) -> FloatArray:
        """Return the tension [N] at lengths of any shape [m]."""
        stretch = np.maximum(np.asarray(length) - self.rest_length, 0.0)
        return self.stiffness * stretch**2

    def length(self, place: Place) -> float:
        """Return the length [m] for the tibia at (x, y, φ) [m, m, rad]."""
        tibial = complex(*self.tibial) * complex(math.cos(place[2]), math.sin(place[2]))
        return abs(complex(*self.femoral) - complex(*place[:2]) - tibial)

    @property
    def link(self) -> ViscoelasticLink:
        """The ligament as a link of an assembly."""
        return ViscoelasticLink(
            self.name, GROUND, self.femoral, ("tibia", "tibia"), self.tibial, self.stiffness,
            rest_length=self.rest_length, pull_only=True, exponent=2.0,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pull:
    """Exponentially decaying sine A exp(-4.73 (t/td)²) sin(π t/td) at the centre of mass."""

    #: A [N]; the largest force is 0.532 A, at t = 0.278 td.
    amplitude: float
    #: td [s], > 0. Beyond td the force is less than 0.11 % of A.
    duration: float = 0.05
    #: (2,) in the global frame [1], normalised: cos 35.21° and sin 35.21° by default.
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


@dataclass(frozen=True, eq=False)
class PlanarKnee:
    """Tibia with contact, ligaments and loads."""

    #: Mass [kg] and moment of inertia about the centre of mass [kg m²], > 0.
    mass: float
    inertia: float
    #: `ProfileContact`, `ClearanceJoint` or another geometry with a method `contact`.
    geometry: ContactGeometry
    #: Normal force over the indentation, continuous in its rate.
    law: ContactLaw
    #: Ligaments with unique names.
    ligaments: tuple[PlanarLigament, ...] = ()
    #: Force at the centre of mass.
    pull: Pull | None = None
    #: Acceleration along -y [m/s²], >= 0.
    gravity: float = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, mass="kg", inertia="kg m²")
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

    @cached_property
    def assembly(self) -> Assembly:
        """The tibia on its ligaments, in the coordinates φ, x, y."""
        tibia = ChainSegment("tibia", 1.0, self.mass, self.inertia, np.zeros(2))
        links = tuple(each.link for each in self.ligaments)
        return Assembly((Chain("tibia", (tibia,), FreeBase()),), links, (0.0, -self.gravity))

    def contact_state(self, state: FloatArray, start: Angles | None = None) -> ContactState:
        """Return the contact for a state (x, y, φ, v_x, v_y, ω), (6,) [m, rad, s]."""
        x, y, angle, v_x, v_y, spin = state[:6].tolist()
        point = self.geometry.contact((x, y, angle), start)
        normal = complex(*point.normal)
        # A point of the common normal has one normal velocity, but the tibia's surface is the gap
        # away from the femur's.
        arm = complex(*point.point) - complex(x, y)
        at_femur, at_tibia = (
            normal.conjugate() * (complex(v_x, v_y) + 1j * spin * each)
            for each in (arm, arm + point.gap * normal)
        )
        return ContactState(point, -point.gap, -at_femur.real, at_tibia.imag)

    def load(self, time: float) -> FloatArray:
        """Return the pull as a load (3,) [N m, N, N] on φ, x and y."""
        size = 0.0 if self.pull is None else self.pull.magnitude(time)
        return np.array([0.0, *(size * np.asarray(self.pull.direction if self.pull else (0, 0)))])

    def problem(self) -> ContactProblem:
        """Return the equations of motion with their memory."""
        return ContactProblem(
            self.assembly, _KneeContact(self), CompliantGround(self.law), self.load
        )


class _KneeContact:
    """The contact of femur and tibia; the search starts from the last contact point."""

    names = ("knee",)
    release = 0.0  # where the force, with its exponent of 3/2, has a kink

    def __init__(self, knee: PlanarKnee) -> None:
        self._knee, self._start = knee, None

    def locate(self, pose: Pose) -> Located:
        z, unit = complex(pose.joints.position[0]), complex(pose.unit[0])
        place = z.real, z.imag, math.atan2(unit.imag, unit.real)
        found = self._knee.geometry.contact(place, self._start)
        self._start = found.angles  # type: ignore[assignment]
        local = (complex(*found.point) - z) / unit
        return Located(np.array([found.gap]), np.zeros(1, dtype=np.int64), np.array([local]),
                       np.array([complex(*found.normal)]))  # fmt: skip


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """Motion of the tibia, loads on the tibia and energies at n instants, with B ligaments."""

    #: Instants (n,) [s].
    time: FloatArray
    #: x, y, φ, v_x, v_y, ω (n, 6) [m, rad, s].
    state: FloatArray
    #: δ, negative apart (n,) [m], F [N], dδ/dt and velocity along the femur's tangent [m/s].
    indentation: FloatArray
    contact_force: FloatArray
    indentation_rate: FloatArray
    sliding_velocity: FloatArray
    #: Contact points in the frames of femur and tibia (n, 2) [m].
    femoral_contact: FloatArray
    tibial_contact: FloatArray
    #: Lengths (n, B) [m] and tensions [N].
    ligament_length: FloatArray
    ligament_force: FloatArray
    #: Energies (n,) [J].
    kinetic: FloatArray
    gravitational: FloatArray
    ligament_energy: FloatArray
    contact_energy: FloatArray
    #: Work of the pull and loss in the contact so far (n,) [J].
    pull_work: FloatArray
    contact_loss: FloatArray
    #: Starts of contacts after the first instant.
    impacts: tuple[ContactChange, ...]

    @property
    def centre_of_mass(self) -> FloatArray:
        """Position of the centre of mass, (n, 2) [m]."""
        return self.state[:, :2]

    @property
    def flexion(self) -> FloatArray:
        """Angle between the shafts, 90° - φ, (n,) [rad]; zero where the knee is straight."""
        return 0.5 * np.pi - self.state[:, 2]

    @property
    def mechanical_energy(self) -> FloatArray:
        """Kinetic and all stored energy, (n,) [J]."""
        return self.kinetic + self.gravitational + self.ligament_energy + self.contact_energy

    @property
    def energy_error(self) -> FloatArray:
        """Change of mechanical energy that pull and loss do not explain, (n,) [J]."""
        change = self.mechanical_energy - self.mechanical_energy[0]
        return change - self.pull_work + self.contact_loss


def simulate_planar_knee(
    knee: PlanarKnee,
    initial: ArrayLike,
    duration: float = 0.5,
    *,
    step: float = 5e-4,
    tolerance: float = 1e-9,
) -> PlanarMotion:
    """Simulate the motion of the tibia from a state (x, y, φ, v_x, v_y, ω), (6,) [m, rad, s].

    `step` is the largest distance of the instants of the result [s], `tolerance` the relative one
    of the integrator (DOP853).
    """
    start = check_array("initial", initial, (6,))
    check_number("duration", duration, above=0.0, unit="s")
    check_number("step", step, above=0.0, unit="s")
    check_number("tolerance", tolerance, at_least=1e-12, at_most=1e-2)
    instants = np.linspace(0.0, duration, max(math.ceil(duration / step - 1e-9), 1) + 1)
    fine = 0.3 * tolerance  # the norm of the error is a mean over entries that stay zero, too
    result, _ = knee.problem().simulate(
        start[:3][_TO_TREE], start[3:][_TO_TREE], instants, name="planar knee", method="DOP853",
        rtol=fine, atol=fine * _SCALES,
    )  # fmt: skip
    state = np.hstack([result.position[:, _FROM_TREE], result.velocity[:, _FROM_TREE]])
    contacts: list[ContactState] = []
    for row in state:
        contacts.append(knee.contact_state(row, contacts[-1].point.angles if contacts else None))
    places = state[:, :3].tolist()
    lengths = np.array([[each.length(at) for each in knee.ligaments] for at in places])
    lengths = lengths.reshape(len(state), len(knee.ligaments))
    forces = np.zeros_like(lengths)
    for k, ligament in enumerate(knee.ligaments):
        forces[:, k] = ligament.tension(lengths[:, k])
    gravitational = knee.mass * knee.gravity * state[:, 1]
    return PlanarMotion(
        time=instants,
        state=state,
        indentation=-result.gap[:, 0],
        contact_force=result.forces[:, 0, 1],
        indentation_rate=np.array([each.rate for each in contacts]),
        sliding_velocity=np.array([each.sliding for each in contacts]),
        femoral_contact=np.array([each.point.point for each in contacts]),
        tibial_contact=np.array(
            [each.point.on_tibia(at) for each, at in zip(contacts, places, strict=True)]
        ),
        ligament_length=lengths,
        ligament_force=forces,
        kinetic=result.kinetic,
        gravitational=gravitational,
        ligament_energy=result.potential - gravitational,
        contact_energy=result.stored,
        pull_work=result.load_work,
        contact_loss=result.normal_loss,
        impacts=tuple(each for each in result.changes if each.closed),
    )
