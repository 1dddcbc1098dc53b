"""The commands of `python -m pipeline`, a module for each group of them.

Each is a `Command`: what it is called, what it takes and what it does. Its answer holds a text for
people and the same for programs (`--json`).
"""

from __future__ import annotations

from pipeline.commands import again, export, run, schema, study, walk, wear
from pipeline.commands.command import Command

#: All commands, in the order of the help.
COMMANDS: tuple[Command, ...] = (
    run.COMMAND,
    study.COMMAND,
    walk.COMMAND,
    again.VALIDATE,
    again.SIMULATE,
    again.REPORT,
    again.BENCH,
    wear.COMMAND,
    export.COMMAND,
    schema.COMMAND,
)
