"""Exact contact of a linear-elastic layer on a rigid base with a rigid body, without friction.

    layer = Layer(463e6, 0.46, 8e-3)
    contact = exact_contact(layer, paraboloid(78e-3, 183e-3), load=1000.0)
    contact.approach, contact.peak_pressure, contact.area, contact.stiffness

`python -m benchmarks.exact_layer` prints the cases of `CASES`, and how far springs are from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.exact_layer_compliance import Layer, check_demand
from benchmarks.exact_layer_grid import Demand, Gap, PressureField, patch_window, solve_on_grid
from benchmarks.frame import Rows, alike, measured, run
from foundation.base.checks import FloatArray, check_number

_SPREAD = 0.1  # of the logarithm of load or approach, for the stiffness
_FIGURES = ("load", "approach", "peak_pressure", "area")


@dataclass(frozen=True)
class Case:
    """An elliptic paraboloid of two radii [m] on a layer under a load [N]."""

    name: str
    radii: tuple[float, float]
    layer: Layer
    load: float


POLYETHYLENE = Layer(463e6, 0.46, 8e-3)
CARTILAGE = Layer(10e6, 0.45, 6e-3)
CASES = (
    Case("implant", (78e-3, 183e-3), POLYETHYLENE, 1000.0),
    Case("implant", (78e-3, 183e-3), POLYETHYLENE, 2000.0),
    Case("conforming implant", (150e-3, 600e-3), POLYETHYLENE, 2000.0),
    Case("cartilage", (30e-3, 25e-3), CARTILAGE, 500.0),
    Case("implant, ν 0.49", (78e-3, 183e-3), Layer(463e6, 0.49, 8e-3), 1000.0),
)


@dataclass(frozen=True)
class ExactContact:
    """Figures extrapolated to cells of no size."""

    load: float
    """Normal load [N]."""
    approach: float
    """Approach since first touch [m]."""
    peak_pressure: float
    """Largest pressure [Pa]."""
    area: float
    """Contact area [m²]."""
    stiffness: float
    """Slope of the load over the approach [N/m]."""
    correction: float
    """Largest relative change of load, approach or peak by the extrapolation [1]."""
    field: PressureField
    """Pressures on the finer grid, not extrapolated."""


def paraboloid(first: float, second: float, turn: float = 0.0) -> Gap:
    """Return the gap u²/(2 R₁) + v²/(2 R₂) of an elliptic paraboloid.

    Parameters
    ----------
    first, second : float
        R₁ and R₂ [m], > 0, along u and v.
    turn : float
        Angle from x to u [rad].

    Raises
    ------
    InputError
        If a radius is not positive.
    """
    check_number("first", first, above=0.0, unit="m")
    check_number("second", second, above=0.0, unit="m")
    cosine, sine = np.cos(turn), np.sin(turn)

    def gap(x: FloatArray, y: FloatArray) -> FloatArray:
        u, v = cosine * x + sine * y, cosine * y - sine * x
        return u**2 / (2.0 * first) + v**2 / (2.0 * second)

    return gap


def exact_contact(
    layer: Layer,
    gap: Gap,
    *,
    load: float | None = None,
    approach: float | None = None,
    cells: int = 192,
) -> ExactContact:
    """Return the contact of a layer with a rigid body at a load or at an approach.

    The window is fitted to the patch; two grids, one twice as fine, are extrapolated as if their
    errors were of second order. Against the integral equation, for balls with patches of radius
    0.1 h to 4 h, approach and peak come out within 1e-5, the stiffness within 1e-4
    and the area within 5e-4 up to 2 h; 96 cells, five to ten times faster,
    come within 3e-5, 6e-4 and 4e-3.

    Parameters
    ----------
    layer : Layer
        The layer.
    gap : callable
        Gap [m] of arrays x and y [m], smooth, its patch near the origin.
    load : float, optional
        Normal load [N], > 0.
    approach : float, optional
        Approach [m] beyond gap zero, > 0; either this or the load.
    cells : int
        Cells of the finer grid across the shorter extent of the patch, at least 48.

    Raises
    ------
    InputError
        If not one of load and approach is given, if a value is out of its range, or if the patch
        is not one patch that every ray from its centre leaves once.
    """
    check_number("cells", cells, at_least=48)
    demand = Demand(*check_demand(load, approach))
    window, extent = patch_window(layer, gap, demand.scaled(np.exp(_SPREAD)))

    def pair(factor: float) -> tuple[PressureField, PressureField]:
        coarse, fine = (
            solve_on_grid(layer, gap, window, extent / count, demand.scaled(factor))
            for count in (cells // 2, cells)
        )
        return coarse, fine

    coarse, fine = pair(1.0)
    ends = [pair(np.exp(sign * _SPREAD)) for sign in (-1.0, 1.0)]
    exact = {name: _extrapolated(coarse, fine, name) for name in _FIGURES}
    return ExactContact(
        **exact,
        stiffness=_slope(ends) * exact["load"] / exact["approach"],
        correction=max(abs(getattr(fine, n) / exact[n] - 1.0) for n in _FIGURES[:3]),
        field=fine,
    )


def _extrapolated(coarse: PressureField, fine: PressureField, name: str) -> float:
    """Return a figure at cells of no size, the error being of second order."""
    ratio = (coarse.spacing / fine.spacing) ** 2
    return (ratio * getattr(fine, name) - getattr(coarse, name)) / (ratio - 1.0)


def _slope(ends: list[tuple[PressureField, PressureField]]) -> float:
    """Return d ln F / d ln δ between two pairs of fields."""
    logarithms = [
        [np.log(_extrapolated(*pair, name)) for name in ("load", "approach")] for pair in ends
    ]
    rise = np.subtract(logarithms[1], logarithms[0])
    return float(rise[0] / rise[1])


@measured(
    "Exact contact of an elastic layer with a rigid paraboloid",
    {"case": "", "load [N]": ".0f", "approach [mm]": ".6f", "peak pressure [MPa]": ".4f",
     "area [mm²]": ".2f", "stiffness [kN/mm]": ".4f", "correction by extrapolation": ".0e"},
)  # fmt: skip
def cases() -> Rows:
    """Exact contact of `CASES`."""
    for case in CASES:
        found = exact_contact(case.layer, paraboloid(*case.radii), load=case.load)
        figures = found.approach, found.peak_pressure, found.area, found.stiffness
        yield case.name, case.load, *figures, found.correction


@measured(
    "Elastic foundation over the exact layer, at the same load",
    {"case": "", "load [N]": ".0f",
     **alike(("peak pressure", "area", "stiffness", "approach"), ".2f")},
)  # fmt: skip
def springs() -> Rows:
    """Elastic foundation over the exact layer, at the same load."""
    for case in CASES[:4]:
        exact = exact_contact(case.layer, paraboloid(*case.radii), load=case.load, cells=96)
        found = _on_springs(case)
        ratios = (value / getattr(exact, name) for name, value in found.items())
        yield case.name, case.load, *ratios


def _on_springs(case: Case) -> dict[str, float]:
    """Return figures of a linear foundation under a paraboloid, in closed form [SI]."""
    spring, mean = 1.0 / case.layer.confined_compliance, float(np.sqrt(np.prod(case.radii)))
    # The pressure k (δ - z) over the paraboloid z sums up to F = π k sqrt(R1 R2) δ².
    approach = float(np.sqrt(case.load / (np.pi * spring * mean)))
    return {
        "peak_pressure": spring * approach,
        "area": 2.0 * np.pi * mean * approach,
        "stiffness": 2.0 * case.load / approach,
        "approach": approach,
    }


TABLES = (cases, springs)

if __name__ == "__main__":
    run(__doc__, TABLES)
