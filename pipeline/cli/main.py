"""Command line: `python -m pipeline run configs/implant.toml`, and the other commands."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, NoReturn

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.errors import InputError
from pipeline.cli.command import Command
from pipeline.cli.commands import COMMANDS, GROUPS
from pipeline.execution.worker_checks import ExecutionError
from pipeline.files import plain
from pipeline.progress import silenced, telling_of_compilation
from pipeline.stages import StageError

PROGRAM = "python -m pipeline"
#: Errors of a stage that could not end: one message, exit status 1.
FAILED_STAGE = (StageError, ExecutionError, SimulationError, EquilibriumError)
#: Exit status of a fault of the program (EX_SOFTWARE of sysexits.h).
FAULT = 70
_REPORT = (
    "this is a fault of knee-contact, not of your input; please report it to the project's issue "
    f"tracker with the traceback above, the command, and what `{PROGRAM} --version` prints"
)
_DESCRIPTION = """\
Knee-contact surrogates: from two meshes to a gait simulation.

The usual path, from two meshes of your own to a report:
  {program} init mine.toml     write a commented configuration, asking what it needs
  {program} check mine.toml    say what is wrong, and how long a run takes
  {program} run mine.toml      sample, fit, validate, simulate: runs/mine/report.html

Without meshes, `{program} run` does the same for the built-in implant."""


class _Overview(argparse.RawDescriptionHelpFormatter):
    """Help of the program: the commands stand in the description, by what they are for."""

    def _iter_indented_subactions(
        self, action: argparse.Action
    ) -> Generator[argparse.Action, None, None]:
        del action
        yield from ()


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are as short as other errors, and JSON where that is asked for."""

    #: The arguments that are parsed.
    given: ClassVar[Sequence[str]] = ()

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong with the arguments and end with status 2."""
        self.print_usage(sys.stderr)
        text = f"{message}; see `{self.prog} --help`"
        sys.exit(_fail(text, 2, as_json="--json" in self.given))


def build_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = _Parser(
        prog=program,
        description=f"{_DESCRIPTION.format(program=program)}\n\n{_listed()}",
        epilog=f"examples:\n  {program} run smoke\n  {program} run mine.toml --help",
        formatter_class=_Overview,
    )
    told = f"knee-contact {version('knee-contact')}"
    parser.add_argument("-V", "--version", action="version", version=told)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", help="one of those above"
    )
    for command in COMMANDS:
        _add(commands.add_parser(command.name, **_described(command)), command)
    return parser


def _listed() -> str:
    """Return the commands by what they are for."""
    lines = []
    for title, group in GROUPS.items():
        lines.append(f"to {title}:")
        lines += [f"  {command.name:<12}{command.text}" for command in group]
    return "\n".join(lines)


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
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--json", action="store_true", help="one JSON document on stdout, errors too"
    )
    parser.set_defaults(carry_out=command.carry_out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command.

    Returns
    -------
    int
        Exit status: 0 done, 1 a stage failed, 2 bad input, 70 a fault of the program, 130
        interrupted.
    """
    _Parser.given = sys.argv[1:] if arguments is None else arguments
    options = build_parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode is no reason to fail
    try:
        with (
            warnings.catch_warnings(),
            silenced(quiet=options.quiet),
            telling_of_compilation(quiet=options.quiet),
        ):
            warnings.showwarning = _show_warning
            answer = options.carry_out(options)
        text = _json(answer.content) if options.json else answer.text
        return _say(text, answer.status)
    except FAILED_STAGE as error:
        return _fail(error, 1, as_json=options.json)
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _fail(text, 2, as_json=options.json)
    except InputError as error:
        return _fail(error, 2, as_json=options.json)
    except KeyboardInterrupt:
        goes_on = "; go on with --resume" if hasattr(options, "resume") else ""
        return _fail(f"interrupted{goes_on}", 130, as_json=options.json)
    except Exception:  # whatever else is raised is a fault of the program
        return _fail_of_fault(as_json=options.json)


def _say(text: str, status: int) -> int:
    """Write an answer; a reader that closes the pipe early has read enough."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain again when it flushes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _json(content: Any) -> str:
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


def _fail(error: BaseException | str, status: int, *, as_json: bool = False) -> int:
    sys.stderr.write(f"error: {error}\n")
    if as_json:
        _say(_json({"error": str(error), "status": status}), status)
    return status


def _fail_of_fault(*, as_json: bool) -> int:
    """Tell the fault that is being handled, with its traceback."""
    told = traceback.format_exc()
    sys.stderr.write(f"{told}error: {_REPORT}\n")
    if as_json:
        content = {"error": _REPORT, "status": FAULT, "kind": "fault", "traceback": told}
        _say(_json(content), FAULT)
    return FAULT


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")
