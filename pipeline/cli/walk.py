"""`walk`: from measured walking to knee loads, simulated."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.cli.command import Answer, Command, add_config, add_overrides
from pipeline.config.reading import find_config
from pipeline.studies.walks.walk import load_walk, simulate_walk, summary_text


def _add(command: argparse.ArgumentParser) -> None:
    add_config(command)
    add_overrides(command)


def _walk(options: argparse.Namespace) -> Answer:
    file = load_walk(find_config(options.config), tuple(options.overrides))
    folder = options.out or Path("runs") / file.walk.name
    content = simulate_walk(file, folder, quiet=options.quiet)
    return Answer(summary_text(content, folder), content)


COMMAND = Command(
    "walk",
    "go from measured walking to knee loads, simulated",
    _add,
    _walk,
    (
        "python -m pipeline walk configs/walking.toml",
        "python -m pipeline walk mine.toml --set walk.run=runs/mine",
    ),
)
