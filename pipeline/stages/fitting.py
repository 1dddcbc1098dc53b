"""Stages c, e and g of Lin et al. (2010): fits of surrogates, and bounds of the loads of gait."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AP_FORCE, AXIAL_FORCE, COMPARTMENTS, ML_FORCE, PEAK_PRESSURE
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config, FeasibilityConfig, SurrogateConfig
from pipeline.config.stage_schema import AUTO
from pipeline.errors import StageError
from pipeline.execution import IN_THIS_PROCESS, Execution
from pipeline.simulation import GaitSimulation
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.families.cross_validation import CrossCheck, Fitted
from surrogates.families.registry import FAMILIES, fit_family
from surrogates.families.spline import SplineSettings
from surrogates.formulations.compartment_fit import Fitter, Trained, fit_compartment
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import (
    MOST_FOR_KRIGING,
    Drawn,
    Fitters,
    Selected,
    fit_cheapest,
)
from surrogates.formulations.training_data import Samples
from surrogates.sampling.space import ReferencePath, SampleSpace


def infeasibility(
    loads: FloatArray,
    feasibility: FeasibilityConfig,
    margin: float,
    errors: FloatArray | None = None,
) -> NDArray[np.object_]:
    """Return why loads (N, 12) [SI] are infeasible, (N,) str; "" for feasible loads.

    With standard errors (N, 12), a load must exceed a bound by `doubt` standard errors.
    """
    axial = loads[:, AXIAL_FORCE]
    error = np.zeros_like(loads) if errors is None else errors
    ap, ml = (np.abs(loads[:, k]) / axial for k in (AP_FORCE, ML_FORCE))
    ap_error, ml_error = error[:, AP_FORCE] / axial, error[:, ML_FORCE] / axial
    peak, peak_error = 1e-6 * loads[:, PEAK_PRESSURE], 1e-6 * error[:, PEAK_PRESSURE]
    low, high = feasibility.load_N
    reason = np.full(len(loads), "", dtype=object)
    # Name, unit, values, standard errors and largest value.
    for name, unit, value, doubt, limit in (
        ("AP force over axial load", "", ap, ap_error, feasibility.ap_ratio),
        ("ML force over axial load", "", ml, ml_error, feasibility.ml_ratio),
        ("peak pressure", " MPa", peak, peak_error, feasibility.peak_pressure_MPa),
        ("axial load", " N", axial, np.zeros(len(axial)), high),
    ):
        surely = value - feasibility.doubt * doubt
        for k in np.flatnonzero((surely > (1.0 + margin) * limit) & (reason == "")):
            reason[k] = f"{name} {value[k]:.3g}{unit} above {limit:g}{unit}"
    for k in np.flatnonzero((axial < (1.0 - margin) * low) & (reason == "")):
        reason[k] = f"axial load {axial[k]:.3g} N below {low:g} N"
    return reason


def with_gait_bounds(config: Config, model: SurfaceContact, path: ReferencePath) -> Config:
    """Return a configuration whose bounds are `gait_factor` times the loads of its gait cycle."""
    try:
        cycle = GaitSimulation.of(config.simulation, path)(model)
    except (EquilibriumError, SimulationError) as error:
        raise StageError(
            f"feasibility.bounds: the original model does not complete the gait cycle: {error}; "
            'set feasibility.bounds = "keys"'
        ) from error
    loads = model.loads(cycle.poses).values.reshape(-1, 12)
    factor = config.feasibility.gait_factor
    largest = largest_of(loads[loads[:, AXIAL_FORCE] > 0.0])
    found = {key: factor * value for key, value in largest.items()}
    return config.model_copy(update={"feasibility": config.feasibility.model_copy(update=found)})


def largest_of(loads: FloatArray) -> dict[str, float]:
    """Return the largest ratios [1] and peak pressure [MPa] of loads (N, 12) [SI] in contact."""
    ratios = np.abs(loads[:, [AP_FORCE, ML_FORCE]]) / loads[:, [AXIAL_FORCE]]
    values = [*ratios.max(axis=0).tolist(), 1e-6 * float(loads[:, PEAK_PRESSURE].max())]
    return dict(zip(("ap_ratio", "ml_ratio", "peak_pressure_MPa"), values, strict=True))


#: Influence of the peak pressure on the fit of a network over that of other quantities: the peak
#: changes over shorter distances, and would have the largest error by far.
_PEAK_INFLUENCE = 4.0


class TrainedKnee(NamedTuple):
    """A knee fitted by a `family`, its residuals by compartment and output, and times [s]."""

    knee: ContactSurrogate
    checks: dict[str, dict[str, CrossCheck]]
    family: str
    seconds: float
    fronts: Mapping[str, Selected] = MappingProxyType({})


class Candidates(NamedTuple):
    """Candidates of the design and bounds of their loads, for the family `AUTO`."""

    table: pd.DataFrame
    feasibility: FeasibilityConfig


def fit_surrogates(
    samples: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pairs: Sequence[tuple[str, str]],
    seed: int,
    execution: Execution = IN_THIS_PROCESS,
    names: Sequence[str] = COMPARTMENTS,
    candidates: Candidates | None = None,
) -> list[TrainedKnee]:
    """Stages c and g: fit pairs of formulation and family to all samples that have an answer.

    The family `AUTO` needs `candidates`. No number depends on the execution.
    """
    jobs = [
        (_chosen(samples, name, pair), space, settings, pair, seed, name, candidates)
        for pair in pairs
        for name in names
    ]
    parts = execution.map(_fit_compartment, jobs)
    count = len(names)
    return [
        _trained(pair, dict(zip(names, parts[count * k : count * (k + 1)], strict=True)))
        for k, pair in enumerate(pairs)
    ]


def _chosen(samples: pd.DataFrame, name: str, pair: tuple[str, str]) -> pd.DataFrame:
    rows = fitted_rows(usable(samples, name), pair[1])
    if rows.empty:
        raise StageError(
            f"fitting {pair[0]}/{pair[1]}: the {name} compartment has no usable sample; all "
            "samples failed (see their reasons) or exceeded the bounds of [feasibility]"
        )
    return rows


def _fit_compartment(
    rows: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pair: tuple[str, str],
    seed: int,
    name: str,
    candidates: Candidates | None,
) -> tuple[Trained | Selected, float]:
    """Return the fit of one compartment, or the choice of `AUTO`, and its time [s]."""
    formulation, family = pair
    start = time.perf_counter()
    try:
        samples = compartment_samples(rows)
        fitted: Trained | Selected
        if family == AUTO:
            assert candidates is not None
            drawn = _drawn(candidates, name)
            fitted = _fit_cheapest(space, samples, settings, seed, drawn)
        else:
            fitter = family_fitter(settings, family, seed)
            fitted = fit_compartment(formulation, space, samples, fitter, settings.load_degree)
    except (InputError, np.linalg.LinAlgError) as error:
        raise StageError(
            f"fitting {formulation}/{family}, {name}, to {len(rows)} samples with an answer within "
            f"[feasibility]: {error}"
        ) from error
    return fitted, time.perf_counter() - start


def _fit_cheapest(
    space: SampleSpace, samples: Samples, settings: SurrogateConfig, seed: int, drawn: Drawn
) -> Selected:
    most = settings.network.networks
    counts = sorted({most, *(2**k for k in range(most.bit_length()))})
    networks = [settings.network.model_copy(update={"networks": count}) for count in counts]
    fitters = Fitters(
        family_fitter(settings, "kriging", seed),
        tuple(
            family_fitter(settings.model_copy(update={"network": chosen}), "network", seed)
            for chosen in networks
        ),
    )
    return fit_cheapest(
        space, samples, drawn, fitters, 0.01 * settings.wanted_error_percent,
        SplineSettings(**settings.spline.model_dump()), settings.load_degree,
    )  # fmt: skip


def _drawn(candidates: Candidates, name: str) -> Drawn:
    """Return the candidates of one compartment."""
    table, feasibility = candidates
    rows = table[table["compartment"] == name]

    def kept(loads: FloatArray) -> NDArray[np.bool_]:
        return infeasibility(loads, feasibility, feasibility.margin) == ""

    return Drawn(poses_of(rows), rows["load_N"].to_numpy(), kept)


def _trained(
    pair: tuple[str, str], parts: dict[str, tuple[Trained | Selected, float]]
) -> TrainedKnee:
    seconds = math.fsum(time for _, time in parts.values())
    fronts = {name: part for name, (part, _) in parts.items() if isinstance(part, Selected)}
    fits = {
        name: part.trained if isinstance(part, Selected) else part
        for name, (part, _) in parts.items()
    }
    chosen = dict.fromkeys(front.point.family for front in fronts.values())
    header = {"family": " and ".join(chosen) or pair[1], "fit_seconds": seconds}
    knee = ContactSurrogate({name: fit.surrogate for name, fit in fits.items()}, header)
    checks = {name: fit.checks for name, fit in fits.items()}
    return TrainedKnee(knee, checks, pair[1], seconds, fronts)


def fitted_rows(rows: pd.DataFrame, family: str) -> pd.DataFrame:
    """Return all rows for joint fits and many samples of `AUTO`, else the rows of weight 1."""
    if "weight" not in rows.columns:
        return rows
    many = int((rows["weight"] == 1.0).sum()) > MOST_FOR_KRIGING
    if many if family == AUTO else FAMILIES[family].joint:
        return rows
    return rows[rows["weight"] == 1.0].drop(columns="weight")


def compartment_samples(rows: pd.DataFrame) -> Samples:
    """Return the samples of one compartment's rows."""
    weights = rows["weight"].to_numpy() if "weight" in rows.columns else None
    return Samples(poses_of(rows), loads_of(rows), weights)


def family_fitter(settings: SurrogateConfig, family: str, seed: int) -> Fitter:
    """Return how a family's regressors are fitted with these settings."""
    section = FAMILIES[family].section
    own = getattr(settings, section).model_dump() if section else {}
    chosen = FAMILIES[family].settings(**own)

    def fit(inputs: FloatArray, outputs: FloatArray, weights: FloatArray | None) -> Fitted:
        # Each fit has its own generator, so that no fit depends on earlier fits.
        rng = np.random.default_rng(seed)
        return fit_family(family, inputs, outputs, chosen, rng, weights)

    if family != "network":
        # The outputs of a linear fit do not compete.
        return Fitter(fit, FAMILIES[family].joint)
    return Fitter(fit, True, _PEAK_INFLUENCE, settings.quantities_influence)
