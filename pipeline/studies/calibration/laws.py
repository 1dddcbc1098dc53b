"""The laws that can be calibrated: their free parameters, bounds and starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from foundation.base.checks import FloatArray
from foundation.elastic_foundation.laws import LayerLaw, SeriesLaw, SpringLaw
from pipeline.config.contact_schema import OWN_KEYS

#: Exponents nearer to 1 are not searched: dref has no influence at 1.
_NEAREST = 0.02
#: Values of 1/f below this are f = inf.
_NO_OFFSET = 1e-6

Bounds = tuple[tuple[float, ...], tuple[float, ...]]
Keys = dict[str, float]


@dataclass(frozen=True)
class FreeLaw:
    """A spring law with P free parameters, (P,) [1]."""

    name: str
    #: Starts of the search, (P,) each, and the bounds within which each is improved, (2, P).
    starts: tuple[tuple[tuple[float, ...], Bounds], ...]
    #: Takes parameters (P,) and a typical indentation [mm], returns the keys in a configuration.
    keys: Callable[[FloatArray, float], Keys]


def with_keys(law: SpringLaw, name: str, keys: Keys) -> SpringLaw:
    """Return a law of a name, of one layer or of two, with other values of its own keys."""
    if isinstance(law, SeriesLaw):
        return SeriesLaw(with_keys(law.first, name, keys), with_keys(law.second, name, keys))
    assert isinstance(law, LayerLaw)
    known = OWN_KEYS[name]
    return replace(law, **{known[key][0]: known[key][1] * value for key, value in keys.items()})


def _modified(values: FloatArray, indentation: float) -> Keys:
    """Keys from 1/f, m, and the logarithm of the factor of the pressure at the indentation [mm]."""
    inverse, m, strength = values.tolist()
    return {
        "f": 1.0 / inverse if inverse > _NO_OFFSET else np.inf,
        "m": m,
        "reference_indentation_mm": indentation * float(np.exp(strength / (1.0 - m))),
    }


def _coupled(values: FloatArray, indentation: float) -> Keys:
    """Keys from the logarithms of both factors."""
    del indentation
    modulus, thickness = np.exp(values).tolist()
    return {"modulus_factor": modulus, "thickness_factor": thickness}


_WIDEST = float(np.log(10.0))
_LARGEST_FACTOR = float(np.log(3.0))
FREE_LAWS = {
    law.name: law
    for law in (
        FreeLaw(
            "modified",
            tuple(
                (start, ((0.0, low, -_WIDEST), (0.8, high, _WIDEST)))
                for start, low, high in (
                    ((0.05, 0.9, -0.3), 0.3, 1.0 - _NEAREST),
                    ((0.05, 1.2, -0.3), 1.0 + _NEAREST, 3.0),
                )
            ),
            _modified,
        ),
        FreeLaw(
            "coupled",
            (((0.0, 0.0), ((-_LARGEST_FACTOR,) * 2, (_LARGEST_FACTOR,) * 2)),),
            _coupled,
        ),
    )
}
