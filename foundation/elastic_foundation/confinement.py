"""Independent springs under which a layer that hardly changes its volume would flow aside.

The confined modulus of springs is infinite at Poisson's ratio 0.5. A layer gives to a pressure on a
patch of half width a about as to a wave of the wave number 2/a (Hayes et al.,
`foundation.layer_theory`).
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import AREA, PEAK_PRESSURE
from foundation.core.library import CONSTANTS
from foundation.elastic_foundation.kernel_sums import DEPTH
from foundation.elastic_foundation.laws import (
    CoupledLaw,
    LayerLaw,
    LinearLaw,
    SpringLaw,
    single_laws,
)
from foundation.layer_theory.flat_layer import wave_compliance

NEARLY_INCOMPRESSIBLE = CONSTANTS["NEARLY_INCOMPRESSIBLE"]
#: Wave number of the layer times half width of the patch.
_WAVE = 2.0
#: Excess of the force over that of the wave: the estimate is within 10 % under the balls of
#: `make bench ARGS=accuracy.coupled_springs_under_balls`.
_SHARE = 0.78
#: Least excess that is said.
_SAID = 1.1


def soft_layers(law: SpringLaw, thicknesses: FloatArray) -> tuple[tuple[LayerLaw, float], ...]:
    """Return nearly incompressible layers and mean thicknesses [m], of thicknesses (L, F) [m]."""
    laws = single_laws(law)
    ratios = [each.poissons_ratio for each in laws if not isinstance(each, CoupledLaw)]
    if max(ratios, default=0.0) <= NEARLY_INCOMPRESSIBLE:
        return ()
    return tuple(zip(laws, thicknesses.mean(axis=1).tolist(), strict=True))


def confinement_flags(
    name: str, layers: tuple[tuple[LayerLaw, float], ...], sums: FloatArray
) -> tuple[Flag, ...]:
    """Return the flag of a compartment with sums (SUMS,) [SI], if its springs are too stiff."""
    area, peak, depth = sums[AREA], sums[PEAK_PRESSURE], sums[DEPTH]
    if not layers or area <= 0.0 or depth <= 0.0:
        return ()
    excess = _excess(peak * _compliance(layers, _WAVE / float(np.sqrt(area / np.pi))) / depth)
    if excess < _SAID:
        return ()
    ratio = max(law.poissons_ratio for law, _ in layers)
    return (Flag(FlagKind.STIFF_SPRINGS, name, (ratio, two_digits(excess))),)


def confined_excess(poissons_ratio: float) -> float:
    """Return how many times too stiff springs are on a patch twice as wide as the layer [1]."""
    law = LinearLaw(1.0, poissons_ratio, 1e-3)
    return _excess(_compliance(((law, 1e-3),), _WAVE / 1e-3) * law.confined_modulus / 1e-3)


def times(excess: float) -> str:
    """Return an excess in words."""
    return f"about {two_digits(excess):.15g} times"


def two_digits(excess: float) -> float:
    """Return an excess to two digits, or to a whole number from 10 up [1]."""
    return float(f"{excess:.0f}" if excess >= 10.0 else f"{excess:.2g}")


def _excess(peak: float) -> float:
    """Return the excess of force from that of a wave [1]."""
    return 1.0 + _SHARE * (peak - 1.0)


def _compliance(layers: tuple[tuple[LayerLaw, float], ...], wave_number: float) -> float:
    return sum(
        wave_compliance(law.youngs_modulus, law.poissons_ratio, thickness, wave_number)
        for law, thickness in layers
    )
