"""Where a benchmark writes its pictures: `--out`, else `runs/benchmarks`, never `docs` unasked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

#: Folder of the documentation, whose pictures are under version control.
DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Folder of what is written where nothing else is asked for; below the current one.
DEFAULT = Path("runs") / "benchmarks"


def add_target(parser: argparse.ArgumentParser, name: str) -> None:
    """Add `--out` and `--docs` for a file of a benchmark."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--out", type=Path, default=DEFAULT / name, metavar="FILE",
        help="file to write (default: %(default)s)",
    )  # fmt: skip
    where.add_argument(
        "--docs", dest="out", action="store_const", const=DOCS / name,
        help=f"replace docs/{name}, the one that the documentation shows",
    )  # fmt: skip


def target(name: str, description: str | None, arguments: Sequence[str] | None = None) -> Path:
    """Return the file that the command line asks for; its folder is made.

    Parameters
    ----------
    name : str
        Name of the picture.
    description : str, optional
        What the benchmark is, for `--help`.
    arguments : sequence of str, optional
        The command line; by default that of the process.
    """
    parser = argparse.ArgumentParser(description=description)
    add_target(parser, name)
    found: Path = parser.parse_args(arguments).out
    found.parent.mkdir(parents=True, exist_ok=True)
    return found
