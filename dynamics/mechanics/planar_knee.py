"""Planar knee after Machado et al. (2010): a tibia with three degrees of freedom, a fixed femur.

The femur's frame is the global one: x anterior, y superior. The tibia's frame has its origin in
the centre of mass, ξ along the shaft towards the knee and η posterior where the shaft is upright;
φ is the angle of ξ from x, so that the knee is straight at φ = 90°. The contact force F >= 0 acts
along the outward normal n of the femur at the contact point P, with the indentation δ = -gap and
its rate δ̇ = -n · v_P. There is no friction; only the damping of the contact dissipates energy.

The data of Machado et al. (Nonlinear Dyn 60:459-478) are in `tables/`. The femoral frame is printed
at 90° (table 1) and used at 0° here: only then do the printed rest lengths follow from the printed
attachments. The paper gives no coordinates of the profiles (a circle of 40 mm and a plane are
printed), no place of the plane and no radius of the socket of the joint with clearance; ours are a
circle about the femoral origin, `PLANE_DISTANCE` (the ends of the plane are 82 mm from the ξ axis,
far beyond the bone) and 200 mm of clearance. docs/mechanics.md has the reasons.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.csv_table import read_csv_table
from dynamics.mechanics.chain_parts import GROUND, Chain, ChainSegment, FreeBase, ViscoelasticLink
from dynamics.mechanics.chains import Assembly
from dynamics.mechanics.contact import (
    CompliantGround,
    ContactChange,
    ContactMotion,
    ContactProblem,
    Located,
)
from dynamics.mechanics.planar import Pose, as_complex, as_vectors
from dynamics.mechanics.profiles import (
    Angles,
    ClearanceJoint,
    ContactGeometry,
    ContactLocation,
    PolarProfile,
    ProfileContact,
)
from foundation.base.checks import FloatArray, check_array, check_in, check_number, check_numbers
from foundation.base.errors import InputError
from foundation.contact_laws.hertz import sphere_stiffness
from foundation.contact_laws.normal import (
    ContactLaw,
    FloresLaw,
    HertzLaw,
    HuntCrossleyLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
)

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
        check_numbers(self, f"ligament {self.name}: ", above=0.0, rest_length="m")

    def tension(self, length: ArrayLike) -> FloatArray:
        """Return the tension [N] at lengths of any shape [m]."""
        stretch = np.maximum(np.asarray(length) - self.rest_length, 0.0)
        return self.stiffness * stretch**2

    def length(self, state: ArrayLike) -> FloatArray:
        """Return the lengths (...) [m] in states (..., 3 or more) that begin with x, y, φ [m]."""
        at = np.asarray(state)
        tibial = as_complex(at) + np.exp(1j * at[..., 2]) * complex(*self.tibial)
        return np.abs(complex(*self.femoral) - tibial)

    @property
    def link(self) -> ViscoelasticLink:
        """The ligament as a link of an assembly."""
        return ViscoelasticLink(
            self.name, GROUND, self.femoral, ("tibia", "tibia"), self.tibial, self.stiffness,
            rest_length=self.rest_length, exponent=2.0,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pull:
    """Exponentially decaying sine A exp(-4.73 (t/td)²) sin(π t/td) at the centre of mass."""

    #: A [N]; the largest force is 0.532 A, at t = 0.278 td.
    amplitude: float
    #: td [s], > 0. Beyond td the force is less than 0.11 % of A.
    duration: float = 0.05
    #: (2,) in the global frame [1]: cos 35.21° and sin 35.21° by default.
    direction: FloatArray = PROXIMAL  # type: ignore[assignment]

    def magnitude(self, time: float) -> float:
        """Return the force [N] at a time [s], along the direction; zero before t = 0."""
        if time <= 0.0:
            return 0.0
        s = time / self.duration
        return self.amplitude * math.exp(-4.73 * s * s) * math.sin(math.pi * s)


class ContactState(NamedTuple):
    """Contact at one instant."""

    point: ContactLocation
    #: Rate of the indentation [m/s].
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
    #: Acceleration along -y [m/s²].
    gravity: float = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        if isinstance(self.law, LinearHysteresisLaw):
            raise InputError(
                "law: expected a force that is continuous in the rate, found LinearHysteresisLaw, "
                "with which a lasting contact has no solution; use KelvinVoigtLaw or FloresLaw"
            )

    @cached_property
    def assembly(self) -> Assembly:
        """The tibia on its ligaments, in the coordinates φ, x, y."""
        tibia = ChainSegment("tibia", 1.0, self.mass, self.inertia, np.zeros(2))
        links = tuple(each.link for each in self.ligaments)
        return Assembly((Chain("tibia", (tibia,), FreeBase()),), links, (0.0, -self.gravity))

    def contact(self, state: FloatArray, start: Angles | None = None) -> ContactLocation:
        """Return the contact point in a state that begins with x, y, φ, (3 or more,) [m, rad]."""
        return self.geometry.contact(complex(*state[:2]), cmath.exp(1j * state[2]), start)

    def contact_state(self, state: FloatArray) -> ContactState:
        """Return the contact for a state (x, y, φ, v_x, v_y, ω), (6,) [m, rad, s]."""
        x, y, _, v_x, v_y, spin = state.tolist()
        at = self.contact(state)
        # A point of the common normal has one normal velocity, but the tibia's surface is the gap
        # away from the femur's.
        moved = complex(v_x, v_y) + 1j * spin * (at.on_tibia - complex(x, y))
        velocity = at.normal.conjugate() * moved
        return ContactState(at, -velocity.real, velocity.imag)

    def load(self, time: float) -> FloatArray:
        """Return the pull as a load (3,) [N m, N, N] on φ, x and y."""
        if self.pull is None:
            return np.zeros(3)
        return np.array([0.0, *(self.pull.magnitude(time) * np.asarray(self.pull.direction))])

    def problem(self) -> ContactProblem:
        """Return the equations of motion with their memory."""
        return ContactProblem(
            self.assembly, _KneeContact(self), CompliantGround(self.law), self.load
        )


class _KneeContact:
    """The contact of femur and tibia; the search starts from the last contact point."""

    names: tuple[str, ...] = ("knee",)
    release = 0.0  # where the force, with its exponent of 3/2, has a kink

    def __init__(self, knee: PlanarKnee) -> None:
        self._geometry = knee.geometry
        self._start: Angles | None = None

    def locate(self, pose: Pose) -> Located:
        z, unit = complex(pose.joints.position[0]), complex(pose.unit[0])
        found = self._geometry.contact(z, unit, self._start)
        self._start = found.angles
        place = np.array([(found.point - z) / unit])
        body = np.zeros(1, dtype=np.int64)
        return Located(np.array([found.gap]), body, place, np.array([found.normal]))


@dataclass(frozen=True, eq=False)
class PlanarMotion(ContactMotion):
    """Motion of the tibia, in the coordinates φ, x, y, at T instants, with B ligaments."""

    #: Contact points in the frames of femur and tibia (T, 2) [m].
    femoral_contact: FloatArray
    tibial_contact: FloatArray
    #: Lengths (T, B) [m] and tensions [N].
    ligament_length: FloatArray
    ligament_force: FloatArray

    @property
    def state(self) -> FloatArray:
        """States (x, y, φ, v_x, v_y, ω), (T, 6) [m, rad, s]."""
        return np.hstack([self.position[:, _FROM_TREE], self.velocity[:, _FROM_TREE]])

    @property
    def flexion(self) -> FloatArray:
        """Angle between the shafts, 90° - φ, (T,) [rad]; zero where the knee is straight."""
        return 0.5 * np.pi - self.position[:, 0]

    @property
    def indentation(self) -> FloatArray:
        """Indentation δ, negative apart (T,) [m]."""
        return -self.gap[:, 0]

    @property
    def indentation_rate(self) -> FloatArray:
        """Rate of the indentation, (T,) [m/s]."""
        return -self.rate[:, 0, 1]

    @property
    def contact_force(self) -> FloatArray:
        """Contact force F, (T,) [N]."""
        return self.forces[:, 0, 1]

    @property
    def impacts(self) -> tuple[ContactChange, ...]:
        """Starts of contacts after the first instant."""
        return tuple(each for each in self.changes if each.closed)


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
    instants = np.linspace(0.0, duration, max(math.ceil(duration / step - 1e-9), 1) + 1)
    fine = 0.3 * tolerance  # the norm of the error is a mean over entries that stay zero, too
    result = knee.problem().simulate(
        start[:3][_TO_TREE], start[3:][_TO_TREE], instants, method="DOP853",
        rtol=fine, atol=fine * _SCALES,
    )  # fmt: skip
    at = result.position[:, _FROM_TREE]
    contacts: list[ContactLocation] = []
    for state in at:
        contacts.append(knee.contact(state, contacts[-1].angles if contacts else None))
    tibial = np.array([each.on_tibia for each in contacts]) - as_complex(at)
    lengths = [each.length(at) for each in knee.ligaments]
    forces = [each.tension(length) for each, length in zip(knee.ligaments, lengths, strict=True)]
    return PlanarMotion(
        **vars(result),
        femoral_contact=as_vectors(np.array([each.point for each in contacts])),
        tibial_contact=as_vectors(tibial * np.exp(-1j * at[:, 2])),
        ligament_length=np.array(lengths).reshape(-1, len(at)).T,
        ligament_force=np.array(forces).reshape(-1, len(at)).T,
    )


_TABLES = Path(__file__).with_name("tables")
#: Distance from the tibia's centre of mass to the plane of its cartilage, along ξ [m].
PLANE_DISTANCE = 0.2255
_HALF_ANGLE = math.radians(20.0)
_DISSIPATIVE: dict[str, Callable[[float, float], ContactLaw]] = {
    "hunt-crossley": HuntCrossleyLaw,
    "lankarani-nikravesh": LankaraniNikraveshLaw,
    "flores": FloresLaw,
}
#: Names of the contact laws, those of figure 8 of Lehtoranta (2011).
MACHADO_LAWS = ("hertz", *_DISSIPATIVE)


def machado_data() -> dict[str, float]:
    """Return the data of tibia and cartilage by name; the names state the units."""
    ((_, row),) = read_csv_table(_TABLES / "machado2010_tibia.csv").rows()
    return {name: float(cell) for name, cell in row.items()}


def machado_ligaments() -> tuple[PlanarLigament, ...]:
    """Return the ligaments MCL, LCL, ACL and PCL of table 2; the LCL has no limits in print."""
    rows = read_csv_table(_TABLES / "machado2010_ligaments.csv").rows()
    return tuple(
        PlanarLigament(
            row["name"],
            np.array([float(row["femoral_xi_m"]), float(row["femoral_eta_m"])]),
            np.array([float(row["tibial_xi_m"]), float(row["tibial_eta_m"])]),
            float(row["rest_length_m"]),
            float(row["stiffness_N_per_m2"]),
            strain_limit=_limit(row["strain_limit"]),
            force_limit=_limit(row["force_limit_N"]),
        )
        for _, row in rows
    )


def _limit(cell: str) -> float:
    return float(cell) if cell else math.inf


def machado_state() -> FloatArray:
    """Return the initial state (x, y, φ, 0, 0, 0) [m, rad, s], (6,)."""
    data = machado_data()
    angle = math.radians(data["angle_deg"])
    return np.array([data["centre_x_m"], data["centre_y_m"], angle, 0.0, 0.0, 0.0])


def machado_laws(
    socket_radius: float | None = None, restitution: float | None = None
) -> dict[str, ContactLaw]:
    """Return the laws of `MACHADO_LAWS` for the cartilage, by name, for a socket radius [m]."""
    # Without a radius, the tibia is a plane; by default, the restitution is that of the paper,
    # 0.30.
    data = machado_data()
    cartilage = data["youngs_modulus_Pa"], data["poisson_ratio"]
    tibia = None if socket_radius is None else -socket_radius
    stiffness = sphere_stiffness(data["femur_radius_m"], tibia, *cartilage, *cartilage)
    returned = data["restitution"] if restitution is None else restitution
    dissipative = {name: law(stiffness, returned) for name, law in _DISSIPATIVE.items()}
    return {"hertz": HertzLaw(stiffness), **dissipative}


def machado_knee(
    pull: float = 50.0,
    law: str | ContactLaw = "hertz",
    kind: str = "pchip",
    *,
    direction: ArrayLike = PROXIMAL,
) -> PlanarKnee:
    """Return the knee with free contact under a pull [N] along a direction (2,) [1].

    A law by name, of `MACHADO_LAWS`, has the stiffness of a sphere on a plane. The profiles have
    shape-preserving splines by default, as the paper elects (section 6), and the pull is proximal.
    """
    radius = machado_data()["femur_radius_m"]
    femur = PolarProfile.circle(radius, kind=kind)
    tibia = PolarProfile.line(PLANE_DISTANCE, _HALF_ANGLE, kind=kind)
    contact = ProfileContact(femur, tibia)
    return _knee(pull, direction, law, None, contact, machado_ligaments())


def machado_clearance_knee(
    clearance: float = 0.2,
    pull: float = 50.0,
    law: str | ContactLaw = "hertz",
    *,
    ligaments: bool = True,
    direction: ArrayLike = PROXIMAL,
) -> PlanarKnee:
    """Return the knee with a revolute joint with clearance [m] instead of the free contact.

    The femoral circle is the journal in a socket of the tibia. At the start the wall of the socket
    touches the plane of the free knee where the journal is closest: an infinite clearance is the
    free contact. The law has the stiffness of a sphere in this socket. The paper keeps the
    ligaments (figure 18); in a narrow socket they prevent a rotation about its centre, and without
    them the knee hyperextends. The pull [N] has a direction (2,) [1].
    """
    radius = machado_data()["femur_radius_m"]
    x, y, angle = machado_state()[:3]
    c, s = math.cos(angle), math.sin(angle)
    # Upright above the plane, at the height of the femur's centre.
    centre = complex(PLANE_DISTANCE + radius + clearance, s * x - c * y)
    joint = ClearanceJoint(radius, clearance, centre)
    bundles = machado_ligaments() if ligaments else ()
    return _knee(pull, direction, law, radius + clearance, joint, bundles)


def _knee(
    pull: float,
    direction: ArrayLike,
    law: str | ContactLaw,
    socket: float | None,
    geometry: ContactGeometry,
    ligaments: tuple[PlanarLigament, ...],
) -> PlanarKnee:
    data = machado_data()
    if not isinstance(law, ContactLaw):
        law = machado_laws(socket)[check_in("law", law, MACHADO_LAWS)]
    load = Pull(pull, direction=check_array("direction", direction, (2,)))
    return PlanarKnee(data["mass_kg"], data["inertia_kg_m2"], geometry, law, ligaments, load)
