"""Figures 9 to 15 of Machado et al. (2010): motions in free contact.

The figures are missing; judged is what the text says of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.literature.statements import Statement
from benchmarks.measures import max_abs
from benchmarks.planar_knee import ANTERIOR, EARLY, LIGAMENTS, NAMES, PULLS, apart, free, strains
from dynamics.mechanics.planar_knee import PlanarMotion
from foundation.base.checks import FloatArray

#: Share of the motion below which two motions are practically the same [1]; the paper states none.
SAME = 0.05
DAMPED = "lankarani-nikravesh"
#: Limits of strain [1] and force [N] of MCL, LCL, ACL and PCL.
LIMITS = [(each.strain_limit, each.force_limit) for each in LIGAMENTS]


def turned(motion: PlanarMotion) -> float:
    """Return the range of the flexion [deg]."""
    return float(np.degrees(np.ptp(motion.flexion)))


def differences(one: PlanarMotion, other: PlanarMotion) -> tuple[float, float, float, float]:
    """Return largest differences of contact point (η of the tibia) and indentation.

    Contact point [mm, 1 of its range], indentation [mm, 1 of the largest].
    """
    places = one.tibial_contact[:, 1], other.tibial_contact[:, 1]
    place = max_abs(places[1] - places[0])
    # The indentation of separate bodies is zero.
    depths = [np.maximum(each.indentation, 0.0) for each in (one, other)]
    depth = max_abs(depths[1] - depths[0])
    return (
        1e3 * float(place),
        float(place / np.ptp(places[0])),
        1e3 * float(depth),
        float(depth / depths[0].max()),
    )


def _splines() -> Statement:
    elected = free(50.0)
    away = {kind: differences(elected, free(50.0, kind=kind)) for kind in ("cubic", "akima")}
    listed = "; ".join(
        f"{kind}: contact point {d[0]:.2f} mm ({100 * d[1]:.1f} % of its path), indentation "
        f"{d[2]:.3f} mm ({100 * d[3]:.1f} %)"
        for kind, d in away.items()
    )
    return Statement(
        "section 6, figure 9",
        "the choice of cubic, Akima or shape-preserving splines has no significant influence on "
        "tibial contact points and deformation; shape-preserving splines are elected",
        f"largest differences from the shape-preserving spline in 0.5 s, {listed}",
        all(max(d[1], d[3]) < SAME for d in away.values()),
        f"no significant influence: less than {100 * SAME:.0f} %; the profiles of `machado_knee` "
        "have shape-preserving splines by default",
    )


def _loop(motion: PlanarMotion) -> tuple[float, float]:
    """Return work of the contact force over all contacts and over their approach [J]."""
    power = motion.contact_force * motion.indentation_rate
    whole = np.trapezoid(power, motion.time)
    return float(whole), float(np.trapezoid(np.maximum(power, 0.0), motion.time))


def _peaks(values: FloatArray) -> NDArray[np.intp]:
    """Return the indices of the maxima above zero."""
    inner = values[1:-1]
    return np.flatnonzero((inner > values[:-2]) & (inner >= values[2:]) & (inner > 0.0)) + 1


def _hertz() -> Statement:
    motion = free(50.0)
    whole, approach = _loop(motion)
    # The bodies are pressed together at the end: what is stored then is not yet restored.
    stored = motion.contact_energy[-1] - motion.contact_energy[0]
    deep, strong = (_peaks(each) for each in (motion.indentation, motion.contact_force))
    lost = abs(whole - stored) / approach
    error = max_abs(motion.energy_error) / motion.kinetic.max()
    return Statement(
        "section 6, figures 10, 11a",
        "with Hertz's law deformation and force have similar courses, and what loading stores "
        "unloading restores",
        f"{len(deep)} maxima of the indentation and {len(strong)} of the force, at the same "
        f"instants; {lost:.0e} of the {approach:.2f} J of loading are not restored; error of the "
        f"energy {error:.0e} of the kinetic energy",
        np.array_equal(deep, strong) and lost < 1e-4 and error < 1e-6,
    )


def _hysteresis() -> Statement:
    damped, elastic = free(50.0, DAMPED), free(50.0)
    touching = damped.contact_force > 1.0
    law = elastic.contact_force.max() / elastic.indentation.max() ** 1.5
    ratio = damped.contact_force[touching] / (law * damped.indentation[touching] ** 1.5)
    starts = len(damped.impacts)
    again = len(_peaks(damped.contact_force)) - starts
    return Statement(
        "section 6, figures 10b, 11a",
        "with Lankarani and Nikravesh's law the contact dissipates: force over deformation is not "
        "injective; loading begins again before unloading is complete, in smaller loops",
        f"{damped.contact_loss[-1]:.2f} J lost; force {ratio.min():.2f} to {ratio.max():.2f} times "
        f"that of Hertz's law at the same deformation; {again} of the loadings begin before the "
        f"bodies part, {starts} after flight",
        np.diff(damped.contact_loss).min() >= 0.0
        and ratio.min() < 1.0 < ratio.max()
        and damped.contact_loss[-1] > 0.0
        and again > 0,
    )


def _alike() -> Statement:
    elastic, damped = free(50.0), free(50.0, DAMPED)
    place, place_share, depth, depth_share = differences(elastic, damped)
    early = 1e3 * max_abs((elastic.tibial_contact - damped.tibial_contact)[EARLY])
    alike = np.corrcoef(elastic.indentation, damped.indentation)[0, 1]
    return Statement(
        "section 6, figures 10a, 11b",
        "with Lankarani and Nikravesh's law the deformation is similar to that with Hertz's law, "
        "and the tibial contact points show minimal differences",
        f"within 0.5 s up to {depth:.2f} mm of indentation ({100 * depth_share:.0f} %) and "
        f"{place:.2f} mm of the contact point ({100 * place_share:.1f} % of its path); "
        f"{1e3 * elastic.indentation.max():.2f} and {1e3 * damped.indentation.max():.2f} mm at "
        f"most; correlation of the indentations {alike:.3f}",
        max(place_share, depth_share) < SAME,
        f"minimal means less than {100 * SAME:.0f} % here; the courses are alike, and the contact "
        f"points differ by up to {early:.2f} mm within the first 0.3 s, but the energy lost makes "
        "the last contact shallower",
    )


def _same_motion() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    angle, moved = apart(weak, strong, slice(None))
    anterior = apart(free(PULLS[0], direction=ANTERIOR), free(PULLS[1], direction=ANTERIOR))
    path = 1e3 * np.hypot(*np.diff(weak.centre_of_mass, axis=0).T).sum()
    early = apart(weak, strong)
    return Statement(
        "section 6, figure 12",
        "centre of mass and flexion are practically the same for 50 and 150 N",
        f"differences {angle:.2f}° of {turned(weak):.1f}° and {moved:.1f} mm of a path of "
        f"{path:.0f} mm within 0.5 s, {early[0]:.2f}° and {early[1]:.1f} mm within 0.3 s",
        angle < SAME * turned(weak) and moved < SAME * path,
        f"practically the same: less than {100 * SAME:.0f} %; an anterior pull would differ by "
        f"{anterior[0]:.2f}° and {anterior[1]:.1f} mm within 0.3 s",
    )


def _growth() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    deep = [1e3 * each.indentation.max() for each in (weak, strong)]
    strain = [100.0 * strains(each).max(axis=0) for each in (weak, strong)]
    force = [each.ligament_force.max(axis=0) for each in (weak, strong)]
    grown = ", ".join(
        f"{name} {a:.1f} → {b:.1f} % and {c:.0f} → {d:.0f} N"
        for name, a, b, c, d in zip(NAMES, *strain, *force, strict=True)
    )
    return Statement(
        "section 6, figures 13-15a",
        "strains and forces of the ligaments and the deformation grow from 50 to 150 N",
        f"{grown}; indentation {deep[0]:.2f} → {deep[1]:.2f} mm",
        deep[1] > deep[0] and (strain[1] > strain[0]).all() and (force[1] > force[0]).all(),
    )


def _lower(motion: PlanarMotion) -> tuple[bool, bool]:
    """Whether both collaterals stay below both cruciates, largest strains and largest forces."""
    strain, force = strains(motion).max(axis=0), motion.ligament_force.max(axis=0)
    return bool(strain[:2].max() < strain[2:].min()), bool(force[:2].max() < force[2:].min())


def _listed(motion: PlanarMotion) -> str:
    strain, force = 100.0 * strains(motion).max(axis=0), motion.ligament_force.max(axis=0)
    rows = zip(NAMES, strain, force, strict=True)
    return ", ".join(f"{name} {e:.1f} % and {f:.0f} N" for name, e, f in rows)


def _above(motion: PlanarMotion) -> float:
    """Return the part of the extension in which the LCL is strained more than the ACL [1]."""
    extension = slice(0, int(motion.flexion.argmin()) + 1)
    strain = np.maximum(strains(motion)[extension], 0.0)
    return float((strain[:, 1] > strain[:, 2]).mean())


def _cruciates() -> Statement:
    motion = free(PULLS[0])
    return Statement(
        "section 6, figure 13",
        "at 50 N strains and forces of MCL and LCL are lower than those of ACL and PCL",
        f"largest values {_listed(motion)}",
        all(_lower(motion)),
        f"from instant to instant the LCL is strained more than the ACL in "
        f"{100 * _above(motion):.0f} % of the extension",
    )


def _order_at_150() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    kept = [a and not b for a, b in zip(_lower(weak), _lower(strong), strict=True)]
    force = [each.contact_force.max() for each in (weak, strong)]
    return Statement(
        "section 6, figure 14",
        "at 150 N some of the behaviour of the ligaments at 50 N is not found, as the contact "
        "forces are higher",
        f"largest values {_listed(strong)}: the collateral ligaments stay below the cruciate "
        f"ligaments as at 50 N; contact force {force[0]:.0f} → {force[1]:.0f} N",
        any(kept) and force[1] > force[0],
        f"the contact forces are higher, but the order of the largest values is the same; from "
        f"instant to instant the LCL is strained more than the ACL in {100 * _above(strong):.0f} % "
        f"of the extension, {100 * _above(weak):.0f} % at 50 N",
    )


def _damage() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    shares = strains(strong).max(axis=0), strong.ligament_force.max(axis=0)
    ends = [1e3 * each.tibial_contact[:, 1] for each in (weak, strong)]
    limits = ", ".join(
        f"{name} {100 * max(strain / bound[0], force / bound[1]):.0f} %"
        for name, strain, force, bound in zip(NAMES, *shares, LIMITS, strict=True)
        if np.isfinite(bound[0])
    )
    return Statement(
        "section 6, figure 15b",
        "the contact points at 150 N are no physiological scenario: a body does not tolerate the "
        "load without damage",
        f"by the limits of table 2 every ligament carries the load: {limits} of a limit; the "
        f"contact points reach from η = {ends[1].min():.1f} to {ends[1].max():.1f} mm, at 50 N "
        f"from {ends[0].min():.1f} to {ends[0].max():.1f} mm",
        strong.limits_passed,
        "the paper prints no bounds of the contact points; judged by its limits of the ligaments",
    )


STATEMENTS = (
    _splines,
    _hertz,
    _hysteresis,
    _alike,
    _same_motion,
    _growth,
    _cruciates,
    _order_at_150,
    _damage,
)
