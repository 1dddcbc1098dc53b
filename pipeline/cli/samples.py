"""`samples`: what the tables of a run hold, and the same for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.cli.command import Answer, Command
from pipeline.store.sample_tables import FORMATS, export_tables, summary, summary_text


def _add(command: argparse.ArgumentParser) -> None:
    parts = command.add_subparsers(dest="what", required=True)
    told = parts.add_parser("summary", help="rows, failures, ranges and checksums of the tables")
    written = parts.add_parser("export", help="write tables as CSV, Parquet or a MATLAB file")
    for part in (told, written):
        part.add_argument("source", type=Path, help="run directory, or a Parquet file")
        # Taken here as well as before the name of the part; said nowhere, it overrides nothing.
        for option in ("--quiet", "--json"):
            part.add_argument(
                option, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
    written.add_argument("--format", choices=FORMATS, required=True, help="kind of file")
    written.add_argument(
        "--out", type=Path, required=True,
        help="file; a folder for several tables as CSV or Parquet",
    )  # fmt: skip
    written.add_argument(
        "--table", action="append", default=[], metavar="NAME", dest="tables",
        help="which table, by its name in the summary; may be repeated (default: all)",
    )  # fmt: skip
    written.add_argument(
        "--units", choices=("si", "people"), default="si",
        help="SI units and radians, or degrees, mm, N mm, mm² and MPa",
    )  # fmt: skip


def _samples(options: argparse.Namespace) -> Answer:
    if options.what == "summary":
        rows = summary(options.source)
        damaged = any("rows" not in row for row in rows)
        return Answer(summary_text(rows), rows, 2 if damaged else 0)
    files = export_tables(
        options.source,
        options.format,
        options.out,
        wanted=options.tables,
        people=options.units == "people",
    )
    paths = [str(path) for path in files]
    return Answer("\n".join(paths), {"files": paths})


COMMAND = Command(
    "samples",
    "what the sample tables of a run hold, and the same for other programs",
    _add,
    _samples,
    (
        "python -m pipeline samples summary runs/implant",
        "python -m pipeline samples export runs/implant --format csv --table first --out first.csv",
        "python -m pipeline samples export runs/implant --format mat --units people --out all.mat",
    ),
)
