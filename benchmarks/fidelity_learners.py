"""Surrogates of one compartment from few samples of finite elements and many of springs.

The formulation is the inverted one (docs/theory.md): u, s -> height, ratios and quantities. At the
same u and load F, finite elements and springs differ in the height and, less, in the other outputs.
A difference is learnt by Kriging from few samples of finite elements and added to the springs, or
to a network that has learnt the springs from many samples. Network and Kriging are features of one
regressor, so that their sum is an ordinary surrogate of the project.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from pipeline.config.schema import SurrogateConfig
from pipeline.stages.fitting import family_fitter
from surrogates import CompartmentSurrogate, SampleSpace
from surrogates.families.basis import basis_matrix
from surrogates.families.cross_validation import Fitted
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.families.regressor import Regressor, linear_in
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.lessons import Samples, quantities_of, ratios_of

#: Outputs that a regressor of Kriging learns together: height, ratios, quantities.
_GROUPS = (slice(0, 1), slice(1, 6), slice(6, 12))
#: Outputs that are multiplied by a factor before the difference is learnt: area, pressures.
_FACTORED = slice(6, 9)


class Level(NamedTuple):
    """Samples of one contact model: poses (N, 6) [rad, m] and loads (N, 12) [SI]."""

    poses: FloatArray
    loads: FloatArray

    def rows(self, chosen: object) -> Level:
        """Return some of the samples."""
        return Level(self.poses[chosen], self.loads[chosen])


class Pair(NamedTuple):
    """Samples of finite elements, and of springs at the same poses and axial loads."""

    fine: Level
    coarse: Level

    def rows(self, chosen: object) -> Pair:
        """Return some of the samples."""
        return Pair(self.fine.rows(chosen), self.coarse.rows(chosen))


@dataclass(frozen=True, eq=False)
class Learnt:
    """A surrogate of one compartment; with `factors` (12,) [1], of the difference from springs."""

    surrogate: CompartmentSurrogate
    factors: FloatArray | None = None

    def outputs(self, pair: Pair) -> FloatArray:
        """Return the predicted outputs (N, 12) at the poses and axial loads of samples."""
        found = predicted(self.surrogate, pair.fine)
        if self.factors is not None:
            found += self.factors * outputs_of(self.surrogate, pair.coarse)
        return found


def fit_alone(
    space: SampleSpace, level: Level, settings: SurrogateConfig, family: str, seed: int
) -> Learnt:
    """Return the inverted formulation fitted by a family, as a run fits it.

    But networks without splines beside them, which `merged` cannot add to Kriging.
    """
    samples = Samples(level.poses, level.loads)
    fitter = family_fitter(settings, family, seed)
    if family == "network":
        plain = NetworkSettings(**settings.network.model_dump(), terms=0)
        fitter = fitter._replace(fit=_network_fit(plain, seed))
    return Learnt(
        fit_compartment("inverted", space, samples, fitter, settings.load_degree).surrogate
    )


def _network_fit(settings: NetworkSettings, seed: int) -> Callable[..., Fitted]:
    def fit(inputs: FloatArray, outputs: FloatArray, weights: FloatArray | None) -> Fitted:
        return fit_network(inputs, outputs, settings, np.random.default_rng(seed), weights)

    return fit


def fit_on_springs(base: CompartmentSurrogate, pair: Pair, fitter: Fitter) -> Learnt:
    """Return the difference of finite elements from the springs themselves.

    `base`, a surrogate of the springs, gives the coordinates alone.
    """
    truth, below = outputs_of(base, pair.fine), outputs_of(base, pair.coarse)
    factors = _factors(truth, below)
    parts = _parts(base, pair, fitter, truth - factors * below)
    return Learnt(_with_parts(base, parts), factors)


def fit_on_surrogate(base: CompartmentSurrogate, pair: Pair, fitter: Fitter) -> Learnt:
    """Return the sum of a springs' network and of the difference of finite elements from it."""
    truth, below = outputs_of(base, pair.fine), predicted(base, pair.fine)
    factors = _factors(truth, below)
    parts = _parts(base, pair, fitter, truth - factors * below)
    network = base.regressors[0]
    sums = [
        merged(_outputs(network, group), part, factors[group])
        for group, part in zip(_GROUPS, parts, strict=True)
    ]
    return Learnt(_with_parts(base, sums))


def _parts(
    base: CompartmentSurrogate, pair: Pair, fitter: Fitter, values: FloatArray
) -> list[Regressor]:
    x = base.inputs_at_load(pair.fine.poses, pair.fine.loads[:, 1])
    return [fitter.fit(x, values[:, group], None).regressor for group in _GROUPS]


def _with_parts(base: CompartmentSurrogate, parts: list[Regressor]) -> CompartmentSurrogate:
    return replace(base, regressors=tuple(parts))


def predicted(surrogate: CompartmentSurrogate, level: Level) -> FloatArray:
    """Return the outputs (N, 12) that a surrogate predicts at poses and axial loads."""
    x = surrogate.inputs_at_load(level.poses, level.loads[:, 1])
    return np.column_stack([part.predict(x) for part in surrogate.regressors])


def outputs_of(surrogate: CompartmentSurrogate, level: Level) -> FloatArray:
    """Return the outputs (N, 12) that the inverted formulation learns from samples."""
    coordinates, loads = surrogate.coordinates, level.loads
    _, height, points = coordinates.variables(level.poses)
    root = (loads[:, 1] / surrogate.largest) ** (1.0 / surrogate.degree)
    quantities = quantities_of(coordinates, loads, points, root, surrogate.degree)
    return np.column_stack([height, ratios_of(coordinates, loads, points), quantities])


def _factors(truth: FloatArray, below: FloatArray) -> FloatArray:
    """Return the factors (12,) on the springs' outputs: of least squares for area and pressures."""
    factors = np.ones(truth.shape[1])
    chosen = below[:, _FACTORED]
    factors[_FACTORED] = (truth[:, _FACTORED] * chosen).sum(axis=0) / (chosen**2).sum(axis=0)
    return factors


def merged(network: Regressor, kriging: Regressor, factors: FloatArray) -> Regressor:
    """Return `factors` times a network plus Kriging of a lower degree, as one regressor."""
    scale = kriging.x_scale / network.x_scale
    shift = (kriging.x_offset - network.x_offset) / network.x_scale
    count = len(network.exponents)
    own, other = (part.weights * part.y_scale[:, None] for part in (network, kriging))
    own *= factors[:, None]
    terms = own[:, :count] + _terms_in(network, kriging, other, scale, shift)
    terms[:, 0] += factors * network.y_offset + kriging.y_offset
    k, points = len(factors), other[:, len(kriging.exponents) :]
    return linear_in(
        "kriging", (network.x_offset, network.x_scale, np.zeros(k), np.ones(k)), network.exponents,
        np.concatenate([terms, points, own[:, count:]], axis=1),
        points=shift + scale * kriging.points, lengths=scale * kriging.lengths,
        shear=kriging.shear * scale[0] / scale, kinds=kriging.kinds, nugget=kriging.nugget,
        variance=kriging.variance, inner=network.inner, inner_bias=network.inner_bias,
        hidden=network.hidden, hidden_bias=network.hidden_bias,
    )  # fmt: skip


def _terms_in(
    network: Regressor, kriging: Regressor, weights: FloatArray, scale: FloatArray,
    shift: FloatArray,
) -> FloatArray:  # fmt: skip
    """Return the trend of Kriging in the scaled inputs and the terms of a network, (k, T)."""
    z = np.random.default_rng(0).uniform(-1.0, 1.0, (4 * len(network.exponents), len(scale)))
    values = basis_matrix((z - shift) / scale, kriging.exponents)
    values = values @ weights[:, : len(kriging.exponents)].T
    return np.linalg.lstsq(basis_matrix(z, network.exponents), values, rcond=None)[0].T


def _outputs(regressor: Regressor, chosen: slice) -> Regressor:
    """Return a regressor of some of the outputs."""
    return replace(
        regressor, y_offset=regressor.y_offset[chosen], y_scale=regressor.y_scale[chosen],
        weights=regressor.weights[chosen], variance=regressor.variance[chosen],
        spread=np.empty((len(regressor.y_offset[chosen]), 0)),
    )  # fmt: skip
