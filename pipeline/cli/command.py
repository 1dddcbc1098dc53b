"""What a command of the command line is, and the options that several have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

#: What a shell completes an argument with (shtab's names).
FILE, FOLDER, TOML = "file", "directory", "toml"


class Answer(NamedTuple):
    """What a command has to say.

    Parameters
    ----------
    text : str
        For people.
    content : Any
        The same for programs, with `--json`: objects, lists, text, numbers, None.
    status : int
        Exit status: 2 where the answer is that something given is wrong.
    """

    text: str
    content: Any
    status: int = 0


class Command(NamedTuple):
    """A command.

    Parameters
    ----------
    name : str
        What it is called.
    text : str
        What it does, in a line.
    add : callable
        Adds its arguments to its parser.
    carry_out : callable
        Does it, with the parsed options.
    examples : tuple of str
        Whole command lines that show its use.
    """

    name: str
    text: str
    add: Callable[[argparse.ArgumentParser], None]
    carry_out: Callable[[argparse.Namespace], Answer]
    examples: tuple[str, ...]


def complete_with(action: argparse.Action, what: str) -> None:
    """Let a shell complete an argument with files, folders or configurations."""
    action.complete = what  # type: ignore[attr-defined]


def add_config(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the configuration, by its file or the name of a shipped one; needed without default."""
    text = "TOML file, or the name of a shipped configuration"
    if default is None:
        action = command.add_argument("config", help=text)
    else:
        text += f" (default: {default})"
        action = command.add_argument("config", nargs="?", default=default, help=text)
    complete_with(action, TOML)


def add_set(command: argparse.ArgumentParser) -> None:
    """Add `--set`."""
    command.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="overrides",
        help="replace a value of the configuration; may be repeated",
    )  # fmt: skip


def add_overrides(command: argparse.ArgumentParser) -> None:
    """Add `--set` and `--out`, of whatever a configuration describes."""
    add_set(command)
    out = command.add_argument("--out", type=Path, help="where to write (default: runs/<name>)")
    complete_with(out, FOLDER)


def add_resume(command: argparse.ArgumentParser) -> None:
    """Add `--resume`."""
    command.add_argument("--resume", action="store_true", help="go on where it was interrupted")


def add_folder(command: argparse.ArgumentParser) -> None:
    """Add the run directory that a command works on."""
    complete_with(command.add_argument("folder", type=Path, help="run directory"), FOLDER)


def run_answer(report: dict[str, Any], folder: Path) -> Answer:
    """Return the answer of a command that wrote the report of a run."""
    text = "\n".join([*report["summary"], f"report: {folder / 'report.html'}"])
    return Answer(text, report)
