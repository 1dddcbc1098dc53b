"""Stages c and g over designs: fits of one surrogate to the samples of many designs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from foundation.base.errors import InputError
from pipeline.config.schema import Config, SurrogateConfig
from pipeline.config.surrogate_schema import AUTO
from pipeline.design_space.drawn_designs import parameters_of, scaled_designs
from pipeline.errors import StageError
from pipeline.execution.backends import Execution
from pipeline.stages.fitting import compartment_samples, family_fitter
from pipeline.store.samples import usable
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.compartment_fit import Fitter
from surrogates.parametric.fit import DesignSamples, fit_parametric
from surrogates.parametric.surrogate import ParametricSurrogate
from surrogates.sampling.space import SampleSpace

#: Fewest samples of a compartment that a design needs to be learnt.
LEAST_SAMPLES = 10
#: Steps of the training of a single network in stage c.
_FIRST_STEPS = 3000


def first_fit(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: SampleSpace,
    execution: Execution,
) -> ParametricSurrogate:
    """Stage c: fit one network to the samples so far."""
    network = config.surrogate.network.model_copy(update={"networks": 1, "steps": _FIRST_STEPS})
    settings = config.surrogate.model_copy(update={"network": network, "family": "network"})
    first = config.model_copy(update={"surrogate": settings})
    return fit_designs(first, designs, training, space, execution)


def fit_designs(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: SampleSpace,
    execution: Execution,
) -> ParametricSurrogate:
    """Stages c and g: fit a surrogate over all designs; raises `StageError` if that fails."""
    names = config.knee.compartments
    jobs = [(config, designs, usable(training, name), space, name) for name in names]
    parts = dict(zip(names, execution.map(_fit_compartment, jobs), strict=True))
    families = sorted({part.regressors[0].family for part in parts.values()})
    header = {"name": config.run.name, "family": " and ".join(families)}
    return ParametricSurrogate(parameters_of(config), parts, header)


def _fit_compartment(
    config: Config, designs: pd.DataFrame, rows: pd.DataFrame, space: SampleSpace, name: str
) -> CompartmentSurrogate:
    """Return the fit of one compartment; a `StageError` names the compartment and the samples."""
    settings = config.surrogate
    try:
        samples = design_samples(config, designs, rows)
        fitter = designs_fitter(settings, config.run.seed)
        return fit_parametric(
            settings.formulation, space, samples, fitter, settings.load_degree
        ).surrogate
    except (InputError, np.linalg.LinAlgError) as error:
        raise StageError(
            f"fitting {settings.formulation}, {name}, to {len(rows)} samples with an answer within "
            f"[feasibility]: {error}"
        ) from error


def design_samples(
    config: Config, designs: pd.DataFrame, rows: pd.DataFrame
) -> list[DesignSamples]:
    """Return the samples of one compartment by design, without designs of too few samples."""
    z = dict(zip(designs["design"], scaled_designs(config, designs), strict=True))
    return [
        DesignSamples(z[number], compartment_samples(own))
        for number, own in rows.groupby("design", sort=True)
        if len(own) >= LEAST_SAMPLES
    ]


def designs_fitter(settings: SurrogateConfig, seed: int) -> Fitter:
    """Return how regressors over designs are fitted: by default, networks on a cubic.

    Splines beside networks do not pay over designs: kinks do not lie at constant values.
    """
    if settings.family not in (AUTO, "network"):
        return family_fitter(settings, settings.family, seed)
    alike = family_fitter(settings, "network", seed)
    chosen = NetworkSettings(**settings.network.model_dump(), terms=0)
    return alike._replace(
        fit=lambda x, y, w: fit_network(x, y, chosen, np.random.default_rng(seed), w)
    )
