"""Designs of a design space: drawn, as contact models, their gait cycles, and those of a run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.wear.cycle_wear import Patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.flags import worded
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.wording import counted
from pipeline.config.design_space_schema import satisfied
from pipeline.config.reading import checked_section, design_config, design_space_of, dump_config
from pipeline.config.schema import Config
from pipeline.config.schema_base import near
from pipeline.design_space.errors import doubts, expected_errors, told_errors
from pipeline.errors import StageError
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee, evaluate_rows
from pipeline.originals.knee_surfaces import build_implant
from pipeline.progress import without_warnings
from pipeline.simulation import KEY_OUTPUTS, OUTPUTS, Comparison, GaitSimulation, compare
from pipeline.stages.run_folder import opened
from pipeline.store.job import DESIGNS, RunError
from pipeline.store.run_documents import Computed
from pipeline.store.samples import FAILED
from surrogates.families.smooth_array import SmoothArray
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.designs import unit_design
from surrogates.sampling.parameters import Design, Parameters
from surrogates.sampling.space import ReferencePath

#: Origin of a value that the base configuration states.
STATED = "base configuration"


class BaseValue(NamedTuple):
    """Value of a parameter in the unit of its name, and where it comes from, in words."""

    value: float
    origin: str


def base_values(config: Config) -> dict[str, BaseValue]:
    """Return the value of each parameter in the base configuration, or the middle of its range."""
    tree = config.model_dump()
    base = {}
    for parameter in design_space_of(config).parameter:
        low, high = parameter.range
        stated = _stated(tree, parameter.key)
        if isinstance(stated, float | int) and low <= stated <= high:
            base[parameter.label] = BaseValue(float(stated), STATED)
        else:
            text = "no number" if isinstance(stated, str) or stated is None else f"{stated:g}"
            origin = f"middle of the range, the base configuration has {text}"
            base[parameter.label] = BaseValue(0.5 * (low + high), origin)
    return base


def _stated(tree: dict[str, Any], key: str) -> Any:
    """Return the value of a dotted key; None if a section is missing."""
    branch: Any = tree
    for name in key.split("."):
        if not isinstance(branch, dict):
            return None
        branch = branch.get(name)
    return branch


#: Uses of designs: candidates that are learnt, or never learnt, of two kinds.
LEARNT, UNSEEN, HELD_OUT = "learnt", "unseen", "held_out"
_USES = (LEARNT, UNSEEN, HELD_OUT)
#: Candidates for each design that is learnt, where rounds choose.
CANDIDATES_EACH = 4
#: Part of a range by which designs that are learnt may lie outside, so that the ends of the ranges,
#: where the best designs often are, have neighbours on both sides.
_MARGIN = 0.03
#: Part of the designs of a use that are moved away from the middle of the ranges by a factor, up to
#: their ends: most of these lie at edges and corners, where errors are largest.
_OUTWARD, _STRETCH = {LEARNT: 0.25, UNSEEN: 0.5, HELD_OUT: 0.0}, 2.5
#: Most designs that are drawn for each feasible one, and most blocks of a sequence.
_MOST_DRAWN, _MOST_BLOCKS = 50, 12
#: Number of a use's first design.
_FIRST = {LEARNT: 0, UNSEEN: 1_000_000, HELD_OUT: 2_000_000}


class Drawn(NamedTuple):
    """Designs, and how many were drawn and dropped."""

    #: `design` (number), `use`, and the value of each parameter in the unit of its name.
    table: pd.DataFrame
    #: Number of designs that were drawn.
    drawn: int
    #: Number of infeasible designs by reason.
    dropped: dict[str, int]


def parameters_of(config: Config) -> Parameters:
    """Return the parameters of the designs of a configuration."""
    space = design_space_of(config)
    low, high = np.array([parameter.range for parameter in space.parameter]).T
    return Parameters(space.names, low, high)


def values_of(config: Config, designs: pd.DataFrame) -> dict[int, dict[str, float]]:
    """Return the values of the parameters of each design of a table, by its number."""
    names = list(design_space_of(config).names)
    rows = zip(designs["design"], designs[names].to_numpy(float).tolist(), strict=True)
    return {int(number): dict(zip(names, row, strict=True)) for number, row in rows}


def scaled_designs(config: Config, designs: pd.DataFrame) -> FloatArray:
    """Return the scaled parameters (N, P) [1] of a table of designs."""
    parameters = parameters_of(config)
    return parameters.scaled_rows(designs[list(parameters.names)].to_numpy(float))


def draw_designs(config: Config) -> Drawn:
    """Stage a: draw the designs of all uses from Sobol sequences; drop infeasible designs."""
    space = design_space_of(config)
    counts = {
        LEARNT: space.designs * (CANDIDATES_EACH if space.rounds > 1 else 1),
        UNSEEN: space.unseen,
        HELD_OUT: space.held_out,
    }
    parts, dropped, drawn = [], dict[str, int](), 0
    for number, use in enumerate(_USES):
        rng = np.random.default_rng(np.random.SeedSequence([space.seed, number]))
        margin = _MARGIN if use == LEARNT else 0.0
        values, tried = feasible_designs(
            config, counts[use], rng, dropped, margin=margin, outward=_OUTWARD[use]
        )
        drawn += tried
        table = pd.DataFrame(values, columns=pd.Index(space.names))
        numbers = _FIRST[use] + np.arange(len(table))
        table.insert(0, "design", numbers)
        table.insert(1, "use", use)
        parts.append(table)
    return Drawn(pd.concat(parts, ignore_index=True), drawn, dropped)


def feasible_designs(
    config: Config,
    count: int,
    rng: np.random.Generator,
    dropped: dict[str, int] | None = None,
    *,
    margin: float = 0.0,
    outward: float = 0.0,
) -> tuple[FloatArray, int]:
    """Return the first feasible designs (count, P) of a Sobol sequence, and how many were drawn.

    The ranges are widened by a `margin` [1]; the part `outward` [1] lies mostly at edges and
    corners. `dropped` counts the infeasible ones by reason.
    """
    parameters, dropped = parameters_of(config), {} if dropped is None else dropped
    chosen, known = list[FloatArray](), set[bytes]()
    tried = blocks = 0
    while count and len(chosen) < count:
        if tried >= _MOST_DRAWN * count or blocks > _MOST_BLOCKS:
            why = "; ".join(f"{number} times {reason}" for reason, number in dropped.items())
            raise StageError(
                f"[design_space]: {len(chosen)} of {tried} designs are feasible: {why}; change the "
                "ranges or the constraints"
            )
        # A Sobol sequence is even in blocks of a power of two.
        size = max(tried, 2 ** int(np.ceil(np.log2(count))))
        blocks += 1
        unit = unit_design("sobol", size, len(parameters) + 1, rng)
        factor = np.where(unit[:, -1:] < outward, _STRETCH, 1.0)
        unit = np.clip(0.5 + factor * (unit[:, :-1] - 0.5), 0.0, 1.0)
        for point in (1.0 + 2.0 * margin) * unit - margin:
            if len(chosen) == count:
                break
            values, inside = parameters.from_unit(point), abs(point - 0.5).max() <= 0.5
            if values.tobytes() in known:
                continue
            known.add(values.tobytes())
            tried += 1
            if not (reason := infeasible(config, parameters.named(values))):
                chosen.append(values)
            elif inside:
                dropped[reason] = dropped.get(reason, 0) + 1
            else:
                tried -= 1
    return np.array(chosen).reshape(count, len(parameters)), tried


def infeasible(config: Config, values: Mapping[str, float]) -> str:
    """Return why a design is infeasible, without its numbers; "" for a feasible design."""
    space = design_space_of(config)
    columns = {name: np.array([value]) for name, value in values.items()}
    for text in space.constraints:
        if not satisfied(text, columns)[0]:
            return f"not {text}"
    try:
        varied_config = design_config(config, values)
        if varied_config.knee.source == "builtin":
            build_implant(varied_config.knee.implant)
    except InputError as error:
        # Without the design and what was found, which differ between designs.
        text = str(error)
        text = text.partition(": ")[2] if text.startswith("design with ") else text
        return text.partition(", found")[0]
    return ""


def design_knee(config: Config, values: Mapping[str, float]) -> Knee:
    """Return the contact model of a design, of which the last are kept, as chunks share them."""
    return _knee_of(dump_config(design_config(config, values)))


@lru_cache(maxsize=1 + (os.cpu_count() or 1))
def _knee_of(text: str) -> Knee:
    """Return the contact model of a configuration as TOML."""
    config = checked_section(tomllib.loads(text), Config, "design")
    with without_warnings:  # what is doubtful about the base design is told once
        knee = build_knee(config)
    # Finite elements are condensed once for each design, here.
    knee.prepare(lambda _: None)
    return knee


def evaluate_designs(config: Config, names: Sequence[str], table: pd.DataFrame) -> pd.DataFrame:
    """Evaluate rows as `evaluate_rows`; those of a design without a contact model are failed."""
    parts = []
    for _, rows in table.groupby("design", sort=False):
        values = {name: float(rows.iloc[0][name]) for name in names}
        try:
            knee = design_knee(config, values)
        except InputError as error:
            parts.append(_failed(rows, str(error)))
            continue
        parts.append(evaluate_rows(knee.model, rows, "load"))
    return pd.concat(parts)


def _failed(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    loads = dict.fromkeys(LOAD_COLUMNS, np.nan)
    return rows.assign(status=FAILED, reason=f"design: {reason}", evaluations=0, **loads)


def settled_path(config: Config, values: Mapping[str, float]) -> tuple[ReferencePath | None, str]:
    """Return the reference path of a design, or None and why there is none."""
    try:
        knee = design_knee(config, values)
        with without_warnings:
            return knee.reference_path(config), ""
    except (InputError, EquilibriumError) as error:
        return None, str(error)


#: Key of the header of a surrogate with aspect and ratio of the contact patches.
_PATCH = "wear_patch"
#: Models of a design.
BOTH = ("original", "surrogate")


def compared_cycles(
    config: Config,
    knee: ContactSurrogate,
    values: Mapping[str, float],
    models: tuple[str, ...] = BOTH,
) -> Comparison:
    """Return the gait cycles of a design by models of `BOTH`."""
    makes: dict[str, Callable[[], ContactModel]] = {
        "original": lambda: design_knee(config, values).model,
        "surrogate": lambda: knee.at(values),
    }
    gait = GaitSimulation.of(config.simulation, knee.path_of(values))
    chosen = {name: makes[name] for name in models}
    patch = patch_at(knee, values)
    if gait.wear_law.by_point:
        patch = patch._replace(tibia=design_knee(config, values).model.tibia)
    return compare(chosen, gait, gait.wear_law, patch)


class DesignOutcome(Computed):
    """A design: gait cycles by model, and errors of the surrogate, measured and expected.

    `failures` are the reasons of models without a cycle. The instants, those that are flagged and
    the flags are of the surrogate, `patch` (4,) is of the original model. `design` is the number
    of a design that was drawn.
    """

    design: int | None
    values: dict[str, float]
    outputs: dict[str, dict[str, float]]
    failures: dict[str, str]
    errors: dict[str, float]
    expected: dict[str, float]
    doubts: list[str]
    instants: int
    flagged: int
    flags: str
    patch: list[float] | None


def outcome_of(
    config: Config,
    knee: ContactSurrogate,
    values: Mapping[str, float],
    models: tuple[str, ...] = BOTH,
    design: int | None = None,
) -> DesignOutcome:
    """Return a design with its gait cycles by models of `BOTH`."""
    compared, expected = (
        compared_cycles(config, knee, values, models),
        expected_errors(knee, values),
    )
    cycles, patch = compared.cycles, None
    if "original" in cycles:
        aspect, ratio, _ = cycles["original"].patch
        patch = [*aspect, *(np.ones(2) if ratio is None else ratio)]
    result = cycles["surrogate"].result if "surrogate" in cycles else None
    return DesignOutcome(
        design=design,
        values=dict(values),
        outputs={model: cycle.outputs for model, cycle in cycles.items()},
        failures=compared.failures,
        errors=compared.errors,
        expected=expected,
        doubts=doubts(expected),
        instants=0 if result is None else len(result.time),
        flagged=0 if result is None else result.flagged,
        flags="" if result is None else worded(flag.flag for flag in result.flags),
        patch=patch,
    )


def fitted_patch(z: FloatArray, patches: FloatArray) -> dict[str, Any]:
    """Return the entry of a header for patches (N, 4) of designs z (N, P) [1]."""
    smooth = SmoothArray.fit(z, patches)
    return {_PATCH: {key: array.tolist() for key, array in smooth.to_arrays().items()}}


def patch_at(knee: ContactSurrogate, design: Design) -> Patch:
    """Return aspect and ratio of the contact patches of a design, for wear."""
    stored = knee.header.get(_PATCH)
    if stored is None:
        return Patch(np.ones(2), None)
    arrays = {
        "exponents": np.array(stored["exponents"], dtype=np.int64),
        "coefficients": np.array(stored["coefficients"], dtype=np.float64),
    }
    values = SmoothArray.from_arrays(arrays).at(knee.parameters.scaled(design))
    return Patch(values[:2], values[2:])


#: Parts of the header of a surrogate over designs that are of no single design.
_OF_ALL_DESIGNS = (
    *("errors", "expected_errors", "expected_growth", "wear_patch", "parameters"),
    *("format", "sha256"),
)


def design_values(run: TrainedDesigns, texts: Sequence[str]) -> dict[str, BaseValue]:
    """Return the value of each parameter from texts such as "dish_mm=60", else its base value."""
    base = base_values(run.config)
    stated: dict[str, BaseValue] = {}
    for text in texts:
        name, _, number = (text_part.strip() for text_part in text.partition("="))
        if name not in base:
            raise InputError(
                f"{text}: expected NAME=VALUE with one of {', '.join(base)}{near(name, base)}"
            )
        if name in stated:
            raise InputError(f"{text}: expected each parameter once, found {name} again")
        stated[name] = BaseValue(_number(text, number), "")
    base |= stated
    run.knee.parameters.values({name: base_value.value for name, base_value in base.items()})
    return base


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError as error:
        raise InputError(f"{text}: expected NAME=VALUE with a number, found {number!r}") from error


def surrogate_of(run: TrainedDesigns, values: Design) -> ContactSurrogate:
    """Return the surrogate of one design, with its expected errors in the header."""
    knee = run.knee.at(values)
    expected = expected_errors(run.knee, values)
    header = {name: entry for name, entry in knee.header.items() if name not in _OF_ALL_DESIGNS}
    return replace(knee, header={**header, "expected": expected, "doubts": doubts(expected)})


def design_lines(
    run: TrainedDesigns, design: Mapping[str, BaseValue], outcome: DesignOutcome
) -> list[str]:
    """Return the lines on the terminal: parameters, expected errors, and the gait cycle."""
    lines = [f"design of {run.folder}:"]
    for name, base in design.items():
        lines.append(f"  {name} = {base.value:g}" + (f" ({base.origin})" if base.origin else ""))
    if reason := infeasible(run.config, outcome.values):
        lines.append(f"the design is infeasible: {reason}")
    lines += told_errors(outcome.expected)
    lines += [f"no gait cycle by the {model}: {why}" for model, why in outcome.failures.items()]
    if outcome.outputs:
        models = list(outcome.outputs)
        lines.append(f"gait cycle by the {' and the '.join(models)}:")
        lines += [f"  {_output_line(outcome, name, models)}" for name in KEY_OUTPUTS]
    if outcome.errors:
        lines.append("errors of the surrogate over the cycle:")
        lines += [f"  {line}" for line in told_errors(outcome.errors, "")]
    if outcome.flagged:
        lines.append(
            f"{outcome.flagged} of {counted(outcome.instants, 'instant')} outside the trained "
            f"domain: do not trust the results there ({outcome.flags})"
        )
    return lines


def _output_line(outcome: DesignOutcome, name: str, models: Sequence[str]) -> str:
    """Return an output of the models, and the difference of the surrogate from the original."""
    output, values = OUTPUTS[name], [outcome.outputs[model][name] for model in models]
    line = f"{output.label}: {', '.join(f'{value:.4g}' for value in values)} {output.unit}"
    if len(values) < 2:
        return line
    surrogate, original = values
    return f"{line}, difference {surrogate - original:+.2g} {output.unit}"


@dataclass(frozen=True, eq=False)
class TrainedDesigns:
    """A finished run over designs: its configuration and its surrogate."""

    folder: Path
    config: Config
    knee: ContactSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedDesigns:
        """Open a run directory; raises `RunError` unless it is a finished run over designs."""
        if (folder / "path.json").is_file():
            raise RunError(
                f"{folder}: expected a run with [design_space], found one of a single knee"
            )
        return cls(folder, *opened(folder, (DESIGNS,), "run over designs"))

    def config_of(self, design: Design) -> Config:
        """Return the configuration of a design, without [design_space]."""
        return design_config(self.config, self._named(design))

    def original(self, design: Design) -> Knee:
        """Return the original model of a design; raises as `build_knee`."""
        return design_knee(self.config, self._named(design))

    def _named(self, design: Design) -> dict[str, float]:
        return self.knee.parameters.named(self.knee.parameters.values(design))
