"""Where the surrogates of a run can be trusted: samples of the whole box, and what they tell.

Stage e keeps the samples of the fits to what gait can produce. Samples that the fits have not seen,
feasible or not, tell where the surrogates hold in the rest of the box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from pipeline import stages
from pipeline.config.schema import FeasibilityConfig
from pipeline.originals.protocol import OriginalModel
from pipeline.stages.adaptive_sampling import Sampled
from pipeline.stages.run_folder import Run
from pipeline.store.samples import OK, loads_of, poses_of, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import NO_LIMIT, Domain
from surrogates.formulations.domain_fit import DomainSamples, SeenSamples, fit_domain
from surrogates.sampling.space import SampleSpace

#: Samples along gait that tell the loads there, over the samples of the whole box [1].
_ALONG = 0.25


def learn_domains(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    trained: Sequence[stages.TrainedKnee],
    sampled: Sampled,
) -> list[stages.TrainedKnee]:
    """Return trained knees that know where in the box they can be trusted.

    The table "domain" of the run keeps the samples. A table original has none beside those that the
    fits have seen: these tell where there are samples, but not the errors.
    """
    known = original.model is None
    samples = sampled.evaluated if known else domain_samples(run, original, space, sampled)
    feasibility = run.config.feasibility
    names = run.config.knee.compartments
    along = {name: _along(sampled.along, usable(samples, name), name) for name in names}
    jobs = [
        (fitted.knee.compartment(name), usable(samples, name), feasibility, known, along[name])
        for fitted in trained
        for name in names
    ]
    found, count = run.execution.map(learn_domain, jobs), len(names)
    return [
        fitted._replace(knee=with_domains(fitted.knee, *found[count * k : count * (k + 1)]))
        for k, fitted in enumerate(trained)
    ]


def domain_samples(
    run: Run, original: OriginalModel, space: SampleSpace, sampled: Sampled
) -> pd.DataFrame:
    """Return samples of the whole box that no surrogate is fitted to, `design.domain_samples`."""

    def evaluated() -> pd.DataFrame:
        design, seed = run.config.design, run.config.run.seed
        if not design.domain_samples:
            return sampled.candidates.head(0).assign(status=OK)
        drawn = stages.domain_candidates(space, design, seed, run.config.knee.compartments)
        return run.evaluate(drawn, original.evaluation())

    return run.table("domain", evaluated)


def _along(along: pd.DataFrame, rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return samples along gait of a compartment, few beside its samples `rows` of the box."""
    # They are in random order.
    return along[along["compartment"] == name].head(round(_ALONG * len(rows)))


def limits_of(feasibility: FeasibilityConfig) -> FloatArray:
    """Return the bounds (3,) of AP and ML force over axial load and of the peak pressure [Pa]."""
    bounds = feasibility.ap_ratio, feasibility.ml_ratio, 1e6 * feasibility.peak_pressure_MPa
    return np.minimum(bounds, NO_LIMIT)


def learn_domain(
    surrogate: CompartmentSurrogate,
    rows: pd.DataFrame,
    feasibility: FeasibilityConfig,
    known: bool = False,
    along: pd.DataFrame | None = None,
) -> Domain:
    """Return where a surrogate can be trusted, from evaluated samples of its compartment.

    `rows` are samples that the original model answered, `known` whether the surrogate was fitted to
    these samples; `along` are samples along gait that the surrogate was fitted to.
    """
    limits, margin = limits_of(feasibility), feasibility.margin
    if rows.empty:
        return Domain.within((1.0 + 0.5 * margin) * limits)
    loads = loads_of(rows)
    feasible = stages.infeasibility(loads, feasibility, 0.0) == ""
    seen = None if along is None else SeenSamples(poses_of(along), loads_of(along))
    samples = DomainSamples(poses_of(rows), loads, feasible, known, seen)
    return fit_domain(surrogate, samples, limits, margin)


def with_domains(knee: ContactSurrogate, *domains: Domain) -> ContactSurrogate:
    """Return a knee with other domains, one for each of its compartments."""
    return knee.with_domains(domains)
