"""The families of regressors by name: settings and fit of each.

The modules that fit, and the packages these need, are imported when a family is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import check_in
from foundation.errors import InputError
from surrogates.families.cross_validation import CrossCheck, Fitted

__all__ = ["FAMILIES", "CrossCheck", "Family", "Fitted", "fit_family"]


class Family(NamedTuple):
    """Where a family is fitted.

    Attributes
    ----------
    module : str
        Name of the module in this package.
    settings_name, fit_name : str
        Names of the settings' class and of the function that fits.
    weighted : bool
        Whether the fit can weigh the samples.
    """

    module: str
    settings_name: str
    fit_name: str
    weighted: bool

    @property
    def settings(self) -> Callable[..., Any]:
        """The class of the settings, which has a default for each of them."""
        return getattr(import_module(f"surrogates.families.{self.module}"), self.settings_name)

    @property
    def fit(self) -> Callable[..., Fitted]:
        """The function `fit(X, Y, settings, rng)`; with `weights` if the family is `weighted`."""
        return getattr(import_module(f"surrogates.families.{self.module}"), self.fit_name)


FAMILIES = {
    "kriging": Family("kriging", "KrigingSettings", "fit_kriging", False),
    "polynomial": Family("polynomial", "PolynomialSettings", "fit_polynomial", True),
    "poly_fourier": Family("polynomial", "PolyFourierSettings", "fit_polynomial", True),
    "network": Family("network", "NetworkSettings", "fit_network", True),
}


def fit_family(
    name: str,
    X: ArrayLike,
    Y: ArrayLike,
    settings: Any = None,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Fitted:
    """Fit a family to outputs Y (N, k) at inputs X (N, d).

    Parameters
    ----------
    name : str
        One of `FAMILIES`.
    X : (N, d) array_like
    Y : (N, k) array_like
    settings : optional
        Of the family's class; its defaults if left out.
    rng : numpy.random.Generator, optional
        Draws all that is random in the fit; of seed 0 if left out.
    weights : (N,) array_like, optional
        Weights of the samples, above 0.

    Raises
    ------
    InputError
        If the name is unknown, the settings are of another family, the family cannot weigh samples,
        or the data do not allow a fit.
    """
    family = FAMILIES[check_in("name", name, FAMILIES)]
    expected = family.settings
    chosen = expected() if settings is None else settings
    if type(chosen) is not expected:
        raise InputError(
            f"settings: expected {family.settings_name} for {name!r}, found {type(chosen).__name__}"
        )
    draw = rng or np.random.default_rng(0)
    if weights is None:
        return family.fit(X, Y, chosen, draw)
    if not family.weighted:
        raise InputError(f"weights: expected none for {name!r}, which trusts all samples alike")
    return family.fit(X, Y, chosen, draw, weights)
