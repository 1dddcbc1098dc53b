"""Command `samples`: contents of the sample tables of a run, and export to other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from pipeline.advice import PROGRAM
from pipeline.cli.app import USE, Answer, app, command, files_answer

samples = App(
    name="samples",
    help="Summarise or export the sample tables of a run.",
    help_epilogue=(
        f"Examples:\n  {PROGRAM} samples summary runs/implant\n"
        f"  {PROGRAM} samples export runs/implant --format csv --out tables"
    ),
    group=USE,
)
app.command(samples)
Source = Annotated[Path, Parameter(help="Run directory, or Parquet file.")]


@command(parent=samples)
def summary(source: Source, /) -> Answer:
    """List rows, failures and ranges of the tables.

    Examples
    --------
    $ knee-contact samples summary runs/implant
    """
    from pipeline.store.samples import summary as summarise
    from pipeline.store.samples import summary_text

    rows = summarise(source)
    damaged = any(row.rows is None for row in rows)
    return Answer(summary_text(rows), rows, 2 if damaged else 0)


@command(parent=samples, files=True)
def export(
    source: Source,
    /,
    *,
    format: Literal["csv", "parquet"],
    out: Path,
    tables: Annotated[
        tuple[str, ...], Parameter(name="--table", metavar="NAME", consume_multiple=False)
    ] = (),
    units: Literal["si", "people"] = "si",
) -> Answer:
    r"""Write tables as CSV or Parquet.

    Parameters
    ----------
    source : Path
        Run directory, or Parquet file.
    format : {"csv", "parquet"}
        File format.
    out : Path
        File to write; a folder for several tables as CSV or Parquet.
    tables : tuple of str
        Table to write, as named by `summary`; repeat the option for more (default: all tables).
    units : {"si", "people"}
        SI units and radians, or degrees, mm, N mm, mm² and MPa.

    Examples
    --------
    $ knee-contact samples export runs/implant --format csv --table first \
        --out first.csv
    $ knee-contact samples export runs/implant --format csv --table simulation \
        --units people --out cycle.csv
    $ knee-contact samples export runs/implant --format parquet --out tables
    """
    from pipeline.reports.judgement import judgement_lines, stored_judgement
    from pipeline.store.samples import export_tables

    files = export_tables(source, format, out, wanted=tables, people=units == "people")
    answer = files_answer(files)
    found = stored_judgement(source) if source.is_dir() else None
    if found is None:
        return answer
    text = "\n".join([answer.text, *judgement_lines(found)])
    return answer._replace(text=text, content=answer.content | {"verdict": found})
