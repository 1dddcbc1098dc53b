"""Correlation lengths from SMT (Cobyla) and scikit-learn (L-BFGS-B), for comparison."""
# scikit-learn does not fit a trend, so that a linear trend is subtracted first, and its Matern
# correlation is a function of the Euclidean distance rather than a product over the inputs.

from __future__ import annotations

import contextlib
import io
import threading
import warnings

import numpy as np

from foundation.base.checks import FloatArray
from surrogates.families.basis import basis_matrix
from surrogates.families.kriging_likelihood import LENGTH_BOUNDS, Parameters
from surrogates.families.training import polynomial_exponents

SEARCHES = ("likelihood", "smt", "scikit-learn")
_SMT_NAMES = {"squared_exponential": "squar_exp", "matern52": "matern52", "matern32": "matern32"}
_MATERN_ORDERS = {"matern52": 2.5, "matern32": 1.5}


def other_search(
    search: str,
    correlation: str,
    z: FloatArray,
    y: FloatArray,
    nugget: tuple[float, float],
    rng: np.random.Generator,
) -> Parameters:
    """Return a package's lengths and nugget for scaled inputs (n, d) and outputs (n, k) [1]."""
    find = _smt if search == "smt" else _scikit_learn
    seed = int(rng.integers(2**31))
    with _ONE_SEARCH, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lengths, estimate = find(correlation, z, y, nugget, seed)
    shear = np.zeros(z.shape[1])
    return Parameters(np.clip(lengths, *LENGTH_BOUNDS), float(np.clip(estimate, *nugget)), shear)


#: Output and warnings are caught, which only one thread at a time can do.
_ONE_SEARCH = threading.Lock()


def _smt(
    correlation: str, z: FloatArray, y: FloatArray, nugget: tuple[float, float], seed: int
) -> tuple[FloatArray, float]:
    from smt.surrogate_models import KRG

    model = KRG(
        corr=_SMT_NAMES[correlation], poly="linear", theta0=[0.05], theta_bounds=[1e-5, 10.0],
        nugget=nugget[0], eval_noise=True, noise0=[float(np.clip(1e-9, *nugget))],
        noise_bounds=list(nugget), hyper_opt="Cobyla", n_start=1, print_global=False, seed=seed,
    )  # fmt: skip
    silent = io.StringIO()  # SMT prints matrices that it cannot factorise
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        model.set_training_values(z, y)
        model.train()
    theta = np.asarray(model.optimal_theta, dtype=np.float64).ravel()
    spread = z.std(axis=0, ddof=1)  # SMT standardises its inputs
    spread[spread == 0.0] = 1.0
    relative = np.sqrt(0.5 / theta) if correlation == "squared_exponential" else 1.0 / theta
    return relative * spread, float(np.max(model.optimal_noise))


def _scikit_learn(
    correlation: str, z: FloatArray, y: FloatArray, nugget: tuple[float, float], seed: int
) -> tuple[FloatArray, float]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    lengths = np.full(z.shape[1], 2.0)
    shape: RBF | Matern
    if correlation == "squared_exponential":
        shape = RBF(lengths, LENGTH_BOUNDS)
    else:
        shape = Matern(lengths, LENGTH_BOUNDS, nu=_MATERN_ORDERS[correlation])
    trend = basis_matrix(z, polynomial_exponents(z.shape[1], 1))
    rest = y - trend @ np.linalg.lstsq(trend, y, rcond=None)[0]
    rest = rest / np.maximum(rest.std(axis=0), 1e-12)
    kernel = ConstantKernel(1.0, (1e-3, 1e8)) * shape + WhiteKernel(1e-6, (1e-15, 1e-1))
    model = GaussianProcessRegressor(kernel, alpha=nugget[0], random_state=seed).fit(z, rest)
    product, noise = model.kernel_.k1, model.kernel_.k2.noise_level
    return np.asarray(product.k2.length_scale), float(noise / product.k1.constant_value)
