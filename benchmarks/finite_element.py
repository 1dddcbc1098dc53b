"""The finite-element layer against the exact solution of the flat layer.

`python -m benchmarks.finite_element` prints the tables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from benchmarks.exact_layer import CASES, Case, ExactContact, exact_contact, paraboloid
from benchmarks.exact_layer_compliance import Layer
from benchmarks.flat_layer import FlatContact, FlatLayer
from benchmarks.frame import Rows, alike, measured, run
from foundation.base.checks import FloatArray

SPACINGS = (2e-3, 1e-3, 0.5e-3)
POISSONS_RATIOS = (None, 0.49)  # None: that of the case
FIGURES = ("approach", "peak_pressure", "area", "stiffness")
#: Half extent of the nodes over the long half axis of the patch, for turned paraboloids.
_MARGIN = 1.15
#: Turn about the vertical [rad] and place [spacings] of the patch with respect to the cells.
PLACES = (
    (0.0, 0.0, 0.0),
    (0.52, 0.25, 0.4),
    (1.1, 0.5, 0.1),
    (1.9, -0.3, 0.5),
    (2.6, 0.1, -0.2),
)


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


@measured(
    f"Finite elements on the flat layer: mean error of {len(PLACES)} places (largest)",
    {"case": "", "spacing [mm]": "g",
     **alike([f"{name.replace('_', ' ')} [%]" for name in FIGURES], "{:+.2f} ({:.2f})")},
)  # fmt: skip
def paraboloids() -> Rows:
    """Errors at the load: mean over the places, and largest."""
    for case, ratio, spacing in product(CASES[:4], POISSONS_RATIOS, SPACINGS):
        layer = case.layer if ratio is None else replace(case.layer, poissons_ratio=ratio)
        found = errors(replace(case, layer=layer), spacing)
        name = f"{case.name}, {case.load:.0f} N, ν {layer.poissons_ratio:g}"
        yield name, spacing, *zip(found.mean(axis=0), np.abs(found).max(axis=0), strict=True)


@measured(
    "Order of convergence, 78 × 183 mm, 1000 N",
    {"ν": "g", "spacing [mm]": "g", "approach [%]": "+.3f", "its order": ".1f",
     "peak pressure [%]": "+.3f", "order of the peak": ".1f"},
)  # fmt: skip
def order() -> Rows:
    """Order of convergence, all sizes of the elements halved at once."""
    for ratio in (0.46, 0.49):
        case = replace(CASES[0], layer=replace(CASES[0].layer, poissons_ratio=ratio))
        before = None
        for spacing in SPACINGS:
            # The growth over a distance stays the same.
            mean = errors(case, spacing, 1.15 ** (spacing / 1e-3)).mean(axis=0)[:2]
            orders = (None, None) if before is None else np.log2(np.abs(before / mean))
            yield ratio, spacing, mean[0], orders[0], mean[1], orders[1]
            before = mean


TABLES = (paraboloids, order)

if __name__ == "__main__":
    run(__doc__, TABLES)
