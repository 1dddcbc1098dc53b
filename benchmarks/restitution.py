"""Restitution that the contact laws return against the one they are given.

`python -m benchmarks.restitution` prints the table and draws it; with `--docs` it replaces
docs/restitution.png. A sphere of the size of a femoral condyle falls on a plane of the same
cartilage. Given the mass, as the Kelvin-Voigt law is, no restitution here depends on the sphere or
on the height of its fall.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.frame import Rows, alike, measured, run
from dynamics.mechanics.impact import coefficient_of_restitution
from foundation.base.checks import FloatArray
from foundation.contact_laws import (
    ContactLaw,
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    sphere_stiffness,
)

#: Mass of the sphere [kg], height of the fall [m], acceleration of gravity [m/s²].
MASS, HEIGHT, GRAVITY = 0.3, 0.05, 9.81
GIVEN = np.round(np.arange(0.05, 0.96, 0.05), 2)

#: Stiffness of the spheres [N/m^(3/2)], and of the linear laws [N/m].
HERTZ = sphere_stiffness(0.04, None, 5e6, 0.46, 5e6, 0.46)
LINEAR = 5e4

LAWS: dict[str, Callable[[float], ContactLaw]] = {
    "Hooke": lambda c: HookeLaw(LINEAR),
    "Hertz": lambda c: HertzLaw(HERTZ),
    "linear hysteresis": lambda c: LinearHysteresisLaw(LINEAR, c),
    "Kelvin-Voigt": lambda c: KelvinVoigtLaw(LINEAR, c, MASS),
    "Hunt-Crossley": lambda c: HuntCrossleyLaw(HERTZ, c),
    "Lankarani-Nikravesh": lambda c: LankaraniNikraveshLaw(HERTZ, c),
    "Flores": lambda c: FloresLaw(HERTZ, c),
}


@cache
def returned() -> dict[str, FloatArray]:
    """Return the restitution of every law at the given ones."""
    speed = float(np.sqrt(2.0 * GRAVITY * HEIGHT))
    return {
        name: np.array([coefficient_of_restitution(law(c), MASS, speed).restitution for c in GIVEN])
        for name, law in LAWS.items()
    }


@measured(
    "Restitution returned over the one given (Hooke and Hertz: 1)",
    {"given": ".2f", **alike(LAWS, ".4f")},
)
def restitution() -> Rows:
    """Restitutions, with the largest deviation of each law."""
    for i, c in enumerate(GIVEN):
        yield c, *(values[i] for values in returned().values())
    elastic = ("Hooke", "Hertz")
    wanted = {name: np.ones_like(GIVEN) if name in elastic else GIVEN for name in LAWS}
    away = (abs(values - wanted[name]).max() for name, values in returned().items())
    yield "largest deviation", *(f"{each:.2g}" for each in away)


def draw(file: Path) -> None:
    """Draw returned over given restitution."""
    figure = Figure(figsize=(6.4, 5.4), layout="constrained", dpi=110)
    axes = figure.subplots()
    axes.plot([0.0, 1.0], [0.0, 1.0], color="0.6", lw=0.8, label="as given")
    for (name, values), marker in zip(returned().items(), "sox+^vD", strict=True):
        axes.plot(GIVEN, values, marker=marker, ms=4.0, lw=1.0, label=name)
    axes.set(xlabel="restitution given [-]", ylabel="restitution returned [-]")
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.05))
    axes.legend(loc="lower right")
    figure.savefig(file)


if __name__ == "__main__":
    run(__doc__, [restitution], "restitution.png", draw)
