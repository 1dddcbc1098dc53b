"""Command line: `python -m pipeline run configs/implant.toml`, and the other commands."""

from __future__ import annotations

import argparse
import io
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from dynamics.equations import SimulationError
from dynamics.equilibrium import EquilibriumError
from pipeline.commands import COMMANDS
from pipeline.commands.command import Command
from pipeline.config import ConfigError
from pipeline.run_folder import RunError
from pipeline.samples import StoreError
from pipeline.stages import StageError
from surrogates.persistence import SurrogateFileError

#: Errors of what the user gave: one message, exit status 2.
BAD_INPUT = (ConfigError, RunError, StoreError, SurrogateFileError, ValueError)
#: Errors of a stage that could not end: one message, exit status 1.
FAILED_STAGE = (StageError, SimulationError, EquilibriumError)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="Knee-contact surrogates: from two meshes to a gait simulation.",
        epilog="example: python -m pipeline run configs/implant.toml --set design.candidates=2000",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        _add(commands.add_parser(command.name, **_described(command)), command)
    return parser


def _described(command: Command) -> dict[str, Any]:
    examples = "\n".join(f"  {line}" for line in command.examples)
    return {
        "help": command.text,
        "description": command.text[0].upper() + command.text[1:] + ".",
        "epilog": f"examples:\n{examples}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _add(parser: argparse.ArgumentParser, command: Command) -> None:
    command.add(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="the answer for programs, as JSON")
    parser.set_defaults(carry_out=command.carry_out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command; return the exit status (0 done, 1 a stage failed, 2 bad input)."""
    options = build_parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode is no reason to fail
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            answer = options.carry_out(options)
    except FAILED_STAGE as error:
        return _fail(error, 1)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error, 2)
    except BAD_INPUT as error:
        return _fail(error, 2)
    except KeyboardInterrupt:
        return _fail("interrupted; go on with --resume", 130)
    text = json.dumps(answer.content, indent=1, ensure_ascii=False) if options.json else answer.text
    sys.stdout.write(text + "\n")
    return 0


def _fail(error: BaseException | str, status: int) -> int:
    sys.stderr.write(f"error: {error}\n")
    return status


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")
