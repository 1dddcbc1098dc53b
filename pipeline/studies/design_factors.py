"""Parameters of the designs of a run as factors of a study, and their distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import stats

from pipeline.config.designs import design_space_of
from pipeline.config.reading import ConfigError
from pipeline.config.schema import Config
from pipeline.config.schema_base import near
from pipeline.design_space.base_design import base_values
from pipeline.studies.factors import DESIGN, Factor, unit_of
from pipeline.studies.schema import DistributionConfig, FactorConfig, StudyConfig

#: Largest share of an unbounded distribution outside the trained range, where runs fail [1].
_MOST_OUTSIDE = 0.01


def design_factors(config: Config) -> dict[str, Factor]:
    """Return the parameters of the designs of a configuration as factors, by name."""
    found = {}
    for parameter in design_space_of(config).parameter:
        text = f"parameter {parameter.key} of the design"
        own, of_key = unit_of(parameter.label), unit_of(parameter.key)
        # A parameter with a name of its own may have its unit in the key alone.
        unit, si = own if own[0] else of_key
        found[DESIGN + parameter.label] = Factor(unit, si, "design", parameter.label, text)
    return found


def split_design(values: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the parameters of the design by their own names, and the other values by theirs."""
    design = {n.removeprefix(DESIGN): v for n, v in values.items() if n.startswith(DESIGN)}
    return design, {n: v for n, v in values.items() if not n.startswith(DESIGN)}


def of_designs(names: Iterable[str]) -> list[str]:
    """Return those names of factors that are parameters of designs."""
    return [name for name in names if name.startswith(DESIGN)]


def with_whole_design(study: StudyConfig, config: Config) -> tuple[StudyConfig, list[str]]:
    """Return a study in which every parameter has a distribution, and the added ones in words.

    Parameters that the study does not name are fixed at their `base_values`. Raises `ConfigError`
    if the study names an unknown parameter, or a distribution is not within the trained range.
    """
    known = design_factors(config)
    for factor in study.factor:
        if factor.name.startswith(DESIGN) and factor.name not in known:
            raise ConfigError(
                f"study.factor: expected one of {', '.join(known)}, found "
                f"{factor.name}{near(factor.name, known)}"
            )
    named = {factor.name: factor for factor in study.factor}
    for parameter in design_space_of(config).parameter:
        name = DESIGN + parameter.label
        if name in named:
            _check_range(named[name], known[name].unit, *parameter.range)
    added, told = [], []
    for label, base in base_values(config).items():
        name = DESIGN + label
        if name not in named:
            added.append(FactorConfig(name=name, distribution="fixed", value=base.value))
            unit = known[name].unit
            told.append(f"{name} is fixed at {base.value:g} {unit}".strip() + f" ({base.origin})")
    return study.model_copy(update={"factor": (*study.factor, *added)}), told


def _check_range(factor: DistributionConfig, unit: str, low: float, high: float) -> None:
    """Raise a ConfigError unless a distribution is within a range, but for a small share."""
    stated = {"low": factor.low, "high": factor.high, "value": factor.value}
    outside = {k: v for k, v in stated.items() if v is not None and not low <= v <= high}
    expected = f"study.factor: {factor.name}: expected values within {low:g} to {high:g} {unit}"
    expected = f"{expected.strip()}, the trained range of the parameter"
    if outside:
        found = ", ".join(f"{key} = {value:g}" for key, value in outside.items())
        raise ConfigError(f"{expected}, found {found}")
    share = _share_outside(factor, low, high)
    if share > _MOST_OUTSIDE:
        raise ConfigError(
            f"{expected}, found {100.0 * share:.2g} % of a {factor.distribution} distribution "
            'outside; choose distribution = "truncated_normal" or "uniform", with low and high '
            "in the range"
        )


def _share_outside(factor: DistributionConfig, low: float, high: float) -> float:
    """Return the share of an unbounded distribution outside a range [1]; 0 of a bounded one."""
    if factor.mean is None or factor.sd is None or factor.distribution == "truncated_normal":
        return 0.0
    if factor.distribution == "normal":
        spread = stats.norm(factor.mean, factor.sd)
    else:
        variance = np.log1p((factor.sd / factor.mean) ** 2)
        spread = stats.lognorm(np.sqrt(variance), scale=factor.mean * np.exp(-0.5 * variance))
    return float(spread.cdf(low) + spread.sf(high))
