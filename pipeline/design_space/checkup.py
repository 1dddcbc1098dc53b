"""Checks of a design space before a long run, besides those of its base configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from foundation.base.findings import Finding
from foundation.base.wording import counted
from pipeline.advice import of_configuration
from pipeline.config.designs import check_designs, design_space_of
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import settled_path
from pipeline.design_space.drawn_designs import HELD_OUT, draw_designs, parameters_of
from pipeline.design_space.stages import stages_over_designs
from pipeline.errors import StageError
from pipeline.execution.backends import Execution
from pipeline.originals.contact_original import preparation_of
from pipeline.preparation.findings import Findings
from pipeline.progress import rounded

_ABOUT = "[design_space]"
#: Designs whose contact model is built and settled.
_TRIED = 3


def with_designs_checked(
    file: Path, overrides: tuple[str, ...], found: list[Finding], figures: dict[str, Any]
) -> list[Finding]:
    """Return the findings on a configuration with those on its design space, if there is one.

    `found` and `figures` are those of `check_study`; a configuration with errors is left.
    """
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
    """Check the parameters, draw the designs and settle some; replace the expected time of a run.

    `figures` are those of `check_study` for a single knee; their `run_s` becomes that of all
    designs [s]. `findings` takes what is found.
    """
    if findings.attempt(_ABOUT, _checked, config) is None:
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
    names = list(parameters_of(config).names)
    tried = drawn.table[drawn.table["use"] == HELD_OUT].head(_TRIED)
    for row in tried[names].to_numpy():
        values = dict(zip(names, map(float, row), strict=True))
        path, reason = settled_path(config, values)
        if path is None:
            told = ", ".join(f"{name} = {value:.4g}" for name, value in values.items())
            findings.warning(_ABOUT, f"the design with {told} does not settle: {reason}")
    _tell_time(config, findings, figures)


def _checked(config: Config) -> bool:
    check_designs(config)
    return True


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
