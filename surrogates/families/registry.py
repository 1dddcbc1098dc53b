"""Families of regressors by name; a family's packages are imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import check_in
from foundation.base.errors import InputError

if TYPE_CHECKING:  # which needs the names of the families
    from surrogates.families.cross_validation import Fitted


class Family(NamedTuple):
    """Location of a family's settings and fit."""

    module: str
    #: Section of its settings in `[surrogate]` of a configuration; "" for none.
    section: str
    settings_name: str
    fit_name: str
    #: Whether the fit accepts sample weights.
    weighted: bool
    #: Whether one regressor takes all outputs of a surrogate, and many samples pay.
    joint: bool = False

    @property
    def settings(self) -> Callable[..., Any]:
        """Class of the settings, with a default for each setting."""
        return getattr(import_module(f"surrogates.families.{self.module}"), self.settings_name)

    @property
    def fit(self) -> Callable[..., Fitted]:
        """Function `fit(X, Y, settings, rng)`; with `weights` if the family is `weighted`."""
        return getattr(import_module(f"surrogates.families.{self.module}"), self.fit_name)


FAMILIES = {
    "kriging": Family("kriging", "kriging", "KrigingSettings", "fit_kriging", False),
    "polynomial": Family("polynomial", "polynomial", "PolynomialSettings", "fit_polynomial", True),
    "poly_fourier": Family(
        "polynomial", "polynomial", "PolyFourierSettings", "fit_polynomial", True
    ),
    "network": Family("network", "network", "NetworkSettings", "fit_network", True, True),
    "spline": Family("spline", "spline", "SplineSettings", "fit_spline", True, True),
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
        Inputs [input units].
    Y : (N, k) array_like
        Outputs [output units].
    settings : optional
        Settings of the family's class; by default the defaults of the class.
    rng : numpy.random.Generator, optional
        Random generator of the fit; by default with seed 0.
    weights : (N,) array_like, optional
        Weights of the samples, above 0 [1]; of networks, also (N, k): weights of each output.

    Raises
    ------
    InputError
        If the name is unknown, the settings are of another family, the family does not accept
        weights, or the data do not allow a fit.
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
        raise InputError(f"weights: expected none for {name!r}, which does not accept weights")
    return family.fit(X, Y, chosen, draw, weights)
