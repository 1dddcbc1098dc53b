"""`wear`: wear of a run's insert over many cycles."""

from __future__ import annotations

import argparse

from pipeline.cli.command import Answer, Command, add_folder
from pipeline.studies.lifetime_wear import wear_insert, worn_table


def _add(command: argparse.ArgumentParser) -> None:
    add_folder(command)
    command.add_argument("--cycles", type=float, default=5e6, help="cycles in all (5e6)")
    command.add_argument(
        "--blocks", type=int, default=5, help="blocks between which the surface is lowered (5)"
    )


def _wear(options: argparse.Namespace) -> Answer:
    content = wear_insert(options.folder, options.cycles, options.blocks, quiet=options.quiet)
    return Answer(worn_table(content), content)


COMMAND = Command(
    "wear",
    "wear a run's insert over many cycles, its surface lowered as it wears",
    _add,
    _wear,
    ("python -m pipeline wear runs/implant --cycles 5e6 --blocks 5",),
)
