"""The face that every regressor family shares, and the registry of families by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import check_in
from surrogates.kriging import Kriging, KrigingSettings, fit_kriging
from surrogates.response_surface import (
    ResponseSurface,
    ResponseSurfaceSettings,
    fit_response_surface,
)

FloatArray = NDArray[np.float64]


@runtime_checkable
class Regressor(Protocol):
    """A fitted function of d inputs and k outputs; a value over plain arrays."""

    family: str

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the outputs (N, k) at inputs X (N, d)."""

    def predict_with_jacobian(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the outputs (k,) and their derivatives (k, d) at one input x (d,)."""

    def standard_error(self, X: ArrayLike) -> FloatArray:
        """Return the predicted standard error (N, k) of the outputs at X (N, d)."""

    def leave_one_out(self) -> FloatArray:
        """Return observed minus predicted without that row, (N, k), at the training rows."""

    def kernel_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of `kernels.evaluate` between x and value."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays, with its family's name under "family"."""


Settings = KrigingSettings | ResponseSurfaceSettings


@dataclass(frozen=True)
class Family:
    """What the registry knows of a family: its settings, how to fit it and how to load it."""

    settings: type[Settings]
    fit: Callable[..., Regressor]
    from_arrays: Callable[[Mapping[str, ArrayLike]], Regressor]


FAMILIES: Mapping[str, Family] = {
    "kriging": Family(KrigingSettings, fit_kriging, Kriging.from_arrays),
    "response_surface": Family(
        ResponseSurfaceSettings, fit_response_surface, ResponseSurface.from_arrays
    ),
}


def fit_regressor(
    family: str,
    X: ArrayLike,
    Y: ArrayLike,
    settings: Settings | None = None,
    rng: np.random.Generator | None = None,
) -> Regressor:
    """Fit a regressor of the named family to outputs Y (N, k) at inputs X (N, d).

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    X : (N, d) array_like
    Y : (N, k) array_like
    settings : KrigingSettings or ResponseSurfaceSettings, optional
        The family's settings; its defaults if left out.
    rng : numpy.random.Generator, optional
        Needed by families whose fit draws random numbers (Kriging).

    Raises
    ------
    ValueError
        If the family is unknown, the settings are another family's, or the fit refuses the data.
    """
    found = FAMILIES[check_in("family", family, FAMILIES)]
    if settings is not None and not isinstance(settings, found.settings):
        raise ValueError(
            f"settings: expected {found.settings.__name__} for family {family!r}, "
            f"found {type(settings).__name__}"
        )
    return found.fit(X, Y, settings, rng)


def regressor_from_arrays(arrays: Mapping[str, ArrayLike]) -> Regressor:
    """Return the regressor that some regressor's `to_arrays` described.

    Raises
    ------
    ValueError
        If the family is missing or unknown, or its arrays are incomplete or malformed.
    """
    if "family" not in arrays:
        raise ValueError("arrays: expected the name of a family under 'family', found none")
    family = check_in("family", str(np.asarray(arrays["family"])), FAMILIES)
    return FAMILIES[family].from_arrays(arrays)
