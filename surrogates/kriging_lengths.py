"""Correlation lengths of Kriging by maximum likelihood: the one place where Kriging uses SMT."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass

import numpy as np

from foundation.checks import check_in, check_number
from surrogates.kriging_algebra import CORRELATIONS, TRENDS
from surrogates.training import FloatArray

# In standardised inputs; measured on smooth functions of six inputs, where from 0.05 or 0.3 SMT's
# search ends within a few per cent of the same likelihood
_START = {"squar_exp": 0.05, "matern52": 0.1, "matern32": 0.1}
_BOUNDS = (1e-4, 10.0)
_NOISE_BOUNDS = (1e-12, 1.0)


@dataclass(frozen=True)
class KrigingSettings:
    """How to fit a Kriging model.

    Attributes
    ----------
    correlation : {"squar_exp", "matern52", "matern32"}
    trend : {"constant", "linear", "quadratic"}
    nugget : float
        Added to the diagonal of the correlation matrix, in units of the process variance; the
        least value if the matrix cannot be factorised: it is then raised tenfold, up to 1e-6, and
        the model's `nugget` says what was used. Exactly 0 is never raised.
    estimate_noise : bool
        Whether to estimate the noise with the lengths; `nugget` is then its lower bound.
    n_start : int
        SMT's: above 1, so many further starting points of the search for the lengths, beside the
        two that it always uses.
    likelihood_points : int
        The lengths are sought on at most that many samples, drawn at random.
    """

    correlation: str = "matern52"
    trend: str = "linear"
    nugget: float = 1e-10
    estimate_noise: bool = False
    n_start: int = 1
    likelihood_points: int = 400

    def __post_init__(self) -> None:
        check_in("correlation", self.correlation, CORRELATIONS)
        check_in("trend", self.trend, TRENDS)
        check_number("nugget", self.nugget, at_least=0.0)
        check_number("n_start", self.n_start, at_least=1)
        check_number("likelihood_points", self.likelihood_points, at_least=10)


def optimal_lengths(
    points: FloatArray, outputs: FloatArray, settings: KrigingSettings, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return theta (d,) of the standardised inputs, and the nugget to use with it.

    SMT's Cobyla search over log theta (shared by all outputs) on at most
    `settings.likelihood_points` rows; TNC does not take several outputs (SMT 2.15).

    Parameters
    ----------
    points : (n, d) float64
        Standardised inputs.
    outputs : (n, k) float64
        Standardised outputs.

    Raises
    ------
    ValueError
        If no correlation matrix on the way could be factorised.
    """
    count = min(len(points), int(settings.likelihood_points))
    rows = np.sort(rng.choice(len(points), count, replace=False))
    inputs, values = points[rows], outputs[rows]
    values = values[:, np.ptp(values, axis=0) > 1e-12]
    power = 2.0 if settings.correlation == "squar_exp" else 1.0
    if values.shape[1] == 0:  # every output is constant; any length will do
        return np.full(points.shape[1], _START[settings.correlation]), settings.nugget
    theta, noise = _search(inputs, values, settings, int(rng.integers(2**31)))
    # SMT standardises the rows it was given once more
    spread = inputs.std(axis=0, ddof=1)
    spread[spread == 0.0] = 1.0
    return theta / spread**power, max(settings.nugget, noise)


def _search(
    inputs: FloatArray, values: FloatArray, settings: KrigingSettings, seed: int
) -> tuple[FloatArray, float]:
    from smt.surrogate_models import KRG

    model = KRG(
        corr=settings.correlation,
        poly=settings.trend,
        theta0=[_START[settings.correlation]],
        theta_bounds=list(_BOUNDS),
        nugget=float(max(settings.nugget, 1e-12)),
        eval_noise=settings.estimate_noise,
        noise0=[1e-6] if settings.estimate_noise else [0.0],
        noise_bounds=list(_NOISE_BOUNDS),
        hyper_opt="Cobyla",
        n_start=int(settings.n_start),
        print_global=False,
        seed=seed,
    )
    # SMT warns of several outputs (intended here) and prints matrices it cannot factorise
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        model.set_training_values(inputs, values)
        with contextlib.redirect_stderr(io.StringIO()):
            model.train()
    theta = np.asarray(model.optimal_theta, dtype=np.float64).ravel()
    if theta.size != inputs.shape[1] or not np.isfinite(theta).all():
        raise ValueError(
            f"X, Y: expected data with a finite likelihood, found none with nugget "
            f"{settings.nugget:g}; set a larger nugget, a simpler trend or a rougher correlation"
        )
    noise = float(np.max(model.optimal_noise)) if settings.estimate_noise else 0.0
    return theta, noise
