"""`export`: a run's surrogate for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.commands.command import Answer, Command
from pipeline.rerun import export_c


def _add(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", type=Path, help="run directory, or a surrogate's .npz file")
    command.add_argument("--out", type=Path, help="where to write (default: beside the surrogate)")
    command.add_argument(
        "--prefix", default="knee", metavar="NAME",
        help="name of the files, and of all that they define (default: knee)",
    )  # fmt: skip


def _export(options: argparse.Namespace) -> Answer:
    paths = [str(path) for path in export_c(options.source, options.out, options.prefix)]
    return Answer("\n".join(paths), {"files": paths})


COMMAND = Command(
    "export",
    "write a run's surrogate as C source",
    _add,
    _export,
    ("python -m pipeline export runs/implant --out src --prefix knee",),
)
