"""Reference of the site, and a knee to move: a hook of MkDocs, which `make docs` runs."""

from __future__ import annotations

import io
import os
import shutil
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["COLUMNS"] = "100"  # the width of the help, which is found once in a process

from cyclopts import App

from pipeline.cli.app import app
from pipeline.cli.main import main


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Return a page with its generated part at the end."""
    make = GENERATED.get(page.file.src_uri)
    return markdown if make is None else f"{markdown}\n{make()}"


def on_post_build(config: Any, **_: object) -> None:
    """Write knee.html, the report of a small run of the built-in implant."""
    with TemporaryDirectory() as folder, chdir(folder):
        run = Path("runs/implant")
        study = Path(__file__).resolve().parents[1] / "configs" / "smoke.toml"
        if main(["run", str(study), "--out", str(run), "--quiet"]) == 0:
            shutil.copyfile(run / "report.html", Path(config["site_dir"]) / "knee.html")


def reference() -> str:
    """Return the help of the program and of all commands."""
    commands = [(), *commands_of(app)]
    return "\n".join(f"```text\n{printed(*command, '--help')}\n```\n" for command in commands)


def configuration() -> str:
    """Return what `schema` prints, below its title."""
    return printed("schema").partition("\n")[2]


def commands_of(parent: App, names: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the names of all commands, in alphabetical order."""
    found = []
    for name in sorted(name for name in parent if not name.startswith("-")):
        found += [(*names, name), *commands_of(parent[name], (*names, name))]
    return found


def printed(*words: str) -> str:
    """Return what a command prints."""
    with redirect_stdout(io.StringIO()) as shown:
        main(list(words))
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


#: Functions that make the end of a page of docs/.
GENERATED = {"command_line.md": reference, "configuration.md": configuration}
