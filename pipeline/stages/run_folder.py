"""A run directory: its files, progress and times, and whether it can be resumed."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.wording import counted
from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.execution.backends import Execution
from pipeline.execution.memory import check_room
from pipeline.files import check_present, write_document, write_json, writing
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import StageCounter, bar, heard_warnings, say
from pipeline.stages.fitting import FITS
from pipeline.store.documents import read_document
from pipeline.store.job import MADE_WITH, RUN, Job, changes_in_words, made_from, write_made_with
from pipeline.store.run_documents import ELASTIC_LAYER, Part, PathKnots, StageTimes
from pipeline.store.sample_store import SAMPLE_FILES, SAMPLES, Evaluation, SampleStore, chunk_size
from pipeline.store.samples import RESULT_COLUMNS, DamagedTableError, read_table, write_table
from pipeline.store.workspace_lock import RunError as RunError
from pipeline.store.workspace_lock import differing_keys
from surrogates.sampling.designs import PREFIX_KINDS
from surrogates.sampling.space import ReferencePath

#: Results of a run, and those that a run with a changed configuration continues with.
_FILES = (
    "knee.npz", "validation.json", "simulation.parquet", "simulation.json", "report.html",
    "report.json", "run.json", "pressure_maps.npz", "times.json", "frames.npz", "wear.npz",
    "combinations.json", "combinations.parquet", "worn.json", "worn.npz", MADE_WITH, ELASTIC_LAYER,
    "samples/*.parquet",
)  # fmt: skip
_KEPT = ("path.json", *SAMPLE_FILES, FITS)


class Run(AbstractContextManager["Run"]):
    """A run directory and its study; at the end of the context, workers and lock are released."""

    def __init__(self, config: Config, folder: Path) -> None:
        check_room()
        self.config = config
        self.folder = folder
        self.seconds: dict[str, float] = defaultdict(float)
        self._prepared = False
        self.execution = Execution.of(config.run)
        self._held = ExitStack()
        self.stages = StageCounter([], self.workers)
        self.fits: Path | None = folder / FITS

    def __exit__(self, *_: object) -> None:
        """Close the run."""
        self.close()

    def close(self) -> None:
        """Release the workers and the directory."""
        self.execution.close()
        self._held.close()

    @property
    def workers(self) -> int:
        """Number of processes."""
        return self.execution.workers

    def prepare(
        self, *, resume: bool, original: OriginalModel | None = None, replace: bool = False
    ) -> None:
        """Make the run directory, or continue or `replace` the run that it holds."""
        job = Job(RUN, self.folder, self.config, _FILES, _KEPT, resume=resume, replace=replace)
        job.check()
        self.execution.open()
        self._held.enter_context(job.held())
        with writing(self.folder / "samples"):
            (self.folder / "samples").mkdir(exist_ok=True)
        if job.resumed:
            self._continue(job, original)
            if (times := self.folder / "times.json").exists():
                for stage, seconds in read_document(times, StageTimes).root.items():
                    self.seconds[stage] += seconds
        else:
            job.clear()
        job.write_config()
        write_made_with(self.folder, job.text)
        self._prepared = True

    def _continue(self, job: Job, original: OriginalModel | None) -> None:
        """Prepare to go on with the configuration of the directory, or with a changed one."""
        before = configuration_of(self.folder)
        assert before is not None  # the directory has a config.toml
        made, wanted = (c.model_dump(exclude_none=True) for c in (before, self.config))
        changed = differing_keys(made, wanted, "run")
        if not changed:
            return
        check_keys(self.folder, before, self.config, changed)
        if original is not None and (self.folder / "path.json").exists():
            check_unchanged(self.folder, original)
            if any(key.startswith("simulation.") for key in changed):
                found = _found_path(self.config, original)
                check_path(self.folder, found.path)
                stored = read_document(self.folder / "path.json", PathKnots)
                self.write_path(stored, found.warnings)
        say(f"continuing: {changes_in_words(made, wanted, changed)}")
        job.clear()

    @contextmanager
    def timed(self, stage: str, detail: str = "") -> Iterator[None]:
        """Announce a stage with a detail and record its time."""
        say(self.stages.begin(stage, detail))
        start = time.perf_counter()
        yield
        # A resumed run adds to the earlier times of its stages.
        self.seconds[stage] += time.perf_counter() - start
        # Before `prepare`, the folder may belong to another run.
        if self._prepared:
            check_present(self.folder)
            write_json(self.folder / "times.json", self.seconds)

    def evaluate(self, rows: pd.DataFrame, evaluation: Evaluation) -> pd.DataFrame:
        """Return samples with their results, of which the unknown ones are evaluated in parallel.

        Raises `ExecutionError`, which says how many rows are stored, if the workers were lost.
        """
        if not evaluation.source:
            return evaluation.function(*evaluation.shared, rows)
        if rows.empty:
            return rows.assign(**{name: [] for name in RESULT_COLUMNS})
        store = SampleStore(self.folder / SAMPLES, evaluation)
        missing = store.missing(rows)
        if known := len(rows) - len(missing):
            say(f"  {counted(known, 'sample')} known, {len(missing)} to evaluate")
        each = self.stages.per_evaluation
        rate = 1.0 / each if each else 0.0
        size = chunk_size(len(missing), self.config.run.chunk, rate, self.workers)
        with bar(len(missing), "sample", "evaluated") as shown:
            store.evaluate(missing, size, self.execution, shown)
        if (seconds := shown.seconds_per_step) is not None:
            self.stages.evaluated(len(missing), seconds * len(missing))
        return store.with_results(rows)

    def table(
        self, name: str, make: Callable[[], pd.DataFrame], *, derived: bool = False
    ) -> pd.DataFrame:
        """Return a table of the run; if it is not stored, or damaged and `derived`, make it."""
        path = self.folder / "samples" / f"{name}.parquet"
        if not path.exists() or (derived and _damaged(path)):
            write_table(make(), path)
        # A table that was just made and a table that a resumed run reads must have the same types.
        return read_table(path)

    def write_path(self, knots: PathKnots, told: list[str]) -> None:
        """Write `path.json`, with the warnings of the search if there are any."""
        content = {key: value for key, value in knots.content().items() if key != "warnings"}
        self.write_json("path.json", content | ({"warnings": told} if told else {}))

    def write_json(self, name: str, content: Mapping[str, Any] | Part) -> None:
        """Write a JSON document; a reader sees the old file or the whole new one."""
        write_document(self.folder / name, content)


def _damaged(path: Path) -> bool:
    """Return whether a stored table is damaged, with a warning that it is made again."""
    try:
        read_table(path)
    except DamagedTableError:
        text = f"{path}: damaged; the file is made again from the other files of the run"
        warnings.warn(text, stacklevel=2)
        return True
    return False


def stored_path(run: Run, original: OriginalModel) -> ReferencePath:
    """Return the path of the run, stored or found now, with the warnings of its search."""
    file = run.folder / "path.json"
    if not file.exists():
        knots = _found_path(run.config, original)
        run.write_path(knots, knots.warnings)
        return read_path(run.folder)
    check_unchanged(run.folder, original)
    stored = read_document(file, PathKnots)
    for text in stored.warnings:
        warnings.warn(text, stacklevel=2)
    return stored.path


def _found_path(config: Config, original: OriginalModel) -> PathKnots:
    """Return the reference path that an original model has now."""
    with heard_warnings() as told:
        path = original.reference_path(config)
    return PathKnots(
        original=original.digest,
        flexion_rad=path.flexion.tolist(),
        coordinates_rad_m=path.poses(path.flexion)[:, 1:].tolist(),
        warnings=told,
    )


def read_path(folder: Path) -> ReferencePath:
    """Return the reference path of a run directory."""
    return read_document(folder / "path.json", PathKnots).path


def check_unchanged(folder: Path, original: OriginalModel) -> None:
    """Raise a RunError unless an original model is the one that a run was started with."""
    digest = read_document(folder / "path.json", PathKnots).original
    if digest not in (None, original.digest):
        files = "rows of the table" if original.model is None else "mesh or thickness files"
        raise RunError(
            f"{folder}: the {files} have changed since this run started; run without --resume, or "
            "choose another folder with --out"
        )


#: Sections and keys that decide on the loads of a sample, or on which samples are drawn.
_DECISIVE = (
    *("knee.", "contact.", "original.", "space."),
    *("run.seed", "design.kind", "design.load_spread"),
)
#: Largest difference of a knot of a path that was found again [rad, m]: rounding.
_SAME_PATH = 1e-12
_REMEDY = (
    "restore the configuration and the files of the run, choose another --out, or run without "
    "--resume and with --force, which deletes the samples"
)


def configuration_of(folder: Path) -> Config | None:
    """Return the configuration that a run was made with; None if the folder holds no run."""
    file = folder / "config.toml"
    if not file.is_file():
        return None
    return checked_section(made_from(folder), Config, str(file))


def check_keys(folder: Path, before: Config, after: Config, changed: list[str]) -> None:
    """Raise a RunError if samples of a run are of no use with the dotted keys that changed."""
    decisive = list(_DECISIVE)
    if before.design.kind not in PREFIX_KINDS:
        decisive.append("design.candidates")  # more candidates are other candidates
    if useless := [key for key in changed if key.startswith(tuple(decisive))]:
        made, wanted = (config.model_dump(exclude_none=True) for config in (before, after))
        raise RunError(
            f"{folder}: the samples of the run cannot be used with the changed configuration: "
            f"{changes_in_words(made, wanted, useless)}; {_REMEDY}"
        )


def check_path(folder: Path, found: ReferencePath) -> None:
    """Raise a RunError if a reference path is not the path that the samples were drawn about."""
    stored = read_document(folder / "path.json", PathKnots).path
    knots = stored.poses(stored.flexion), found.poses(stored.flexion)
    if not np.allclose(*knots, rtol=0.0, atol=_SAME_PATH):
        away = np.abs(knots[1] - knots[0]).max(axis=0)
        raise RunError(
            f"{folder}: the samples of the run cannot be used, since the changed keys of "
            f"[simulation] move the reference path by up to {1e3 * away[3:].max():.3g} mm and "
            f"{np.degrees(away[:3].max()):.3g} degrees; {_REMEDY}"
        )
