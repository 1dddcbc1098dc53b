"""Write the reference of docs/command_line.md from the help: `python docs/command_line.py`."""

import io
import os
from contextlib import redirect_stdout
from pathlib import Path

from cyclopts import App

from pipeline.cli.app import app
from pipeline.cli.main import main

PAGE = Path(__file__).with_suffix(".md")
HEAD = "## Reference\n"


def reference() -> str:
    """Return the help of the program and of all commands."""
    os.environ["COLUMNS"] = "100"
    commands = [(), *commands_of(app)]
    return HEAD + "".join(f"\n```text\n{help_of(command)}\n```\n" for command in commands)


def commands_of(parent: App, names: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the names of all commands, in alphabetical order."""
    found = []
    for name in sorted(name for name in parent if not name.startswith("-")):
        found += [(*names, name), *commands_of(parent[name], (*names, name))]
    return found


def help_of(command: tuple[str, ...]) -> str:
    """Return the help of a command."""
    with redirect_stdout(io.StringIO()) as shown:
        main([*command, "--help"])
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(HEAD)] + reference(), encoding="utf-8")
