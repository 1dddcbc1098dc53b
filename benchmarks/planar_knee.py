"""The planar knee: `python -m benchmarks.planar_knee` prints its figures and draws them.

With `--docs` it replaces docs/planar_knee.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.pictures import target
from dynamics.mechanics.planar_knee import (
    PROFILE_KINDS,
    PlanarMotion,
    machado_clearance_knee,
    machado_knee,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)

DURATION = 0.3
PULLS = (50.0, 150.0)
STYLES = {50.0: "-", 150.0: "--"}
KIND_STYLES = dict(zip(PROFILE_KINDS, ((0.6, 5.0), (1.0, 2.5), (1.0, 1.0)), strict=True))
NAMES = [each.name for each in machado_ligaments()]


def free(pull: float, law: str = "lankarani-nikravesh", kind: str = "cubic") -> PlanarMotion:
    return simulate_planar_knee(machado_knee(pull, law, kind), machado_state(), DURATION)


def jointed(pull: float) -> PlanarMotion:
    return simulate_planar_knee(machado_clearance_knee(1e-3, pull), machado_state(), DURATION)


def row(name: str, motion: PlanarMotion) -> str:
    forces = motion.ligament_force.max(axis=0, initial=0.0)
    ligaments = " ".join(f"{force:6.1f}" for force in forces) or " " * 27
    error = np.abs(motion.energy_error).max() / motion.kinetic.max()
    return (
        f"{name:<34}{np.degrees(motion.flexion[-1]):8.3f}{1e3 * motion.indentation.max():8.3f}"
        f"{motion.contact_force.max():8.1f}  {ligaments:<28}{motion.contact_loss[-1]:8.4f}"
        f"{error:10.1e}"
    )


def table(motions: dict[str, PlanarMotion]) -> str:
    head = (
        f"{'planar knee, 0.3 s':<34}{'flexion':>8}{'indent.':>8}{'contact':>8}  "
        f"{' '.join(f'{name:>6}' for name in NAMES):<28}{'loss':>8}{'energy':>10}\n"
        f"{'':<34}{'deg':>8}{'mm':>8}{'N':>8}  {'largest tension N':<28}{'J':>8}{'error':>10}"
    )
    return "\n".join([head, *(row(name, motion) for name, motion in motions.items())])


def _histories(axes: tuple[Axes, Axes], pulls: dict[float, PlanarMotion]) -> None:
    for pull, motion in pulls.items():
        label, time = f"{pull:g} N", 1e3 * motion.time
        axes[0].plot(time, np.degrees(motion.flexion), STYLES[pull], color="k", label=label)
        for k, colour in enumerate(("C0", "C1")):
            centre = 1e3 * motion.centre_of_mass[:, k]
            axes[1].plot(time, centre, STYLES[pull], color=colour, label=f"{'xy'[k]}, {label}")


def _forces(axes: Axes, pulls: dict[float, PlanarMotion]) -> None:
    for pull, motion in pulls.items():
        for k, name in enumerate(NAMES):
            label = name if pull == PULLS[0] else None
            force = motion.ligament_force[:, k]
            axes.plot(1e3 * motion.time, force, STYLES[pull], color=f"C{k}", label=label)


def draw(
    pulls: dict[float, PlanarMotion],
    kinds: dict[str, PlanarMotion],
    joint: PlanarMotion,
    file: Path,
) -> None:
    figure = Figure(figsize=(10.0, 6.4), layout="constrained", dpi=110)
    (flexion, centre), (tension, contact) = figure.subplots(2, 2, sharex=True)
    _histories((flexion, centre), pulls)
    time = 1e3 * joint.time
    flexion.plot(time, np.degrees(joint.flexion), ":", color="C3", label="clearance joint, 50 N")
    _forces(tension, pulls)
    for (kind, motion), (alpha, width) in zip(kinds.items(), KIND_STYLES.values(), strict=True):
        contact.plot(time, motion.contact_force, alpha=alpha, lw=width, label=f"{kind}, 50 N")
    contact.plot(time, joint.contact_force, ":", color="C3", label="clearance joint, 50 N")
    flexion.set(ylabel="flexion [deg]")
    centre.set(ylabel="centre of mass [mm]")
    tension.set(ylabel="ligament force [N] (150 N dashed)", xlabel="time [ms]")
    contact.set(ylabel="contact force [N]", xlabel="time [ms]")
    for axes in (flexion, centre, tension, contact):
        axes.legend(fontsize="x-small")
    figure.savefig(file)


def planar_knee(picture: Path | None = None) -> str:
    """Return the table of the runs; draw them as well if a file is given."""
    pulls = {pull: free(pull) for pull in PULLS}
    kinds = {kind: free(PULLS[0], kind=kind) for kind in PROFILE_KINDS}
    joints = {pull: jointed(pull) for pull in PULLS}
    rows = {f"free, L-N, {pull:g} N": motion for pull, motion in pulls.items()}
    rows |= {f"free, Hertz, {pull:g} N": free(pull, "hertz") for pull in PULLS}
    rows |= {f"free, L-N, 50 N, {kind}": motion for kind, motion in kinds.items()}
    rows |= {f"clearance 1 mm, L-N, {pull:g} N": motion for pull, motion in joints.items()}
    if picture is not None:
        draw(pulls, kinds, joints[PULLS[0]], picture)
    return table(rows)


if __name__ == "__main__":
    chosen = target("planar_knee.png", __doc__)
    print(planar_knee(chosen))
    print(f"written: {chosen}")
