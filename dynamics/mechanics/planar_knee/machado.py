"""The planar knee of Machado et al. (2010, Nonlinear Dyn 60:459-478), with its data in `tables/`.

docs/mechanics.md states the assumptions where the data are incomplete: frame of the femur, plane of
the tibia (its ends are 82 mm from the ξ axis, far beyond the bone), direction of the pull (other
directions unload the cruciates from 50 to 150 N, in contrast to the paper), start at rest.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dynamics.csv_table import read_csv_table
from dynamics.mechanics.planar_knee.clearance import ClearanceJoint
from dynamics.mechanics.planar_knee.contact_point import ContactGeometry, ProfileContact
from dynamics.mechanics.planar_knee.knee import PlanarKnee, Pull
from dynamics.mechanics.planar_knee.ligaments import PlanarLigament
from dynamics.mechanics.planar_knee.profiles import PolarProfile
from foundation.checks import FloatArray, check_in
from foundation.contact_laws import ContactLaw, HertzLaw, LankaraniNikraveshLaw, sphere_stiffness

_TABLES = Path(__file__).with_name("tables")
#: Distance from the tibia's centre of mass to the plane of its cartilage, along ξ [m].
PLANE_DISTANCE = 0.2255
_HALF_ANGLE = math.radians(20.0)
#: Names of the contact laws.
MACHADO_LAWS = ("hertz", "lankarani-nikravesh")


def machado_data() -> dict[str, float]:
    """Return the data of tibia and cartilage by name; the names state the units."""
    ((_, row),) = read_csv_table(_TABLES / "machado2010_tibia.csv").rows()
    return {name: float(cell) for name, cell in row.items()}


def machado_ligaments() -> tuple[PlanarLigament, ...]:
    """Return the ligaments MCL, LCL, ACL and PCL."""
    rows = read_csv_table(_TABLES / "machado2010_ligaments.csv").lines
    values = [(cells[0], np.array(cells[1:], dtype=np.float64)) for _, cells in rows]
    return tuple(
        PlanarLigament(name, v[0:2], v[2:4], float(v[4]), float(v[5])) for name, v in values
    )


def machado_state() -> FloatArray:
    """Return the initial state (x, y, φ, 0, 0, 0) [m, rad, s], (6,)."""
    data = machado_data()
    angle = math.radians(data["angle_deg"])
    return np.array([data["centre_x_m"], data["centre_y_m"], angle, 0.0, 0.0, 0.0])


def machado_knee(
    pull: float = 50.0, law: str = "lankarani-nikravesh", kind: str = "cubic"
) -> PlanarKnee:
    """Return the knee with free contact of femur and tibia.

    Parameters
    ----------
    pull : float
        Amplitude of the pull [N]: 50 or 150 in the paper.
    law : {"hertz", "lankarani-nikravesh"}
        Contact law, with the stiffness of a sphere on a plane.
    kind : {"cubic", "akima", "pchip"}
        Splines of the profiles.
    """
    radius = machado_data()["femur_radius_m"]
    femur = PolarProfile.circle(radius, kind=kind)
    tibia = PolarProfile.line(PLANE_DISTANCE, _HALF_ANGLE, kind=kind)
    contact = ProfileContact(femur, tibia)
    return _knee(pull, _law(law, radius, None), contact, machado_ligaments())


def machado_clearance_knee(
    clearance: float = 1e-3,
    pull: float = 50.0,
    law: str = "lankarani-nikravesh",
    *,
    ligaments: bool = False,
) -> PlanarKnee:
    """Return the knee with a revolute joint with clearance instead of contact and ligaments.

    The femoral circle is the journal, concentric with its socket in the tibia at the start; the law
    has the stiffness of a sphere in this spherical socket. Tibia and pull are those of the free
    knee.

    Parameters
    ----------
    clearance : float
        Radius of the socket minus that of the journal [m], > 0.
    pull, law
        As of `machado_knee`.
    ligaments : bool
        Whether to keep the ligaments. They prevent a rotation about the centre of the circle: the
        anterior cruciate stops the extension after some 10°.
    """
    radius = machado_data()["femur_radius_m"]
    x, y, angle = machado_state()[:3]
    c, s = math.cos(angle), math.sin(angle)
    joint = ClearanceJoint(radius, clearance, np.array([-c * x - s * y, s * x - c * y]))
    bundles = machado_ligaments() if ligaments else ()
    return _knee(pull, _law(law, radius, -(radius + clearance)), joint, bundles)


def _law(law: str, femur: float, tibia: float | None) -> ContactLaw:
    check_in("law", law, MACHADO_LAWS)
    data = machado_data()
    cartilage = data["youngs_modulus_Pa"], data["poisson_ratio"]
    stiffness = sphere_stiffness(femur, tibia, *cartilage, *cartilage)
    if law == "hertz":
        return HertzLaw(stiffness)
    return LankaraniNikraveshLaw(stiffness, data["restitution"])


def _knee(
    pull: float,
    law: ContactLaw,
    geometry: ContactGeometry,
    ligaments: tuple[PlanarLigament, ...],
) -> PlanarKnee:
    data = machado_data()
    mass, inertia = data["mass_kg"], data["inertia_kg_m2"]
    return PlanarKnee(mass, inertia, geometry, law, ligaments, Pull(pull))
