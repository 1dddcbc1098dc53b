"""Figures 16 to 19 and conclusions of Machado et al. (2010): clearance joint, sensitivity, rates.

The figures are missing; judged is what the text says of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.literature.machado.motions import SAME, differences, turned
from benchmarks.literature.statements import Statement
from benchmarks.measures import max_abs
from benchmarks.planar_knee import CLEARANCES, NAMES, PULLS, free, jointed
from dynamics.mechanics.planar_knee import (
    ContactLocation,
    PlanarMotion,
    machado_data,
    machado_knee,
    machado_state,
    simulate_planar_knee,
)
from dynamics.mechanics.planar_knee.contact_point import Angles, Place
from dynamics.mechanics.planar_knee.machado import PLANE_DISTANCE

#: Clearance at which the socket is a plane for the knee [m].
_PLANE = 10.0


def _at_the_end() -> Statement:
    sockets = (*CLEARANCES, _PLANE)
    ended = {each: np.degrees(jointed(each).flexion[-1]) for each in sockets}
    unhindered = np.degrees(free(PULLS[0]).flexion[-1])
    listed = ", ".join(f"{angle:.1f}° with {1e3 * each:g} mm" for each, angle in ended.items())
    ranges = ", ".join(f"{turned(jointed(each)):.1f}°" for each in sockets)
    return Statement(
        "section 6, figures 12a, 17a",
        "at 0.5 s the flexion of the free contact is larger than that of the joint with clearance",
        f"flexion at 0.5 s {unhindered:.1f}° in free contact; of clearances {listed}; range of the "
        f"motion {turned(free(PULLS[0])):.1f}° in free contact, with the clearances {ranges}",
        unhindered > max(ended.values()),
        "the free knee moves farther, and extends; the paper gives no clearance but that it is "
        "relatively large, with a nearly plane tibia: a wide socket comes close to the free "
        "contact, from above",
    )


def _restricts() -> Statement:
    moved = {each: turned(jointed(each)) for each in CLEARANCES}
    unhindered = turned(free(PULLS[0]))
    listed = ", ".join(f"{angle:.1f}° with {1e3 * each:g} mm" for each, angle in moved.items())
    without = np.degrees(jointed(CLEARANCES[0], ligaments=False).flexion.min())
    return Statement(
        "section 6, figure 16",
        "a joint with a relatively large clearance, journal of 40 mm and nearly plane tibia, with "
        "the ligaments limits the motion of the knee",
        f"range of the flexion within 0.5 s {listed}; {unhindered:.1f}° in free contact",
        max(moved.values()) < unhindered,
        f"without ligaments the joint with {1e3 * CLEARANCES[0]:g} mm hyperextends to "
        f"{without:.1f}°",
    )


def _other_loads() -> Statement:
    motion, joint = free(PULLS[0]), jointed()
    place, place_share, depth, depth_share = differences(motion, joint)
    forces = [each.ligament_force.max(axis=0) for each in (motion, joint)]
    ligaments = np.abs(forces[1] / forces[0] - 1.0)
    listed = ", ".join(
        f"{name} {a:.0f} → {b:.0f} N" for name, a, b in zip(NAMES, *forces, strict=True)
    )
    rate = max_abs(joint.indentation_rate - motion.indentation_rate)
    rate_share = rate / max_abs(motion.indentation_rate)
    return Statement(
        "section 6, figures 17b-19",
        "tibial contact points, ligaments, deformation and normal velocity of deformation of the "
        "two models differ",
        f"free contact against {1e3 * CLEARANCES[-1]:g} mm: contact point up to {place:.1f} mm "
        f"({100 * place_share:.0f} % of its path), indentation up to {depth:.2f} mm "
        f"({100 * depth_share:.0f} %), normal velocity up to {1e3 * rate:.0f} mm/s "
        f"({100 * rate_share:.0f} %), ligaments {listed}",
        min(place_share, depth_share, rate_share, ligaments.max()) > SAME,
        f"differ: by more than {100 * SAME:.0f} %; the clearance is chosen here",
    )


@dataclass(frozen=True)
class SampledContact:
    """Contact of the femur's samples with the tibia's plane: the deepest sample touches.

    Parameters
    ----------
    samples : int
        Points of the femur, at equal angles.
    """

    samples: int

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact for the tibia at (x, y, φ) [m, m, rad]; `start` is ignored."""
        angle = 2.0 * np.pi * np.arange(self.samples) / self.samples
        points = machado_data()["femur_radius_m"] * np.column_stack((np.cos(angle), np.sin(angle)))
        axis = np.array([np.cos(place[2]), np.sin(place[2])])
        heights = (points - np.array(place[:2])) @ axis - PLANE_DISTANCE
        lowest = int(heights.argmin())
        return ContactLocation(float(heights[lowest]), points[lowest], -axis)


@cache
def sampled(samples: int) -> PlanarMotion:
    """Return the motion at 50 N with the contact of samples of the femur."""
    knee = replace(machado_knee(PULLS[0]), geometry=SampledContact(samples))
    return simulate_planar_knee(knee, machado_state(), tolerance=1e-6)


def _detection() -> Statement:
    motion = free(PULLS[0])
    others = {"the eccentricity in a socket of 10 m": jointed(_PLANE)} | {
        f"the deepest of {n} points of the femur": sampled(n) for n in (72, 36)
    }
    away = {n: np.degrees(max_abs(m.flexion - motion.flexion)) for n, m in others.items()}
    listed = ", ".join(f"{angle:.2f}° with {name}" for name, angle in away.items())
    return Statement(
        "section 7",
        "the model is quite sensitive to the procedure that detects the contact",
        f"flexion at 50 N, of {turned(motion):.1f}°, against that with common normals: {listed}",
        max(away.values()) > SAME * turned(motion),
        f"sensitive: more than {100 * SAME:.0f} %; the paper compares no procedures on one knee",
    )


def _slow() -> Statement:
    rows = []
    for pull in PULLS:
        motion = free(pull)
        open_ = motion.indentation <= 0.0
        rows.append(
            (
                100.0 * float(open_.mean()),
                len(motion.impacts),
                1e3 * float(motion.time[open_][-1]),
                1e3 * max_abs(motion.indentation_rate[~open_]),
                1e3 * max(each.rate for each in motion.impacts),
            )
        )
    listed = "; ".join(
        f"at {pull:g} N open for {a:.0f} % of 0.5 s, {b} starts of contact, the last after "
        f"{c:.0f} ms, normal velocity in contact up to {d:.0f} mm/s, at the starts up to {e:.0f} "
        "mm/s"
        for pull, (a, b, c, d, e) in zip(PULLS, rows, strict=True)
    )
    return Statement(
        "section 7",
        "the contact of the cartilages is continuous, at very low velocities, unlike the impacts "
        "for which the force law was made",
        listed,
        all(starts <= 1 for _, starts, *_ in rows),
        "the velocities are low, but the contact opens and closes in the first part of the motion, "
        "and is lasting only after it",
    )


STATEMENTS = (
    _at_the_end,
    _restricts,
    _other_loads,
    _detection,
    _slow,
)
