"""The finite-element layer against the exact solution of the flat layer.

`python -m benchmarks.finite_element` prints these tables and those of
`benchmarks.finite_element_smoothness` and `benchmarks.finite_element_cost`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks import finite_element_cost, finite_element_smoothness
from benchmarks.exact_layer import CASES, Case, ExactContact, exact_contact, paraboloid
from benchmarks.exact_layer_axisymmetric import AxisymmetricContact, ball_factors, punch_factor
from benchmarks.exact_layer_compliance import Layer
from benchmarks.flat_layer import FlatContact, FlatLayer
from benchmarks.timing import table
from foundation.base.checks import FloatArray

SPACINGS = (2e-3, 1e-3, 0.5e-3)
POISSONS_RATIOS = (None, 0.49)  # None: that of the case
FIGURES = ("approach", "peak_pressure", "area", "stiffness")
#: Half extent of the nodes over the long half axis of the patch, for turned paraboloids.
_MARGIN = 1.15
#: Turn about the vertical [rad] and place [spacings]: the patch lies anyhow in the cells.
PLACES = (
    (0.0, 0.0, 0.0),
    (0.52, 0.25, 0.4),
    (1.1, 0.5, 0.1),
    (1.9, -0.3, 0.5),
    (2.6, 0.1, -0.2),
)
HAYES_RATIOS = (0.3, 0.45, 0.49, 0.4999)
HAYES_SIZES = (0.2, 0.5, 1.0, 2.0)
#: Nodes over the radius of the patch and over the thickness, at least.
OVER_RADIUS, OVER_THICKNESS = 10, 8


@cache
def exact(case: Case) -> ExactContact:
    """Return the exact contact of a case."""
    return exact_contact(case.layer, paraboloid(*case.radii), load=case.load)


@cache
def modelled(
    layer: Layer, radii: tuple[float, float], half: float, spacing: float, growth: float
) -> FlatLayer:
    """Return the finite-element model of a case, with a square of nodes of a half extent [m]."""
    return FlatLayer(layer, radii, spacing=spacing, half=(half, half), growth=growth)


def contacts(case: Case, spacing: float, growth: float = 1.1) -> list[FlatContact]:
    """Return the contacts at the load of a case, at `PLACES`."""
    loads = [other.load for other in CASES if other.radii == case.radii]
    largest = exact(replace(case, load=max(loads))).field
    patch = largest.pressure > 0.0
    reach = max(
        np.abs(largest.x[patch.any(axis=1)]).max(), np.abs(largest.y[patch.any(axis=0)]).max()
    )
    half = round(_MARGIN * float(reach) + 2.0 * spacing, 4)
    model = modelled(case.layer, case.radii, half, spacing, growth)
    return [
        model.at_load(case.load, turn=turn, x=x * spacing, z=z * spacing) for turn, x, z in PLACES
    ]


def errors(case: Case, spacing: float, growth: float = 1.1) -> FloatArray:
    """Return the relative errors (`PLACES`, `FIGURES`) of a case."""
    target = exact(case)
    return np.array(
        [
            [getattr(found, name) / getattr(target, name) - 1.0 for name in FIGURES]
            for found in contacts(case, spacing, growth)
        ]
    )


def paraboloids() -> str:
    """Return the table of errors at the load: mean over the places, and largest."""
    rows = []
    for case in CASES[:4]:
        for ratio in POISSONS_RATIOS:
            layer = case.layer if ratio is None else replace(case.layer, poissons_ratio=ratio)
            for spacing in SPACINGS:
                found = 100.0 * errors(replace(case, layer=layer), spacing)
                cells = [
                    f"{mean:+.2f} ({worst:.2f})"
                    for mean, worst in zip(
                        found.mean(axis=0), np.abs(found).max(axis=0), strict=True
                    )
                ]
                name = f"{case.name}, {case.load:.0f} N, ν {layer.poissons_ratio:g}"
                rows.append([name, f"{1e3 * spacing:g}", *cells])
    header = ["case", "spacing [mm]", *(f"{name.replace('_', ' ')} [%]" for name in FIGURES)]
    return table(
        f"Finite elements on the flat layer: mean error of {len(PLACES)} places (largest)",
        header,
        rows,
    )


def order() -> str:
    """Return the table of the order of convergence, all sizes of the elements halved at once."""
    rows = []
    for ratio in (0.46, 0.49):
        case = replace(CASES[0], layer=replace(CASES[0].layer, poissons_ratio=ratio))
        found = []
        for spacing in SPACINGS:
            # The growth over a distance stays the same.
            mean = errors(case, spacing, 1.15 ** (spacing / 1e-3)).mean(axis=0)[:2]
            found.append(mean)
            orders = ["-", "-"]
            if len(found) > 1:
                orders = [f"{o:.1f}" for o in np.log2(np.abs(found[-2] / found[-1]))]
            cells = [f"{100.0 * e:+.3f}" for e in mean]
            rows.append(
                [f"{ratio:g}", f"{1e3 * spacing:g}", cells[0], orders[0], cells[1], orders[1]]
            )
    header = ["ν", "spacing [mm]", "approach [%]", "order", "peak pressure [%]", "order"]
    return table("Order of convergence, 78 × 183 mm, 1000 N", header, rows)


def hayes() -> str:
    """Return the table of errors of Hayes' factors (`benchmarks.exact_layer_axisymmetric`).

    A ball at the load of the exact contact of a radius. The stiffness of a contact is that of a
    flat punch on its patch.
    """
    rows = []
    for ratio in HAYES_RATIOS:
        for size in HAYES_SIZES:
            exact_factors = (*ball_factors(size, ratio), punch_factor(size, ratio))
            rows.append(
                [
                    f"{ratio:g}",
                    f"{size:g}",
                    *(f"{factor:.4f}" for factor in exact_factors),
                    *(f"{100.0 * error:+.2f}" for error in hayes_errors(ratio, size)),
                ]
            )
    header = ["ν", "a/h", "κ", "χ", "κ of the punch"]
    header += [
        f"error of {name} [%]" for name in ("κ", "κ of the punch", "peak pressure", "radius")
    ]
    title = f"Hayes' factors of a ball and of a flat punch, at least {OVER_RADIUS} nodes over a"
    return table(title, header, rows)


def hayes_errors(ratio: float, size: float) -> tuple[float, float, float, float]:
    """Return relative errors of κ of a ball and of a punch, peak pressure and radius.

    For Poisson's ratio and a/h; at the load of the exact contact.
    """
    layer = Layer(1e7, ratio, 8e-3)
    a = size * layer.thickness
    # A shallow paraboloid: the approach is 1 % of the thickness.
    radius = a**2 * ball_factors(size, ratio)[1] / (0.01 * layer.thickness)
    target = AxisymmetricContact(layer, radius, a)
    spacing = max(min(a / OVER_RADIUS, layer.thickness / OVER_THICKNESS), 0.1e-3)
    model = FlatLayer(layer, (radius, radius), spacing=spacing, half=(1.15 * a, 1.15 * a))
    place = {"x": 0.3 * spacing, "z": 0.2 * spacing}
    found = model.at_load(target.load, **place)
    # A secant, since the stiffness has steps where a node touches.
    low, high = (model.force(part * found.approach, **place) for part in (0.95, 1.05))
    stiffness = (high - low) / (0.1 * found.approach)
    return (
        target.approach / found.approach - 1.0,
        stiffness / target.stiffness - 1.0,
        found.peak_pressure / target.peak_pressure - 1.0,
        float(np.sqrt(found.area / target.area)) - 1.0,
    )


if __name__ == "__main__":
    for make in (
        paraboloids,
        order,
        hayes,
        finite_element_smoothness.smoothness,
        finite_element_smoothness.derivatives,
        finite_element_cost.poses_and_condensation,
        finite_element_cost.agreement,
    ):
        print(make(), end="\n\n", flush=True)
