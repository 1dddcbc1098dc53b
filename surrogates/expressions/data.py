"""The numbers of a compartment from which its expressions are built."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.regressor_data import RegressorData
from surrogates.expressions.functions import Expression, Functions


def one_constant() -> NDArray[np.int64]:
    """Return the degrees (1, 0) of what no parameter changes."""
    return np.zeros((1, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ParameterData:
    """Middle and half range (P,) [any unit] of the parameters of designs."""

    middle: FloatArray
    half: FloatArray

    def scaled(self, f: Functions, design: Expression) -> Expression:
        """Return the values (P,) of a design [units of the names], scaled to -1 to 1."""
        return (design - f.constant(self.middle)) / f.constant(self.half)


@dataclass(frozen=True, eq=False)
class PathData:
    """A piecewise cubic over flexion; at designs, a sum of T of them.

    Attributes
    ----------
    breaks : (K,) float64
        Knots [rad].
    pieces : (4, K - 1, T m) float64
        Coefficients in falling powers of the flexion past the piece's first knot [rad, m], of the T
        paths side by side.
    exponents : (T, P) int64
        Degrees of the Legendre product of the scaled parameters that multiplies each path.
    """

    breaks: FloatArray
    pieces: FloatArray
    exponents: NDArray[np.int64] = field(default_factory=one_constant)


@dataclass(frozen=True, eq=False)
class PointData:
    """A point (3,) [m]; at designs, a sum of T of them.

    Attributes
    ----------
    points : (T, 3) float64
        The points [m].
    exponents : (T, P) int64
        Degrees of the Legendre product of the scaled parameters that multiplies each point.
    """

    points: FloatArray
    exponents: NDArray[np.int64] = field(default_factory=one_constant)


@dataclass(frozen=True, eq=False)
class BoxData:
    """Box of poses about a path: centre and half width (6,) of its variables [rad, m, sqrt(N)].

    `top` is the largest axial load [N].
    """

    path: PathData
    centre: FloatArray
    half: FloatArray
    top: float


@dataclass(frozen=True, eq=False)
class CondyleData:
    """Coordinates of a condyle's point: `surrogates.sampling.condyle_coordinates`.

    The point `centre` in the femoral frame, its `path`, `middle` and `half` width (5,) of the
    variables [rad, m]; `lever` is 1 if moments and centres of pressure are learnt about the point,
    else 0.
    """

    centre: PointData
    path: PathData
    middle: FloatArray
    half: FloatArray
    lever: float


@dataclass(frozen=True, eq=False)
class DomainData:
    """Limits (3,) [1, 1, Pa], gap of a lifted condyle [m] and regressor of a trained domain."""

    limits: FloatArray
    lifted: float
    regressor: RegressorData


@dataclass(frozen=True, eq=False)
class CompartmentData:
    """All numbers of a compartment's surrogate, of one design or over P parameters of designs.

    Attributes
    ----------
    learns_heights : bool
        Whether heights over the load are learnt, or the loads over the height.
    largest, degree : float
        Largest load [N], degree p [1].
    depth : (2,) float64
        Middle and half range of the height, where the height is an input [m].
    width, fall : float
        Width of the smoothing [1], and fall of the height beyond the samples [m]; over designs, at
        the middle of the parameters.
    box, condyle, domain
        Geometry and trained domain.
    parts
        Three regressors of 6 + P inputs that share the outputs.
    """

    learns_heights: bool
    largest: float
    degree: float
    depth: FloatArray
    width: float
    fall: float
    box: BoxData
    condyle: CondyleData
    domain: DomainData
    parts: tuple[RegressorData, RegressorData, RegressorData]
