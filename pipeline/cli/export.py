"""`export`: a run's surrogate for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from foundation.errors import InputError
from pipeline.cli.command import Answer, Command
from pipeline.exchange.exports import export_c, write_fmu
from surrogates.export.fmu_description import VERSIONS


def _add(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", type=Path, help="run directory, or a surrogate's .npz file")
    command.add_argument("--out", type=Path, help="where to write (default: beside the surrogate)")
    command.add_argument(
        "--prefix", default="knee", metavar="NAME",
        help="name of the files, and of all that they define (default: knee)",
    )  # fmt: skip
    command.add_argument(
        "--fmu", choices=VERSIONS,
        help="write NAME.fmu for co-simulation and model exchange by this version of FMI",
    )  # fmt: skip
    command.add_argument(
        "--sources-only", action="store_true",
        help="leave the compiled library out of the FMU, so that no C compiler is needed",
    )  # fmt: skip


def _export(options: argparse.Namespace) -> Answer:
    source, out, prefix = options.source, options.out, options.prefix
    if options.fmu:
        written = [write_fmu(source, options.fmu, out, prefix, not options.sources_only)]
    elif options.sources_only:
        raise InputError("--sources-only: expected --fmu beside it, found none; name a version")
    else:
        written = list(export_c(source, out, prefix))
    paths = [str(path) for path in written]
    return Answer("\n".join(paths), {"files": paths})


COMMAND = Command(
    "export",
    "write a run's surrogate as C source or as an FMU",
    _add,
    _export,
    (
        "python -m pipeline export runs/implant --out src --prefix knee",
        "python -m pipeline export runs/implant --fmu 3.0",
    ),
)
