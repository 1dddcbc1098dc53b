"""Surface compliance of a linear-elastic layer bonded to a rigid base, without friction.

A pressure of wave number k moves the surface by C(k) = 2 (1 - ν²) / (E k) φ(k h) times itself,

    φ(x) = ((3 - 4ν) sinh 2x - 2x) / ((3 - 4ν) cosh 2x + 2x² + 5 - 12ν + 8ν²),

with φ = 1 for the half-space (Hayes et al. 1972, J. Biomech. 5:541-551). φ reaches 1 exponentially,
so that the layer is the half-space, whose compliance between squares is closed (Love 1929), minus a
smooth function of the distance alone.
"""

from dataclasses import dataclass
from math import ceil, inf, pi

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import j0

from foundation.base.checks import check_array, check_number
from foundation.base.errors import InputError

_CUT = 20.0  # 1 - φ is below 1e-13 from there on
_PLUS = 1e-6  # thicknesses: all distances in the half-space are none


@dataclass(frozen=True)
class Layer:
    """A layer on a rigid base: E [Pa], ν [1] up to 0.5, h [m], which is inf for the half-space."""

    youngs_modulus: float
    poissons_ratio: float
    thickness: float

    def __post_init__(self):
        check_number("youngs_modulus", self.youngs_modulus, above=0.0, unit="Pa")
        check_number("poissons_ratio", self.poissons_ratio, at_least=0.0, at_most=0.5)
        if self.thickness != inf:
            check_number("thickness", self.thickness, above=0.0, unit="m")

    @property
    def shear_modulus(self):
        """Return G [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poissons_ratio))

    @property
    def plane_modulus(self):
        """Return E / (1 - ν²) [Pa]."""
        return self.youngs_modulus / (1.0 - self.poissons_ratio**2)

    @property
    def confined_compliance(self):
        """Return C(0) = (1 + ν)(1 - 2ν) h / ((1 - ν) E) [m/Pa], of a uniform pressure."""
        ratio = self.poissons_ratio
        return (
            (1.0 + ratio) * (1.0 - 2.0 * ratio) * self.thickness / (1.0 - ratio)
        ) / self.youngs_modulus

    def compliance(self, wave_number):
        """Return C(k) [m/Pa] of wave numbers k > 0 [1/m], any shape."""
        k = check_array("wave_number", wave_number, above=0.0, unit="1/m")
        return 2.0 / (self.plane_modulus * k) * (1.0 - self.deficit(k * self.thickness))

    def deficit(self, scaled):
        """Return 1 - φ of k h [1], any shape: what the layer lacks of the half-space."""
        x, ratio = scaled, self.poissons_ratio
        fade, sharp = np.exp(-2.0 * x), 3.0 - 4.0 * ratio
        rest = 2.0 * x * x + 5.0 - 12.0 * ratio + 8.0 * ratio**2
        return (
            2.0
            * fade
            * (sharp * fade + rest + 2.0 * x)
            / (sharp * (1.0 + fade * fade) + 2.0 * fade * rest)
        )

    def deficit_transform(self, wave, distance):
        """Return ∫(1 - φ(k h)) f(k r) dk [1/m], k from 0 to ∞, at distances r [m], any shape.

        f oscillates no faster than the cosine.
        """
        reach = _PLUS + float(distance.max()) / self.thickness
        nodes, weights = np.polynomial.legendre.leggauss(64 + ceil(0.75 * _CUT * reach))
        x = 0.5 * _CUT * (nodes + 1.0)
        weights = 0.5 * _CUT * weights * self.deficit(x)
        at = np.linspace(0.0, reach, max(64, ceil(200.0 * reach)))
        parts = np.array_split(at, 16)
        values = np.concatenate([wave(part[:, None] * x) @ weights for part in parts])
        return CubicSpline(at, values)(distance / self.thickness) / self.thickness


def square_compliance(layer, across, along):
    """Return the displacement by unit pressure on one square of a grid [m/Pa].

    The distances (N,) and (M,) from the middle of the square [m] have its side as spacing; the
    displacement (N, M) is positive into the layer. The half-space's part is Love's (1929, Phil.
    Trans. R. Soc. A 228:377-420; Johnson 1985, eq. 3.25); the smooth part is taken at the middle of
    the square.
    """
    side = float(across[1] - across[0])
    if not np.isclose(side, along[1] - along[0], rtol=1e-9):
        raise InputError("square_compliance: expected one spacing, found two; use square cells")
    u, v = (d - 0.5 * side for d in np.meshgrid(_extended(across), _extended(along), indexing="ij"))
    corner = u * np.arcsinh(v / np.abs(u)) + v * np.arcsinh(u / np.abs(v))
    love = np.diff(np.diff(corner, axis=0), axis=1)
    distance = np.hypot(across[:, None], along[None, :])
    return (love - side**2 * layer.deficit_transform(j0, distance)) / (pi * layer.plane_modulus)


def _extended(distances):
    return np.append(distances, 2.0 * distances[-1] - distances[-2])


def check_demand(load, approach):
    """Return name and value of the one of load [N] and approach [m] that is given."""
    if (load is None) == (approach is None):
        raise InputError("contact: expected one of load and approach, found both or neither")
    if approach is None:
        return "load", check_number("load", load, above=0.0, unit="N")
    return "approach", check_number("approach", approach, above=0.0, unit="m")
