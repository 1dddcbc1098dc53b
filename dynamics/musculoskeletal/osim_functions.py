"""Functions in OpenSim's XML files: constant, linear, polynomial, and through points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.osim_xml import OsimObject
from foundation.base.checks import FloatArray

_POLYNOMIALS = ("Constant", "LinearFunction", "PolynomialFunction")
#: Functions through points; a GCVSpline without variance of the errors is a natural spline.
SPLINE, PIECEWISE, NATURAL = "SimmSpline", "PiecewiseLinearFunction", "GCVSpline"
POINTS = (SPLINE, PIECEWISE, NATURAL)
_NO_NUMBERS = np.zeros(0)


class OsimFunction(NamedTuple):
    """A function of one variable, by coefficients (K,) or points (P,) [any unit]."""

    #: Class in OpenSim; for a MultiplierFunction, the class of the function it multiplies.
    kind: str
    #: Factor of a MultiplierFunction, otherwise 1 [1].
    factor: float
    #: Of a polynomial (K,), that of the highest power first; empty for other kinds.
    coefficients: FloatArray = _NO_NUMBERS
    #: Points (P,) of a SimmSpline, PiecewiseLinearFunction or GCVSpline; empty for other kinds.
    x: FloatArray = _NO_NUMBERS
    y: FloatArray = _NO_NUMBERS

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and offset of a constant or linear function; None for another function."""
        if self.kind not in _POLYNOMIALS[:2]:
            return None
        slope, offset = (0.0, *self.coefficients.tolist())[-2:]
        return self.factor * slope, self.factor * offset

    def at(self, value: float) -> float:
        """Return the function at a value, linear between points; zero for an unknown function."""
        if len(self.coefficients):
            return self.factor * float(np.polyval(self.coefficients, value))
        if len(self.x):
            return self.factor * float(np.interp(value, self.x, self.y))
        return 0.0


def read_function(function: OsimObject) -> OsimFunction:
    """Return a function, without coefficients and points if its class is unknown."""
    factor = 1.0
    if function.tag == "MultiplierFunction":
        factor = function.number("scale", 1.0)
        inner = function.element.find("function/*")
        if inner is not None:
            function = OsimObject(inner, function.file, function.where)
    kind = function.tag
    if kind == "Constant":
        return OsimFunction(kind, factor, np.array([function.number("value", 0.0)]))
    if kind == "LinearFunction":
        return OsimFunction(kind, factor, function.numbers("coefficients", (1.0, 0.0)))
    if kind == "PolynomialFunction":
        return OsimFunction(kind, factor, function.numbers("coefficients"))
    if kind in POINTS:
        return OsimFunction(kind, factor, x=function.numbers("x"), y=function.numbers("y"))
    return OsimFunction(kind, factor)
