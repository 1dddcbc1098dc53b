"""A design of a finished run: surrogate, errors, gait cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foundation.base.errors import InputError
from foundation.base.flags import worded
from foundation.base.wording import counted
from pipeline.config.reading import design_config
from pipeline.config.schema import Config
from pipeline.config.schema_base import near
from pipeline.design_space.design_contact import compared_cycles, design_knee
from pipeline.design_space.errors import doubts, expected_errors, told_errors
from pipeline.design_space.sampling import BaseValue, base_values, infeasible
from pipeline.originals.knee import Knee
from pipeline.stages.model_cycles import KEY_OUTPUTS, OUTPUTS
from pipeline.stages.run_folder import opened
from pipeline.store.job import DESIGNS
from pipeline.store.job import is_over_designs as is_over_designs
from pipeline.store.run_documents import Computed
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Design

#: Parts of the header of a surrogate over designs that are of no single design.
_OF_ALL_DESIGNS = (
    *("errors", "expected_errors", "expected_growth", "wear_patch", "parameters"),
    *("format", "sha256"),
)


class TakenDesign(Computed):
    """A design with its expected errors and the outputs of its gait cycle by model."""

    run: str
    values: dict[str, float]
    origins: dict[str, str]
    infeasible: str
    expected: dict[str, float]
    doubts: list[str]
    outputs: dict[str, dict[str, float]]
    errors: dict[str, float]
    failures: dict[str, str]
    instants: int
    flagged: int
    flags: str


def design_values(run: TrainedDesigns, texts: Sequence[str]) -> dict[str, BaseValue]:
    """Return the value of each parameter from texts such as "dish_mm=60", else its base value."""
    found = base_values(run.config)
    given: dict[str, BaseValue] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        if name not in found:
            raise InputError(
                f"{text}: expected NAME=VALUE with one of {', '.join(found)}{near(name, found)}"
            )
        if name in given:
            raise InputError(f"{text}: expected each parameter once, found {name} again")
        given[name] = BaseValue(_number(text, number), "")
    found |= given
    run.knee.parameters.values({name: each.value for name, each in found.items()})
    return found


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError as error:
        raise InputError(f"{text}: expected NAME=VALUE with a number, found {number!r}") from error


def surrogate_of(run: TrainedDesigns, values: Design) -> ContactSurrogate:
    """Return the surrogate of one design, with its expected errors in the header."""
    knee = run.knee.at(values)
    expected = expected_errors(run.knee, values)
    own = {name: each for name, each in knee.header.items() if name not in _OF_ALL_DESIGNS}
    return replace(knee, header={**own, "expected": expected, "doubts": doubts(expected)})


def take_design(
    run: TrainedDesigns, design: Mapping[str, BaseValue], *, original: bool = False
) -> TakenDesign:
    """Return a design of a run with its gait cycle; with `original`, by the original model too."""
    values = {name: each.value for name, each in design.items()}
    expected = expected_errors(run.knee, values)
    names = ("surrogate", "original") if original else ("surrogate",)
    found = compared_cycles(run.config, run.knee, values, names)
    cycles = found.cycles
    result = cycles["surrogate"].result if "surrogate" in cycles else None
    return TakenDesign(
        run=str(run.folder),
        values=values,
        origins={name: each.origin for name, each in design.items() if each.origin},
        infeasible=infeasible(run.config, values),
        expected=expected,
        doubts=doubts(expected),
        outputs={model: cycle.outputs for model, cycle in cycles.items()},
        errors=found.errors,
        failures=found.failures,
        instants=0 if result is None else len(result.time),
        flagged=0 if result is None else result.flagged,
        flags="" if result is None else worded(each.flag for each in result.flags),
    )


def design_lines(taken: TakenDesign) -> list[str]:
    """Return the lines on the terminal: parameters, expected errors, and the gait cycle."""
    lines = [f"design of {taken.run}:"]
    for name, value in taken.values.items():
        origin = taken.origins.get(name)
        lines.append(f"  {name} = {value:g}" + (f" ({origin})" if origin else ""))
    if taken.infeasible:
        lines.append(f"the design is infeasible: {taken.infeasible}")
    lines += told_errors(taken.expected)
    lines += [f"no gait cycle by the {model}: {why}" for model, why in taken.failures.items()]
    if taken.outputs:
        models = list(taken.outputs)
        lines.append(f"gait cycle by the {' and the '.join(models)}:")
        lines += [f"  {_output_line(taken, name, models)}" for name in KEY_OUTPUTS]
    if taken.errors:
        lines.append("errors of the surrogate over the cycle:")
        lines += [f"  {line}" for line in told_errors(taken.errors, "")]
    if taken.flagged:
        lines.append(
            f"{taken.flagged} of {counted(taken.instants, 'instant')} outside the trained domain: "
            f"do not trust the results there ({taken.flags})"
        )
    return lines


def _output_line(taken: TakenDesign, name: str, models: Sequence[str]) -> str:
    """Return an output of the models, and the difference of the surrogate from the original."""
    output, values = OUTPUTS[name], [taken.outputs[model][name] for model in models]
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
        of = " of a configuration with [design_space]"
        return cls(folder, *opened(folder, (DESIGNS,), "run over designs", of))

    def config_of(self, design: Design) -> Config:
        """Return the configuration of a design, without [design_space]."""
        return design_config(self.config, self._named(design))

    def original(self, design: Design) -> Knee:
        """Return the original model of a design; raises as `build_knee`."""
        return design_knee(self.config, self._named(design))

    def _named(self, design: Design) -> dict[str, float]:
        return self.knee.parameters.named(self.knee.parameters.values(design))
