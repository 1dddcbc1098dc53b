"""How far the linear layer is from large strain, and what friction changes.

`python -m benchmarks.large_strain` prints the tables. A sphere is pressed into a layer on a rigid
base. Ratios are between contacts at the same approach on the same mesh, unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain, product

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

from benchmarks.axisymmetric_layer import (
    AxisymmetricLayer,
    Case,
    Indentation,
    edge,
    peak,
    press,
    press_linear,
)
from benchmarks.exact_layer_axisymmetric import AxisymmetricContact, press_ball
from benchmarks.frame import Rows, alike, measured, run
from benchmarks.layer_friction import press_slipping, press_with_friction
from foundation.base.checks import FloatArray

#: The sphere of the implant has the geometric mean of its relative radii, 78 mm and 183 mm.
CASES = {
    "cartilage": Case(10e6, 0.45, 6e-3, 27e-3),
    "polyethylene": Case(463e6, 0.46, 8e-3, np.sqrt(78e-3 * 183e-3)),
}
APPROACHES = {
    "cartilage": (0.25e-3, 0.5e-3, 0.75e-3, 1.0e-3, 1.3e-3, 1.8e-3),
    "polyethylene": (0.15e-3, 0.25e-3, 0.5e-3, 1.0e-3, 1.3e-3, 1.8e-3),
}
#: Size of the elements at the surface [m]; the tables also have elements of twice the size.
SPACINGS = {"cartilage": 0.1e-3, "polyethylene": 0.2e-3}
ENERGIES = ("coupled", "split")
FRICTION = 0.04  # of the order of polyethylene on metal in a simulator
STEP = 0.05e-3
#: What counts as near enough in `limits`.
FORCE_LIMIT, PEAK_LIMIT = 0.02, 0.05


@cache
def mesh(name: str, energy: str = "coupled", coarser: int = 1) -> AxisymmetricLayer:
    """Return the mesh of a case, `coarser` times the usual spacing."""
    case = CASES[name]
    reach = 1.6 * np.sqrt(case.radius * _deepest(name))
    return AxisymmetricLayer(case, coarser * SPACINGS[name], reach, energy)


@cache
def compliance(name: str, energy: str = "coupled", coarser: int = 1) -> FloatArray:
    """Return the compliance of the linear layer on a mesh."""
    return mesh(name, energy, coarser).compliance()


@cache
def linear(name: str, approach: float, energy: str = "coupled", coarser: int = 1) -> Indentation:
    """Return the contact of the linear layer."""
    arguments = (name, energy, coarser)
    return press_linear(mesh(*arguments), compliance(*arguments), approach)


@cache
def neo_hookean(name: str, energy: str, coarser: int = 1) -> tuple[Indentation, ...]:
    """Return the contacts of the neo-Hookean layer at all approaches of a case."""
    model = mesh(name, energy, coarser)
    contacts: list[Indentation] = []
    for approach in APPROACHES[name]:
        start = contacts[-1].state if contacts else model.rest
        touching = linear(name, approach, energy, coarser).normal > 0.0
        contacts.append(press(model, approach, start, touching))
    return tuple(contacts)


@cache
def departures(name: str, energy: str, coarser: int = 1) -> FloatArray:
    """Return (approaches, 3): neo-Hookean over linear, less 1: force, peak, peak at equal force."""
    finer = np.linspace(APPROACHES[name][0], _deepest(name), 40)
    curve = [linear(name, approach, energy, coarser) for approach in finer]
    forces, peaks = np.log([[c.force, peak(c)] for c in curve]).T
    peak_at = PchipInterpolator(forces, peaks)
    rows = []
    for approach, large in zip(APPROACHES[name], neo_hookean(name, energy, coarser), strict=True):
        small = linear(name, approach, energy, coarser)
        at_force = np.exp(peak_at(np.log(large.force)))
        rows.append([large.force / small.force, peak(large) / peak(small), peak(large) / at_force])
    return np.array(rows) - 1.0


def exact_contact(case: Case, approach: float, shape: str = "sphere") -> AxisymmetricContact:
    """Return the exact contact of the linear layer of a case at an approach [m]."""
    return press_ball(case.layer, case.radius, approach=approach, shape=shape)


@measured(
    "Linear layer under a sphere: exact, more by a paraboloid, and error of the mesh",
    {"layer": "", "approach [mm]": "g", "force [N]": ".4g", "peak [MPa]": ".4g",
     "contact radius [mm]": ".2f",
     **alike(("force, paraboloid [%]", "force, mesh [%]", "peak, mesh [%]", "radius, mesh [%]",
              "force, coarser mesh [%]", "peak, coarser mesh [%]"), "+.2f")},
)  # fmt: skip
def exactness() -> Rows:
    """Linear layer beside the exact solution."""
    for name, approach in _cases():
        ball = exact_contact(CASES[name], approach)
        exact = np.array([ball.load, ball.peak_pressure, ball.contact_radius])
        flatter = exact_contact(CASES[name], approach, "paraboloid").load / ball.load - 1.0
        fine, coarse = (
            np.array([found.force, peak(found), edge(found)]) / exact - 1.0
            for found in (linear(name, approach, coarser=coarser) for coarser in (1, 2))
        )
        yield name, approach, *exact, flatter, *fine, *coarse[:2]


@measured(
    "Neo-Hookean over linear layer",
    {"layer": "", "approach [mm]": "g", "of thickness [%]": ".1f",
     **alike([f"{what}, {energy} [%]" for energy in ENERGIES
              for what in ("force", "peak", "peak at F")], "+.2f"),
     "change by the mesh [%]": ".2f"},
)  # fmt: skip
def large_strain() -> Rows:
    """Neo-Hookean over linear."""
    for name, case in CASES.items():
        found, twice = (
            np.array([departures(name, energy, coarser) for energy in ENERGIES])
            for coarser in (1, 2)
        )
        change = np.abs(found - twice)[..., :2].max(axis=(0, 2))
        for i, approach in enumerate(APPROACHES[name]):
            yield name, approach, approach / case.thickness, *found[:, i].ravel(), change[i]


@measured(
    "Limit of the linear layer",
    {"layer": "", "energy": "", "quantity": "", "within [%]": "g", "up to [mm]": ".2f",
     "of thickness [%]": ".1f"},
)  # fmt: skip
def limits() -> Rows:
    """Approach up to which the linear layer is near enough."""
    quantities = (0, "force", FORCE_LIMIT), (1, "peak", PEAK_LIMIT)
    for (name, case), energy, (column, what, most) in product(CASES.items(), ENERGIES, quantities):
        depths = np.append(0.0, APPROACHES[name])
        curve = PchipInterpolator(depths, np.append(0.0, departures(name, energy)[:, column]))
        depth = brentq(lambda d, c=curve, m=most: c(d) - m, depths[1], depths[-1])
        yield name, energy, what, most, depth, depth / case.thickness


@measured(
    f"Friction of μ = {FRICTION:g} over none, linear layer",
    {"layer": "", "approach [mm]": "g", "force, none [N]": ".4g",
     **alike([f"{what}{where} [%]" for where in ("", ", slip everywhere")
              for what in ("force", "peak", "area")], "+.2f"),
     "load that slips [%]": ".0f", "μ F [N]": ".3g"},
)  # fmt: skip
def friction() -> Rows:
    """Linear layer with friction over the same without."""
    for name in CASES:
        model, matrix, depths = mesh(name), compliance(name), APPROACHES[name]
        steps = np.arange(1, round(depths[-1] / STEP) + 1) * STEP
        history = press_with_friction(model, matrix, steps, FRICTION)
        rubbed = dict(zip(np.round(steps, 9), history, strict=True))
        for approach in depths:
            small, rubbing = linear(name, approach), rubbed[round(approach, 9)]
            slipping = press_slipping(model, matrix, approach, FRICTION)
            changes = (_changes(found.contact, small) for found in (rubbing, slipping))
            held = rubbing.contact.normal > 0.0
            free = np.abs(rubbing.friction) > 0.999 * FRICTION * rubbing.contact.normal
            loads = rubbing.contact.normal[held & free].sum() / rubbing.contact.force
            yield name, approach, small.force, *chain(*changes), loads, FRICTION * small.force


def _cases() -> Iterator[tuple[str, float]]:
    """Yield every layer with each of its approaches [m]."""
    return ((name, approach) for name in CASES for approach in APPROACHES[name])


def _deepest(name: str) -> float:
    """Return an approach at which the linear layer bears more than the neo-Hookean one at most."""
    return 1.1 * APPROACHES[name][-1]


def _changes(found: Indentation, reference: Indentation) -> FloatArray:
    """Return relative changes of force, peak and area."""
    quantities = [[c.force, peak(c), edge(c) ** 2] for c in (found, reference)]
    return np.divide(*quantities) - 1.0


TABLES = (exactness, large_strain, limits, friction)

if __name__ == "__main__":
    run(__doc__, TABLES)
