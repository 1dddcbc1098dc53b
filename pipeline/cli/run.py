"""`run`: stages a to h, and the report."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.cli.command import (
    Answer,
    Command,
    add_config,
    add_overrides,
    add_resume,
    run_answer,
)
from pipeline.config.reading import find_config, load_config
from pipeline.runner import run_study


def _add(command: argparse.ArgumentParser) -> None:
    add_config(command, default="implant")
    add_overrides(command)
    add_resume(command)


def _run(options: argparse.Namespace) -> Answer:
    config = load_config(find_config(options.config), tuple(options.overrides))
    folder = options.out or Path("runs") / config.run.name
    report = run_study(config, folder, resume=options.resume, quiet=options.quiet)
    return run_answer(report, folder)


COMMAND = Command(
    "run",
    "make a surrogate of a knee: sample, fit, validate, simulate gait, report",
    _add,
    _run,
    (
        "python -m pipeline run",
        "python -m pipeline run smoke",
        "python -m pipeline run mine.toml --set design.candidates=2000 --out runs/small",
        "python -m pipeline run mine.toml --resume",
    ),
)
