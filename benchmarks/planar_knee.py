"""The planar knee: `python -m benchmarks.planar_knee` prints its figures and draws them.

With `--docs` it replaces docs/planar_knee.png.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dynamics.mechanics.planar_knee import (
    PROXIMAL,
    SOCKET_CLEARANCE,
    LigamentLimitWarning,
    PlanarKnee,
    PlanarMotion,
    machado_clearance_knee,
    machado_knee,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)

PULLS = (50.0, 150.0)
STYLES = {50.0: "-", 150.0: "--"}
ANTERIOR = (1.0, 0.0)
#: Clearances of the joint [m]: almost a hinge, loose, and the nearly plane tibia of the paper.
CLEARANCES = (1e-3, 1e-2, SOCKET_CLEARANCE)
LIGAMENTS = machado_ligaments()
NAMES = [each.name for each in LIGAMENTS]
_REST = np.array([each.rest_length for each in LIGAMENTS])
#: Instants of the first 0.3 s, at 0.5 ms.
EARLY = slice(0, 601)


@cache
def free(
    pull: float,
    law: str = "hertz",
    kind: str = "pchip",
    direction: tuple[float, float] = PROXIMAL,
    ligaments: str = "quadratic",
) -> PlanarMotion:
    """Return the motion of the knee with free contact over 0.5 s."""
    knee = machado_knee(pull, law, kind, direction=direction, ligaments=ligaments)
    return _quietly(knee)


@cache
def jointed(
    clearance: float = SOCKET_CLEARANCE, pull: float = 50.0, *, ligaments: bool = True
) -> PlanarMotion:
    """Return the motion of the knee with a clearance joint [m] over 0.5 s."""
    return _quietly(machado_clearance_knee(clearance, pull, ligaments=ligaments))


def _quietly(knee: PlanarKnee) -> PlanarMotion:
    """Simulate without warnings: the table has a column of the limits that are passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LigamentLimitWarning)
        return simulate_planar_knee(knee, machado_state())


def apart(one: PlanarMotion, other: PlanarMotion, rows: slice = EARLY) -> tuple[float, float]:
    """Return the largest difference of flexion [deg] and of the centre of mass [mm]."""
    centre = np.hypot(*(one.centre_of_mass - other.centre_of_mass)[rows].T)
    return float(np.degrees(np.abs(one.flexion - other.flexion)[rows].max())), 1e3 * centre.max()


def strains(motion: PlanarMotion) -> np.ndarray:
    """Return the strains (n, 4) [1] of MCL, LCL, ACL and PCL."""
    return motion.ligament_length / _REST - 1.0


def _flexions(axes: Axes) -> None:
    curves = {f"free, {pull:g} N": (free(pull), STYLES[pull], "k") for pull in PULLS}
    for k, clearance in enumerate(CLEARANCES):
        label = f"clearance {1e3 * clearance:g} mm"
        curves[label] = jointed(clearance), "-", f"C{k}"
    hinge = jointed(CLEARANCES[0], ligaments=False)
    curves[f"clearance {1e3 * CLEARANCES[0]:g} mm, no ligaments"] = hinge, ":", "C0"
    for label, (motion, style, colour) in curves.items():
        axes.plot(1e3 * motion.time, np.degrees(motion.flexion), style, color=colour, label=label)


def _centres(axes: Axes) -> None:
    for pull in PULLS:
        motion = free(pull)
        for k, colour in enumerate(("C0", "C1")):
            centre = 1e3 * motion.centre_of_mass[:, k]
            label = f"{'xy'[k]}, {pull:g} N"
            axes.plot(1e3 * motion.time, centre, STYLES[pull], color=colour, label=label)


def _strains(axes: Axes) -> None:
    for pull in PULLS:
        motion = free(pull)
        for k, name in enumerate(NAMES):
            label = name if pull == PULLS[0] else None
            strain = 100.0 * np.maximum(strains(motion)[:, k], 0.0)
            axes.plot(1e3 * motion.time, strain, STYLES[pull], color=f"C{k}", label=label)


def _contacts(axes: Axes) -> None:
    for pull in PULLS:
        motion = free(pull)
        label = f"{pull:g} N"
        axes.plot(1e3 * motion.time, motion.contact_force, STYLES[pull], color="k", label=label)


def _places(axes: Axes) -> None:
    for label, motion, style in _compared():
        axes.plot(1e3 * motion.time, 1e3 * motion.tibial_contact[:, 1], style, label=label)


def _rates(axes: Axes) -> None:
    for label, motion, style in _compared():
        axes.plot(1e3 * motion.time, 1e3 * motion.indentation_rate, style, label=label)


def _compared() -> list[tuple[str, PlanarMotion, str]]:
    motions = [(f"free, {pull:g} N", free(pull), STYLES[pull]) for pull in PULLS]
    return [*motions, (f"clearance {1e3 * SOCKET_CLEARANCE:g} mm", jointed(), "-.")]


def figure() -> Figure:
    """Draw flexion, centre of mass, strains, contact force, contact point and rate over time."""
    made = Figure(figsize=(10.0, 9.2), layout="constrained", dpi=110)
    panels = {
        "flexion [deg]": _flexions,
        "centre of mass [mm]": _centres,
        "ligament strain [%] (150 N dashed)": _strains,
        "contact force [N]": _contacts,
        "contact point on the tibia, η [mm]": _places,
        "rate of indentation [mm/s]": _rates,
    }
    for axes, (label, draw) in zip(
        made.subplots(3, 2, sharex=True).flat, panels.items(), strict=True
    ):
        draw(axes)
        axes.legend(fontsize="x-small")
        axes.set_ylabel(label)
    for axes in made.axes[-2:]:
        axes.set_xlabel("time [ms]")
    return made
