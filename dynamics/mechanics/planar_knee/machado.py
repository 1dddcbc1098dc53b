"""The planar knee of Machado et al. (2010, Nonlinear Dyn 60:459-478), with its data in `tables/`.

The femoral frame is printed at 90° (table 1) and used at 0° here: only then do the printed rest
lengths follow from the printed attachments. The paper gives no coordinates of the profiles (a
circle of 40 mm and a plane are printed), no place of the plane and no radius of the socket of the
joint with clearance; ours are a circle about the femoral origin, `PLANE_DISTANCE` (the ends of the
plane are 82 mm from the ξ axis, far beyond the bone) and 200 mm of clearance. docs/mechanics.md has
the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dynamics.csv_table import read_csv_table
from dynamics.mechanics.planar_knee.knee import (
    PROXIMAL,
    PlanarKnee,
    PlanarLigament,
    Pull,
)
from dynamics.mechanics.planar_knee.profiles import (
    ClearanceJoint,
    ContactGeometry,
    PolarProfile,
    ProfileContact,
)
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.contact_laws.hertz import sphere_stiffness
from foundation.contact_laws.normal import (
    ContactLaw,
    FloresLaw,
    HertzLaw,
    HuntCrossleyLaw,
    LankaraniNikraveshLaw,
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
    centre = np.array([PLANE_DISTANCE + radius + clearance, s * x - c * y])
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
