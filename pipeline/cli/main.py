"""Entry point of the command line: reads the arguments, runs a command, writes its answer."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from inspect import BoundArguments
from typing import Annotated, Any, NamedTuple

from cyclopts import App, CycloptsError, Parameter

from foundation.base.errors import InputError, PoseError
from pipeline.advice import PROGRAM, of_configuration
from pipeline.cli import prepare, train, use
from pipeline.cli.app import Answer, Command, app
from pipeline.errors import INTERRUPTED
from pipeline.progress import drop, or_silent

#: Modules that register the commands.
COMMAND_MODULES = (prepare, train, use)
#: Exit status of a fault of the program (EX_SOFTWARE of sysexits.h).
FAULT = 70
_REPORT = (
    "this is a fault of knee-contact, not of your input; please report it to the project's issue "
    f"tracker with the traceback above, the command, and the output of `{PROGRAM} --version`"
)


class Request(NamedTuple):
    """A command with its arguments, whether to hide progress, and whether to answer in JSON."""

    command: Command
    arguments: BoundArguments
    quiet: bool
    as_json: bool


@app.meta.default
def _request(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    quiet: bool = False,
    json: bool = False,
) -> Request:
    """Read a command with its arguments, and the options of every command.

    Parameters
    ----------
    quiet : bool
        Write no progress to stderr.
    json : bool
        Write one JSON document to stdout, also for errors.
    """
    command, arguments, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    if getattr(command, "__func__", None) is App.help_print:
        raise CycloptsError(msg="expected a command", command_chain=tokens)
    return Request(command, arguments, quiet, json)


def parse(arguments: Sequence[str]) -> Request | None:
    """Read a command line; write help or version and return None if the arguments ask for them.

    Raises
    ------
    CycloptsError
        If a command or option is unknown, or an argument is missing or wrong.
    """
    return app.meta(arguments, exit_on_error=False, print_error=False, result_action="return_value")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; `arguments` are by default those of the process.

    Returns
    -------
    int
        Exit status: 0 done, 1 a stage failed, 2 bad input, 70 a fault of the program, 130
        interrupted.

    Raises
    ------
    SystemExit
        With status 2 if the arguments are not a command line of the program.
    """
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # terminals without Unicode
    try:
        request = parse(words)
    except CycloptsError as error:
        program = " ".join([PROGRAM, *(error.command_chain or ())])
        reason = getattr(error, "exception_message", "") or str(error)
        unused = "unexpected arguments (an option takes one value, and may be repeated):"
        reason = reason.replace("Unused Tokens:", unused)
        # The help lists all commands, the error only some.
        reason = reason.partition(" Available commands")[0].rstrip(".")
        sys.exit(_fail(f"{reason}; see `{program} --help`", 2, as_json="--json" in words))
    if request is None:
        return 0
    try:
        answer = _run(request)
    except KeyboardInterrupt:
        text = f"interrupted{_resumption(request, words)}"
        return _fail(text, INTERRUPTED, as_json=request.as_json)
    except Exception as error:
        return _failure(error, request, words)
    return _write(_json(answer.content) if request.as_json else answer.text, answer.status)


def _run(request: Request) -> Answer:
    """Return the answer of a command; warnings are one line each."""
    from pipeline.progress import silenced

    arguments = request.arguments
    with warnings.catch_warnings(), silenced(quiet=request.quiet):
        warnings.showwarning = _show_warning
        return request.command(*arguments.args, **arguments.kwargs)


def _resumption(request: Request, words: Sequence[str]) -> str:
    """Return how a command that was interrupted goes on; "" if it begins anew."""
    from pipeline.cli.write_errors import resumed

    resumable = "resume" in request.arguments.signature.parameters
    return f"; continue with `{resumed(words)}`" if resumable else ""


def _failure(error: Exception, request: Request, words: Sequence[str]) -> int:
    """Report the error that is being handled and return the exit status."""
    # Imported late: help needs none of these packages.
    from pipeline.execution import is_of_memory, memory_error_text

    if is_of_memory(error):
        text = memory_error_text(error) + _resumption(request, words)
        return _fail(text, 1, as_json=request.as_json)
    from dynamics.simulator.equations import SimulationError
    from dynamics.simulator.equilibrium import EquilibriumError
    from pipeline.cli.write_errors import is_of_writing, write_error_text
    from pipeline.errors import StageError

    as_json = request.as_json
    failures = (StageError, SimulationError, EquilibriumError, PoseError)
    if isinstance(error, failures):
        return _fail(_named(error, request), 1, as_json=as_json)
    if isinstance(error, OSError):
        if is_of_writing(error):
            text = write_error_text(error, words, list(request.arguments.signature.parameters))
        else:
            text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _fail(text, 2, as_json=as_json)
    if isinstance(error, InputError):
        return _fail(_named(error, request), 2, as_json=as_json)
    trace = traceback.format_exc()
    _write_error(trace)
    return _fail(_REPORT, FAULT, as_json=as_json, kind="fault", traceback=trace)


def _named(error: Exception, request: Request) -> str:
    """Return the text of an error, whose commands name the configuration of the request."""
    config = request.arguments.arguments.get("config")
    return of_configuration(str(error), config) if config else str(error)


def _fail(error: str, status: int, *, as_json: bool, **details: str) -> int:
    """Write an error, as a JSON document too if asked to, and return the exit status."""
    _write_error(f"error: {error}\n")
    if as_json:
        _write(_json({"error": error, "status": status, **details}), status)
    return status


def _write(text: str, status: int) -> int:
    """Write to stdout and return the exit status, 2 if stdout cannot be written.

    A reader that has closed the pipe has what it wanted.
    """
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        drop(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            reason = os.strerror(error.errno or 0).lower()
            _write_error(f"error: the answer cannot be written to standard output ({reason})\n")
            return status or 2
    return status


def _write_error(text: str) -> None:
    with or_silent():
        sys.stderr.write(text)
        sys.stderr.flush()


def _json(content: Any) -> str:
    from pipeline.files import json_text, plain

    return json_text(plain(content))


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    _write_error(f"warning: {message}\n")
