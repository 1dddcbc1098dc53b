"""Contact points of two profiles: the points with a common normal.

The tibia stands at (x, y, φ) in the frame of the femur, which is fixed and global. With the
points P, unit tangents t and outward normals n of femur (f) and tibia (t), and d = P_t - P_f, the
conditions n_f × n_t = 0 and d · t_f = 0, with n_f · n_t < 0, are regular at the touch, d = 0.
Newton's method on the two angles has the analytic Jacobian, in arc lengths at the solution

    [ κ_f                -κ_t ]
    [ -1 - κ_f gap       -1   ],     determinant -(κ_f + κ_t + κ_f κ_t gap),

gap = d · n_f, negative in penetration. The separation is a minimum if the bracket is positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.ndimage import minimum_filter

from dynamics.mechanics.planar_knee.profiles import PolarProfile
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_array, check_fields, check_numbers

#: Tolerance of both conditions, the second relative to the size of the femur.
TOLERANCE = 1e-12
_ITERATIONS = 40
_LARGEST_STEP = 0.3
_HALVINGS = 6
#: Samples of each profile and largest number of starts in a search without a start.
_GRID = 181
_STARTS = 16

Angles = tuple[float, float]
Place = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Point where two bodies touch or are closest, global frame."""

    #: Distance along the normal [m]; minus the indentation of overlapping bodies.
    gap: float
    #: On the femur (2,) [m].
    point: FloatArray
    #: Outward normal of the femur (2,) [1].
    normal: FloatArray
    #: θ on femur and tibia [rad], start of the next search.
    angles: Angles | None = None

    def on_tibia(self, place: Place) -> FloatArray:
        """Return the point on the tibia, (2,) [m], in the frame of the tibia at (x, y, φ)."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = (self.point + self.gap * self.normal).tolist()
        x, y = x - place[0], y - place[1]
        return np.array([c * x + s * y, c * y - s * x])


class ContactGeometry(Protocol):
    """Geometry of a joint as `dynamics.mechanics.planar_knee.knee` uses it."""

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point for the tibia at (x, y, φ) [m, m, rad]."""
        ...


@dataclass(frozen=True, eq=False)
class ProfileContact:
    """Free contact of profiles: femur in the fixed frame, tibia in that of its centre of mass."""

    femur: PolarProfile
    tibia: PolarProfile

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point of a tibia at (x, y, φ) [m, m, rad], followed from `start`."""
        # Without a start, or if that fails, the search covers all common normals and takes the
        # least gap; concave profiles may have several. `SimulationError` if there is none, as
        # beyond an open end.
        if start is not None:
            followed = _newton(self.femur, self.tibia, place, start)
            if followed is not None:
                return followed
        contact = _search(self.femur, self.tibia, place)
        if contact is None:
            x, y, angle = check_array("place", place, (3,))
            raise SimulationError(
                f"femur and tibia at ({x:g} m, {y:g} m, {angle:g} rad): expected a common normal "
                "of the profiles, found none; extend an open profile"
            )
        return contact


@dataclass(frozen=True, eq=False)
class ClearanceJoint:
    """Revolute joint with clearance: journal of the femur in a larger socket of the tibia.

    With the eccentricity e = socket's centre - journal's centre and the clearance c, the gap is
    c - |e|, and the journal touches the wall on the side of -e (Flores & Ambrósio 2004, Comput
    Struct 82:1359-1369). As the clearance grows, a socket through a fixed point becomes a plane.

    Parameters
    ----------
    journal_radius : float
        Radius of the journal [m], > 0.
    clearance : float
        Radius of the socket minus that of the journal [m], > 0.
    socket_centre : (2,) float64
        Centre of the socket in the frame of the tibia's centre of mass [m].
    journal_centre : (2,) float64
        Centre of the journal in the frame of the femur [m].
    """

    journal_radius: float
    clearance: float
    socket_centre: FloatArray
    journal_centre: FloatArray = (0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, journal_radius="m", clearance="m")
        check_fields(self, socket_centre=(2,), journal_centre=(2,))

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point for the tibia at (x, y, φ) [m, m, rad]; `start` is ignored."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = self.socket_centre.tolist()
        e_x = place[0] + c * x - s * y - self.journal_centre[0]
        e_y = place[1] + s * x + c * y - self.journal_centre[1]
        offset = math.hypot(e_x, e_y)
        normal = np.array([-e_x, -e_y]) / offset if offset > 0.0 else np.array([1.0, 0.0])
        point = self.journal_centre + self.journal_radius * normal
        return ContactLocation(self.clearance - offset, point, normal)


def _newton(
    femur: PolarProfile, tibia: PolarProfile, place: Place, start: Angles
) -> ContactLocation | None:
    """Return the contact point by Newton's method with step halving, or None."""
    scale = float(femur.radius[0])
    angles = start
    if not (femur.contains(angles[0]) and tibia.contains(angles[1])):
        return None
    now = _conditions(femur, tibia, place, angles)
    for _ in range(_ITERATIONS):
        size = now.size(scale)
        if size < TOLERANCE:
            if not now.least:
                return None
            wrapped = femur.wrapped(angles[0]), tibia.wrapped(angles[1])
            return ContactLocation(now.gap, np.array(now.point), np.array(now.normal), wrapped)
        step = _step(now)
        if step is None:
            return None
        for _ in range(_HALVINGS):
            tried = angles[0] + step[0], angles[1] + step[1]
            if femur.contains(tried[0]) and tibia.contains(tried[1]):
                now = _conditions(femur, tibia, place, tried)
                if now.size(scale) < size:
                    break
            step = 0.5 * step[0], 0.5 * step[1]
        else:
            return None
        angles = tried
    return None


class _Conditions(NamedTuple):
    """Both conditions at two angles."""

    across: float
    along: float
    #: Row by row, by the angles on femur and tibia.
    jacobian: tuple[float, float, float, float]
    point: tuple[float, float]
    normal: tuple[float, float]
    gap: float
    #: Whether the separation is a minimum where both conditions hold.
    least: bool

    def size(self, scale: float) -> float:
        return math.hypot(self.across, self.along / scale)


def _conditions(
    femur: PolarProfile, tibia: PolarProfile, place: Place, angles: Angles
) -> _Conditions:
    f_x, f_y, ft_x, ft_y, f_curve, f_speed = femur.frame(angles[0])
    x, y, u_x, u_y, t_curve, t_speed = tibia.frame(angles[1])
    c, s = math.cos(place[2]), math.sin(place[2])
    d_x, d_y = place[0] + c * x - s * y - f_x, place[1] + s * x + c * y - f_y
    tt_x, tt_y = c * u_x - s * u_y, s * u_x + c * u_y
    # Cross and scalar product of the normals equal those of the tangents.
    across = ft_x * tt_y - ft_y * tt_x
    cosine = ft_x * tt_x + ft_y * tt_y
    along = d_x * ft_x + d_y * ft_y
    gap = d_x * ft_y - d_y * ft_x
    jacobian = (
        -f_curve * cosine * f_speed,
        t_curve * cosine * t_speed,
        -(1.0 + f_curve * gap) * f_speed,
        cosine * t_speed,
    )
    least = cosine < 0.0 and f_curve + t_curve + f_curve * t_curve * gap > 0.0
    return _Conditions(across, along, jacobian, (f_x, f_y), (ft_y, -ft_x), gap, least)


def _step(now: _Conditions) -> tuple[float, float] | None:
    """Return the Newton step of the two angles, shortened to the largest allowed."""
    a, b, c, d = now.jacobian
    determinant = a * d - b * c
    if determinant == 0.0:
        return None
    femur = (b * now.along - d * now.across) / determinant
    tibia = (c * now.across - a * now.along) / determinant
    longest = max(abs(femur), abs(tibia))
    factor = min(1.0, _LARGEST_STEP / longest) if longest > 0.0 else 1.0
    return factor * femur, factor * tibia


def _search(femur: PolarProfile, tibia: PolarProfile, place: Place) -> ContactLocation | None:
    """Return the contact with the least gap, by Newton's method from the best grid points."""
    f_angles, t_angles = _grid(femur), _grid(tibia)
    f_points, f_normals, _ = femur.frames(f_angles)
    t_points, t_normals, _ = tibia.frames(t_angles)
    c, s = math.cos(place[2]), math.sin(place[2])
    turn = np.array([[c, -s], [s, c]])
    t_points, t_normals = t_points @ turn.T + np.array(place[:2]), t_normals @ turn.T
    tangents = np.column_stack((-f_normals[:, 1], f_normals[:, 0]))
    along = (tangents @ t_points.T - (tangents * f_points).sum(axis=1)[:, None]) / femur.radius[0]
    # Minus one where the normals are opposed.
    cosine = f_normals @ t_normals.T
    miss = along**2 + 2.0 * (1.0 + cosine)
    least = (miss == minimum_filter(miss, 3, mode="nearest")) & (cosine < 0.0)
    rows, columns = np.nonzero(least)
    order = np.argsort(miss[rows, columns], kind="stable")[:_STARTS]
    contacts = [
        _newton(femur, tibia, place, (float(f_angles[i]), float(t_angles[j])))
        for i, j in zip(rows[order], columns[order], strict=True)
    ]
    return min((each for each in contacts if each is not None), key=lambda e: e.gap, default=None)


def _grid(profile: PolarProfile) -> FloatArray:
    low = profile.angle[0]
    high = low + 2.0 * np.pi if profile.closed else profile.angle[-1]
    return np.linspace(low, high, _GRID, endpoint=not profile.closed)
