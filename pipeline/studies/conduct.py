"""What all studies share: the folder, its lock, files of results, page, and lines on the terminal.

A kind of study is a `Study`: what is particular to it. `conduct` does the rest, and
`pipeline.studies.dispatch` finds the kind of a configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pandas as pd

from pipeline.config.schema_base import Section
from pipeline.files import write_document
from pipeline.reports.pages import write_page
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed
from pipeline.store.samples import write_csv

File = TypeVar("File", bound=Section)
Ready = TypeVar("Ready")


class Table(NamedTuple):
    """A table of results, written as CSV."""

    rows: pd.DataFrame
    #: Format of its numbers; None for all digits.
    format: str | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a study that has been carried out."""

    document: Computed
    #: Lines on the terminal, before the line that names the page and after it.
    lines: Sequence[str]
    last: Sequence[str] = ()
    #: What the template of the page reads; None without a page.
    page: Mapping[str, Any] | None = None
    #: Tables by the names of their files.
    tables: Mapping[str, Table] = field(default_factory=dict)
    #: Raised after the results have been written.
    failure: Exception | None = None


@dataclass(frozen=True, eq=False)
class Study(Generic[File, Ready]):
    """What is particular to a kind of study."""

    #: Kind of its folder.
    kind: JobKind
    schema: type[File]
    #: Names of document and page; "" without a page.
    document: str
    page: str
    #: Checks all input and returns what is carried out; no file is written before.
    prepare: Callable[[File, Job], Ready]
    #: Writes what is particular to the kind to the folder, and returns the results.
    carry_out: Callable[[Ready, Job], Outcome]
    #: Names or patterns of other results, and of those that an interrupted study continues with.
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    #: Template of the page, if it has another name.
    template: str | None = None
    #: Ending of the default folder, beside the results of another kind of the same name.
    ending: str = ""

    @property
    def results(self) -> tuple[str, ...]:
        """Names or patterns of all results that are written again."""
        return tuple(name for name in (self.document, self.page, *self.files) if name)

    def folder(self, file: File) -> Path:
        """Return the default folder of the results of a configuration."""
        return Path("runs") / f"{getattr(file, self.kind.section).name}{self.ending}"


class Conducted(NamedTuple):
    """Document of a study, and its lines on the terminal."""

    document: Any
    text: str


def conduct(
    study: Study[File, Any],
    file: File,
    out: Path | None = None,
    *,
    resume: bool = False,
    replace: bool = False,
) -> Conducted:
    """Carry out a configuration and write its folder, by default that of its name in `runs`.

    `resume` continues an interrupted study of the folder, and `replace` replaces one of another
    configuration. Input is checked before a file is written.
    """
    folder = out or study.folder(file)
    job = Job(study.kind, folder, file, study.results, study.kept, resume=resume, replace=replace)
    job.check()
    ready = study.prepare(file, job)
    with job.held():
        job.begin()
        outcome = study.carry_out(ready, job)
        for name, table in outcome.tables.items():
            write_csv(table.rows, folder / name, table.format)
        if outcome.page is not None:
            content = {**outcome.page, "config_text": job.text}
            write_page(folder / study.page, template=study.template, **content)
        write_document(folder / study.document, outcome.document)
    if outcome.failure is not None:
        raise outcome.failure
    page = [f"page: {folder / study.page}"] if outcome.page is not None else []
    return Conducted(outcome.document, "\n".join([*outcome.lines, *page, *outcome.last]))
