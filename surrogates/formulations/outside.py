"""Poses outside the trained domain of a surrogate: their treatments and flags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.compiled.knee import TOLERANCE
from surrogates.formulations.domain import Domain
from surrogates.sampling.space import VARIABLES, SampleSpace

#: Treatments of a pose outside the trained domain. The loads are those of the nearest pose of the
#: domain and carry flags: "clamp" does no more, "warning" warns, "error" raises.
OUTSIDE = ("clamp", "warning", "error")


class OutsideDomainError(InputError):
    """A pose is outside the trained domain; the message names the coordinate and the distance."""


class OutsideDomainWarning(UserWarning):
    """A pose is outside the trained domain and was held at the border."""


def beyond(variables: ArrayLike) -> NDArray[np.bool_]:
    """Return which scaled variables (N, ...) [1], or extrapolations, are outside the domain.

    As `surrogates.compiled.knee.is_outside`, elementwise.
    """
    # written so that NaN counts as outside
    return ~(np.abs(variables) <= 1.0 + TOLERANCE)


def compartment_flags(
    name: str, space: SampleSpace, domain: Domain, x: FloatArray, loads: FloatArray
) -> list[str]:
    """Return messages that state how a pose leaves the trained domain of a compartment.

    From the scaled variables and extrapolation x (7,) [1] and the loads (12,) [SI].
    """
    return [
        f"{name}: outside the trained domain, {text}" for text in _excesses(space, domain, x, loads)
    ]


def treat(flags: Sequence[str], outside: str, calls: int = 1) -> None:
    """Warn of flags, or raise `OutsideDomainError`, as a treatment of `OUTSIDE` demands.

    `calls` is the number of calls between the user's line, which a warning names, and this
    function.
    """
    if not flags:
        return
    if outside == "error":
        raise OutsideDomainError("pose: " + "; ".join(flags))
    if outside == "warning":
        warnings.warn("; ".join(flags), OutsideDomainWarning, stacklevel=2 + calls)


def _excesses(space: SampleSpace, domain: Domain, x: FloatArray, loads: FloatArray) -> list[str]:
    centre, half = space.centre_and_half
    texts = []
    for k in np.flatnonzero(beyond(x[:6])):
        if VARIABLES[k] == "root_load":
            load = (centre[k] + half[k] * x[k]) ** 2
            texts.append(f"axial load of {load:.0f} N, {load - space.load[1]:.0f} N beyond")
        else:
            factor, unit = (180.0 / np.pi, "deg") if k < 3 else (1e3, "mm")
            excess = (abs(x[k]) - 1.0) * half[k] * factor
            texts.append(f"{VARIABLES[k]} by {excess:.3g} {unit} beyond")
    if beyond(x[6]):
        texts.append(domain.reason(x, loads))
    return texts
