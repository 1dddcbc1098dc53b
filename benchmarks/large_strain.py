"""How far the linear layer is from large strain, and what friction changes.

`python -m benchmarks.large_strain` prints the tables. A sphere is pressed into a layer on a rigid
base. Ratios are between contacts at the same approach on the same mesh, unless stated otherwise.
"""

from __future__ import annotations

from functools import cache

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
from benchmarks.exact_layer_compliance import Layer
from benchmarks.layer_friction import press_slipping, press_with_friction
from benchmarks.timing import table
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
#: Size of the elements at the surface [m]; the tables also tell the answer of twice the size.
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
    layer = Layer(case.youngs_modulus, case.poissons_ratio, case.thickness)
    return press_ball(layer, case.radius, approach=approach, shape=shape)


def exactness() -> str:
    """Tabulate the linear layer beside the exact solution."""
    rows = []
    for name, case in CASES.items():
        for approach in APPROACHES[name]:
            ball = exact_contact(case, approach)
            exact = np.array([ball.load, ball.peak_pressure, ball.contact_radius])
            flatter = exact_contact(case, approach, "paraboloid").load / ball.load - 1.0
            errors = []
            for coarser in (1, 2):
                found = linear(name, approach, coarser=coarser)
                errors += [np.array([found.force, peak(found), edge(found)]) / exact - 1.0]
            rows.append(
                [name, f"{1e3 * approach:g}", f"{exact[0]:.4g}", f"{exact[1] / 1e6:.4g}",
                 f"{1e3 * exact[2]:.2f}", _percent(flatter), *map(_percent, errors[0]),
                 *map(_percent, errors[1][:2])]
            )  # fmt: skip
    header = [
        "layer", "approach [mm]", "force [N]", "peak [MPa]", "contact radius [mm]",
        "force, paraboloid", "force, mesh", "peak, mesh", "radius, mesh", "force, coarser mesh",
        "peak, coarser mesh",
    ]  # fmt: skip
    return table(
        "Linear layer under a sphere: exact, more by a paraboloid, and error of the mesh",
        header,
        rows,
    )


def large_strain() -> str:
    """Tabulate neo-Hookean over linear."""
    rows = []
    for name, case in CASES.items():
        found = [departures(name, energy) for energy in ENERGIES]
        twice = [departures(name, energy, 2) for energy in ENERGIES]
        change = np.abs(np.array(found) - np.array(twice))[..., :2].max(axis=(0, 2))
        for i, approach in enumerate(APPROACHES[name]):
            ratios = [_percent(value) for each in found for value in each[i]]
            share = f"{100.0 * approach / case.thickness:.1f}"
            rows.append([name, f"{1e3 * approach:g}", share, *ratios, f"{100.0 * change[i]:.2f} %"])
    kinds = [f"{what}, {energy}" for energy in ENERGIES for what in ("force", "peak", "peak at F")]
    header = ["layer", "approach [mm]", "of thickness [%]", *kinds, "change by the mesh"]
    return table("Neo-Hookean over linear layer", header, rows)


def limits() -> str:
    """Tabulate the approach up to which the linear layer is near enough."""
    rows = []
    for name, case in CASES.items():
        depths = np.append(0.0, APPROACHES[name])
        for energy in ENERGIES:
            for column, what, most in ((0, "force", FORCE_LIMIT), (1, "peak", PEAK_LIMIT)):
                errors = np.append(0.0, departures(name, energy)[:, column])
                curve = PchipInterpolator(depths, errors)
                depth = brentq(lambda d, c=curve, m=most: c(d) - m, depths[1], depths[-1])
                share = f"{100.0 * depth / case.thickness:.1f}"
                rows.append([name, energy, what, f"{100 * most:g} %", f"{1e3 * depth:.2f}", share])
    header = ["layer", "energy", "quantity", "within", "up to [mm]", "of thickness [%]"]
    return table("Limit of the linear layer", header, rows)


def friction() -> str:
    """Tabulate a linear layer with friction over the same without."""
    rows = []
    for name in CASES:
        model, matrix, depths = mesh(name), compliance(name), APPROACHES[name]
        steps = np.arange(1, round(depths[-1] / STEP) + 1) * STEP
        history = press_with_friction(model, matrix, steps, FRICTION)
        rubbed = dict(zip(np.round(steps, 9), history, strict=True))
        for approach in depths:
            small, rubbing = linear(name, approach), rubbed[round(approach, 9)]
            slipping = press_slipping(model, matrix, approach, FRICTION)
            changes = [_changes(found.contact, small) for found in (rubbing, slipping)]
            held = rubbing.contact.normal > 0.0
            free = np.abs(rubbing.friction) > 0.999 * FRICTION * rubbing.contact.normal
            loads = rubbing.contact.normal[held & free].sum() / rubbing.contact.force
            rows.append(
                [name, f"{1e3 * approach:g}", f"{small.force:.4g}",
                 *map(_percent, np.concatenate(changes)), f"{100.0 * loads:.0f} %",
                 f"{FRICTION * small.force:.3g}"]
            )  # fmt: skip
    header = [
        "layer", "approach [mm]", "force [N]", "force", "peak", "area", "force, slip everywhere",
        "peak, slip everywhere", "area, slip everywhere", "load that slips", "μ F [N]",
    ]  # fmt: skip
    return table(f"Friction of μ = {FRICTION:g} over none, linear layer", header, rows)


def _deepest(name: str) -> float:
    """Return an approach at which the linear layer bears more than the neo-Hookean one at most."""
    return 1.1 * APPROACHES[name][-1]


def _changes(found: Indentation, reference: Indentation) -> FloatArray:
    """Return relative changes of force, peak and area."""
    quantities = [[c.force, peak(c), edge(c) ** 2] for c in (found, reference)]
    return np.divide(*quantities) - 1.0


def _percent(ratio: float) -> str:
    return f"{100.0 * ratio:+.2f} %"


if __name__ == "__main__":
    for make in (exactness, large_strain, limits, friction):
        print(make(), end="\n\n", flush=True)
