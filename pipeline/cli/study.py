"""`study`: Monte Carlo and sensitivity studies of gait cycles."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.cli.command import (
    TOML,
    Answer,
    Command,
    add_overrides,
    add_resume,
    complete_with,
)
from pipeline.config.reading import find_config
from pipeline.studies.factors import describe_factors
from pipeline.studies.study import load_study, simulate_study, summary_text


def _add(command: argparse.ArgumentParser) -> None:
    what = command.add_mutually_exclusive_group(required=True)
    config = what.add_argument(
        "config", nargs="?", help="TOML file, or the name of a shipped configuration"
    )
    complete_with(config, TOML)
    what.add_argument("--factors", action="store_true", help="list the named inputs")
    add_overrides(command)
    add_resume(command)


def _study(options: argparse.Namespace) -> Answer:
    if options.factors:
        text = describe_factors()
        return Answer(text, text)
    file = load_study(find_config(options.config), tuple(options.overrides))
    folder = options.out or Path("runs") / file.study.name
    summary = simulate_study(file, folder, resume=options.resume, quiet=options.quiet)
    return Answer(summary_text(summary, folder), summary)


COMMAND = Command(
    "study",
    "vary the gait cycle of a run: Monte Carlo or sensitivity",
    _add,
    _study,
    (
        "python -m pipeline study configs/montecarlo.toml",
        "python -m pipeline study configs/sobol.toml --set study.run=runs/mine",
        "python -m pipeline study --factors",
    ),
)
