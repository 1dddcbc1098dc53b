"""Machado et al. (2010, Nonlinear Dyn 60:459-478): a planar knee with contact and ligaments."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.literature.statements import Paper, Statement, misprint
from benchmarks.planar_knee import (
    ANTERIOR,
    EARLY,
    NAMES,
    PULLS,
    apart,
    figure,
    free,
    jointed,
    strains,
)
from dynamics.mechanics.planar_knee import (
    PlanarMotion,
    machado_ligaments,
    machado_state,
)

#: Share of the motion below which two motions are practically the same [1].
_SAME = 0.05


@cache
def statements() -> list[Statement]:
    """Return the statements of the paper."""
    return [_same_motion(), _growth(), _cruciates(), _limits(), _splines(), _damping(), _joint()]


def _moved(motion: PlanarMotion) -> float:
    return float(np.degrees(np.ptp(motion.flexion)))


def _same_motion() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    turned, moved = apart(weak, strong)
    whole, sideways = apart(weak, strong, slice(None))
    anterior = apart(free(PULLS[0], direction=ANTERIOR), free(PULLS[1], direction=ANTERIOR))
    path = 1e3 * np.hypot(*np.diff(weak.centre_of_mass, axis=0).T).sum()
    return Statement(
        "section 6, figures 12-13",
        "position and flexion are practically the same for pulls of 50 and 150 N, proximal along "
        "the shaft",
        f"differences {turned:.2f}° and {moved:.1f} mm within 0.3 s, {whole:.2f}° of "
        f"{_moved(weak):.1f}° and {sideways:.1f} mm of a path of {path:.0f} mm within 0.5 s",
        bool(whole < _SAME * _moved(weak) and sideways < _SAME * path),
        f"an anterior pull would differ by {anterior[0]:.2f}° and {anterior[1]:.1f} mm",
    )


def _growth() -> Statement:
    weak, strong = (free(pull) for pull in PULLS)
    deep = [1e3 * each.indentation[EARLY].max() for each in (weak, strong)]
    strained = [100.0 * strains(each).max(axis=0) for each in (weak, strong)]
    listed = [", ".join(f"{value:.1f}" for value in each) for each in strained]
    return Statement(
        "section 6, figures 14-15",
        "strains of the ligaments and the deformation of the cartilage grow from 50 to 150 N",
        f"indentation {deep[0]:.2f} → {deep[1]:.2f} mm within 0.3 s; strains of {', '.join(NAMES)} "
        f"{listed[0]} → {listed[1]} % within 0.5 s",
        bool(deep[1] > deep[0] and (strained[1] > strained[0]).all()),
    )


def _cruciates() -> Statement:
    largest = 100.0 * strains(free(PULLS[0])).max(axis=0)
    return Statement(
        "section 6",
        "the cruciate ligaments strain more than the collateral ligaments at 50 N",
        f"{', '.join(f'{n} {v:.1f}' for n, v in zip(NAMES, largest, strict=True))} %",
        bool(largest[2:].min() > largest[:2].max()),
    )


def _limits() -> Statement:
    shares = {
        f"{each.name} {100 * max(strain / each.strain_limit, force / each.force_limit):.0f} %"
        for pull in PULLS[1:]
        for each, strain, force in zip(
            machado_ligaments(),
            strains(free(pull)).max(axis=0),
            free(pull).ligament_force.max(axis=0),
            strict=True,
        )
    }
    return Statement(
        "table 2",
        "limits of the ligaments: strains of 17, 22, 19 %, forces of 534, 622, 868 N",
        f"largest shares of a limit at 150 N: {', '.join(sorted(shares))}; no limit is passed",
        not any(free(pull).limits_passed for pull in PULLS),
        "the pairs are taken for collaterals, ACL and PCL, in this order: the names are not known "
        "to us",
    )


def _splines() -> Statement:
    away = {kind: apart(free(50.0, kind=kind), free(50.0), slice(None)) for kind in
            ("akima", "pchip")}  # fmt: skip
    return Statement(
        "profiles",
        "cubic, Akima and shape-preserving splines describe the knee alike",
        "; ".join(f"{k} against cubic: {a:.1g}°, {m:.1g} mm" for k, (a, m) in away.items()),
        all(angle < 0.1 and place < 0.2 for angle, place in away.values()),
    )


def _damping() -> Statement:
    hertz, damped = free(50.0), free(50.0, "lankarani-nikravesh")
    error = np.abs(hertz.energy_error).max() / hertz.kinetic.max()
    return Statement(
        "contact laws",
        "Hertz's law conserves energy, the law of Lankarani and Nikravesh dissipates it",
        f"error of the energy with Hertz's law {error:.0e} of the kinetic energy; "
        f"{damped.contact_loss[-1]:.2f} J lost with damping",
        bool(error < 1e-6 and np.diff(damped.contact_loss).min() >= 0.0),
    )


def _joint() -> Statement:
    moved = [_moved(jointed(clearance)) for clearance in (1e-3, 1e-2)]
    least = np.degrees(jointed(1e-3, ligaments=False).flexion.min())
    unhindered = _moved(free(50.0))
    return Statement(
        "section 6, figure 18",
        "a joint with clearance in place of the contact restricts the motion of the knee",
        f"in 0.5 s {moved[0]:.1f}° with 1 mm, {moved[1]:.1f}° with 10 mm, {unhindered:.1f}° in "
        "free contact",
        bool(moved[0] < moved[1] < unhindered),
        f"with the ligaments, whose strains figure 18 shows; without them flexion reaches "
        f"{least:.1f}° unhindered",
    )


@cache
def errata() -> list[Statement]:
    """Return the errors in print."""
    place = tuple(machado_state()[:3])
    aligned = [each.length(place) - each.rest_length for each in machado_ligaments()]
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    turned = [
        replace(each, femoral=turn @ each.femoral).length(place) - each.rest_length
        for each in machado_ligaments()
    ]
    near, far = 1e3 * np.abs(aligned).max(), 1e3 * np.abs(turned).min()
    return [
        misprint(
            "table 1",
            "the frame of the femur is at 90°",
            "the frame of the femur is at 0°, as the global frame",
            f"the printed rest lengths follow from the printed attachments within {near:.2f} mm at "
            f"0°; at 90° they are {far:.1f} mm off and more",
            bool(near < 0.1 < 1.0 < far),
        )
    ]


def rows() -> list[Statement]:
    """Return all statements."""
    return [*statements(), *errata()]


PAPER = Paper(
    "machado",
    "Machado et al. 2010, a planar knee with contact and ligaments",
    rows,
    figure,
)
