"""The commands of `python -m pipeline`, a module for each group of them.

Each is a `Command`: what it is called, what it takes and what it does. Its answer holds a text for
people and the same for programs (`--json`).
"""

from __future__ import annotations

from itertools import chain

from pipeline.cli import (
    check,
    completion,
    export,
    init,
    loads,
    run,
    samples,
    schema,
    study,
    trained_run,
    walk,
    wear,
)
from pipeline.cli.command import Command

#: All commands by what they are for, in the order of the help.
GROUPS: dict[str, tuple[Command, ...]] = {
    "prepare a study": (init.COMMAND, check.COMMAND, schema.COMMAND),
    "train a surrogate": (
        run.COMMAND,
        trained_run.VALIDATE,
        trained_run.SIMULATE,
        trained_run.REPORT,
        trained_run.BENCH,
    ),
    "use it": (
        study.COMMAND,
        walk.COMMAND,
        wear.COMMAND,
        export.COMMAND,
        loads.LOADS,
        loads.MOTION,
        samples.COMMAND,
    ),
    "complete these in your shell": (completion.COMMAND,),
}
COMMANDS: tuple[Command, ...] = tuple(chain.from_iterable(GROUPS.values()))
