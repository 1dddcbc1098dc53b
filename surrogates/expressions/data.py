"""The numbers of a compartment from which its expressions are built."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.base.checks import FloatArray
from surrogates.compiled.regressor_data import RegressorData


@dataclass(frozen=True, eq=False)
class PathData:
    """A piecewise cubic over flexion.

    Attributes
    ----------
    breaks : (K,) float64
        Knots [rad].
    pieces : (4, K - 1, m) float64
        Coefficients in falling powers of the flexion past the piece's first knot [rad, m].
    """

    breaks: FloatArray
    pieces: FloatArray


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

    The point `centre` (3,) [m] in the femoral frame, its `path`, `middle` and `half` width (5,) of
    the variables [rad, m]; `lever` is 1 if moments and centres of pressure are learnt about the
    point, else 0.
    """

    centre: FloatArray
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
    """All numbers of a compartment's surrogate.

    Attributes
    ----------
    learns_heights : bool
        Whether heights over the load are learnt, or the loads over the height.
    largest, degree : float
        Largest load [N], degree p [1].
    depth : (2,) float64
        Middle and half range of the height, where the height is an input [m].
    width, fall : float
        Width of the smoothing [1], and fall of the height beyond the samples [m].
    box, condyle, domain
        Geometry and trained domain.
    parts
        Three regressors that share the outputs.
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
