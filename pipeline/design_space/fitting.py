"""Stages c and g over designs: fits of one surrogate to the samples of many designs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.schema import Config, SurrogateConfig
from pipeline.config.surrogate_schema import AUTO
from pipeline.design_space.drawn_designs import parameters_of
from pipeline.errors import StageError
from pipeline.execution.backends import Execution
from pipeline.stages.fitting import compartment_samples, family_fitter
from pipeline.store.samples import usable
from surrogates.core.regressor_data import RegressorData
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.formulations.compartment_fit import Fitter
from surrogates.parametric.compartment import ParametricSpace, with_parameters
from surrogates.parametric.fit import DesignSamples, ParametricTrained, fit_parametric
from surrogates.parametric.surrogate import ParametricSurrogate
from surrogates.sampling.designs import unit_design

#: Fewest samples of a compartment that a design needs to be learnt.
LEAST_SAMPLES = 10
#: Steps of the training of a single network in stage c.
_FIRST_STEPS = 3000
#: Inputs at which the predicted error of a design is taken.
_INPUTS = 256


@dataclass(frozen=True, eq=False)
class FirstFit:
    """Surrogates of stage c by compartment."""

    parts: Mapping[str, ParametricTrained]

    def height_error(self, z: FloatArray) -> float:
        """Return the predicted RMS error of the height [m] of a design z (P,) [1]."""
        box = 2.0 * unit_design("sobol", _INPUTS, 6, np.random.default_rng(0)) - 1.0
        errors = [
            each.surrogate.regressors[0].standard_error(with_parameters(box, z))[:, 0]
            for each in self.parts.values()
        ]
        return float(np.sqrt(np.mean(np.square(errors))))


@dataclass(frozen=True, eq=False)
class FittedDesigns:
    """The surrogate of stage g, its residuals out of sample, and the time of its fits [s]."""

    knee: ParametricSurrogate
    parts: Mapping[str, ParametricTrained]
    seconds: float


def first_fit(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: ParametricSpace,
    execution: Execution,
) -> FirstFit:
    """Stage c: fit one network to the samples so far."""
    network = config.surrogate.network.model_copy(update={"networks": 1, "steps": _FIRST_STEPS})
    settings = config.surrogate.model_copy(update={"network": network, "family": "network"})
    return FirstFit(_fits(config, settings, designs, training, space, execution))


def fit_designs(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: ParametricSpace,
    execution: Execution,
) -> FittedDesigns:
    """Stage g: fit the surrogate over all designs.

    Raises `StageError` if a compartment has no usable samples or cannot be fitted.
    """
    start = time.perf_counter()
    parts = _fits(config, config.surrogate, designs, training, space, execution)
    seconds = time.perf_counter() - start
    families = {_family(each.surrogate.regressors[0]) for each in parts.values()}
    header: dict[str, Any] = {"name": config.run.name, "family": " and ".join(sorted(families))}
    knee = ParametricSurrogate(
        parameters_of(config), {name: each.surrogate for name, each in parts.items()}, header
    )
    return FittedDesigns(knee, parts, seconds)


def _family(regressor: RegressorData) -> str:
    return regressor.family


def _fits(
    config: Config,
    settings: SurrogateConfig,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: ParametricSpace,
    execution: Execution,
) -> dict[str, ParametricTrained]:
    names = config.knee.compartments
    jobs = [(config, settings, designs, usable(training, name), space, name) for name in names]
    return dict(zip(names, execution.map(_fit_compartment, jobs), strict=True))


def _fit_compartment(
    config: Config,
    settings: SurrogateConfig,
    designs: pd.DataFrame,
    rows: pd.DataFrame,
    space: ParametricSpace,
    name: str,
) -> ParametricTrained:
    """Return the fit of one compartment.

    Raises `StageError`, which names the compartment and the samples, if the fit is not possible.
    """
    try:
        samples = design_samples(config, designs, rows)
        fitter = designs_fitter(settings, config.run.seed)
        return fit_parametric(settings.formulation, space, samples, fitter, settings.load_degree)
    except (InputError, np.linalg.LinAlgError) as error:
        raise StageError(
            f"fitting {settings.formulation}, {name}, to {len(rows)} samples with an answer within "
            f"[feasibility]: {error}"
        ) from error


def design_samples(
    config: Config, designs: pd.DataFrame, rows: pd.DataFrame
) -> list[DesignSamples]:
    """Return the samples of one compartment by design, without designs of too few samples."""
    parameters = parameters_of(config)
    values = designs.set_index("design")[list(parameters.names)]
    return [
        DesignSamples(
            parameters.scaled_row(values.loc[number].to_numpy(float)), compartment_samples(own)
        )
        for number, own in rows.groupby("design", sort=True)
        if len(own) >= LEAST_SAMPLES
    ]


def designs_fitter(settings: SurrogateConfig, seed: int) -> Fitter:
    """Return how the regressors over designs are fitted: by default, networks on a cubic.

    Splines beside networks do not pay over designs: the kinks of arcs of several radii do not lie
    at constant values of a sheared flexion.
    """
    if settings.family not in (AUTO, "network"):
        return family_fitter(settings, settings.family, seed)
    alike = family_fitter(settings, "network", seed)
    chosen = NetworkSettings(**settings.network.model_dump(), terms=0)
    return alike._replace(
        fit=lambda x, y, w: fit_network(x, y, chosen, np.random.default_rng(seed), w)
    )
