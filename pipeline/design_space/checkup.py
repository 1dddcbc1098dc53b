"""Stages of a run over designs with their costs, and checks before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from foundation.base.findings import Finding
from foundation.base.wording import counted
from pipeline.advice import of_configuration
from pipeline.config.reading import check_designs, design_space_of, load_config
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import settled_path
from pipeline.design_space.sampling import HELD_OUT, draw_designs, values_of
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.originals.contact_original import preparation_of
from pipeline.preparation.findings import Findings
from pipeline.progress import Stage, rounded

_ABOUT = "[design_space]"
#: Designs whose contact model is built and settled.
_TRIED = 3


def with_designs_checked(
    file: Path, overrides: tuple[str, ...], found: list[Finding], figures: dict[str, Any]
) -> list[Finding]:
    """Return findings on a configuration with those on its design space, if there is one."""
    if any(finding.level == "error" for finding in found):
        return found
    config = load_config(file, overrides)
    if config.design_space is None:
        return found
    findings = Findings()
    # The time of a run is that of all designs.
    findings.add([each for each in found if each.about != "run"])
    check_design_space(config, findings, figures)
    return [replace(each, text=of_configuration(each.text, file)) for each in findings.ordered()]


def check_design_space(config: Config, findings: Findings, figures: dict[str, Any]) -> None:
    """Check the parameters, draw the designs and settle some; tell the time of all designs."""
    if findings.attempt(_ABOUT, check_designs, config) is None:
        return
    try:
        drawn = draw_designs(config)
    except StageError as error:
        findings.error(_ABOUT, str(error))
        return
    lost = sum(drawn.dropped.values())
    reasons = "; ".join(f"{number} times {reason}" for reason, number in drawn.dropped.items())
    findings.note(
        _ABOUT,
        f"{lost} of {counted(drawn.drawn, 'drawn design')} infeasible"
        + f": {reasons}" * bool(lost),
    )
    tried = drawn.table[drawn.table["use"] == HELD_OUT].head(_TRIED)
    for values in values_of(config, tried).values():
        path, reason = settled_path(config, values)
        if path is None:
            told = ", ".join(f"{name} = {value:.4g}" for name, value in values.items())
            findings.warning(_ABOUT, f"the design with {told} does not settle: {reason}")
    _tell_time(config, findings, figures)


def _tell_time(config: Config, findings: Findings, figures: dict[str, Any]) -> None:
    """Tell the expected time of the run over all designs."""
    if "evaluation_s" not in figures:
        return
    space, workers = design_space_of(config), Execution.of(config.run).workers
    each = figures["evaluation_s"]
    seconds = sum(stage.expected(each, workers) for stage in stages_over_designs(config))
    count = space.designs + space.unseen + space.held_out
    if preparation_of(config) is not None:
        prepared = count * figures.get("preparation_s", 0.0) / workers
        seconds += prepared
        findings.note(
            _ABOUT,
            f"{counted(count, 'design')} are condensed, which takes about {rounded(prepared)}",
        )
    figures["run_s"] = seconds
    findings.note(
        _ABOUT,
        f"a run over {counted(count, 'design')} takes about {rounded(seconds)} with "
        f"{counted(workers, 'worker')}",
    )


def stages_over_designs(config: Config) -> list[Stage]:
    """Return the stages with their expected costs."""
    space = design_space_of(config)
    parts = len(config.knee.compartments)
    each = parts * space.poses
    per_load, steps = 6.0, config.surrogate.network.steps * config.surrogate.network.networks
    first = -(-space.designs // space.rounds)
    rounds = [
        stage
        for _ in range(space.rounds - 1)
        for stage in (
            Stage("c: first surrogates", seconds=30.0),
            Stage("d: predicted errors of designs", seconds=10.0),
            Stage("f: kept designs", first * each, per_load, 0.5 * first),
        )
    ]
    return [
        Stage("knee", seconds=2.0),
        Stage("a: designs", seconds=2.0),
        Stage("reference paths", seconds=2.0 * min(space.designs, 64)),
        Stage("b: first designs", first * each, per_load, 0.5 * first),
        *rounds,
        Stage("unseen designs", space.unseen * each // 2, per_load, 0.5 * space.unseen),
        Stage("held-out designs", space.held_out * each // 2, per_load, 0.5 * space.held_out),
        Stage("g: final surrogate", seconds=parts * 1.5e-3 * steps),
        Stage("g: domain", seconds=parts * 10.0),
        Stage("h: gait of unseen designs", seconds=3.0 * space.unseen),
        Stage("h: gait of held-out designs", seconds=3.0 * space.held_out),
    ]
