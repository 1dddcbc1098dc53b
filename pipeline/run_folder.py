"""A run directory: its files, progress, times, and whether it can be resumed."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from pipeline.config import dump_config, write_config
from pipeline.files import write_json
from pipeline.original import Compute, Knee, parallel_evaluation
from pipeline.report_inputs import content_of
from pipeline.samples import (
    ChunkStore,
    chunk_size,
    read_table,
    write_table,
)
from pipeline.schema import Config
from pipeline.simulation import (
    reference_path,
)
from surrogates.space import ReferencePath

#: Keys of a configuration that change how a run is carried out but no number of it.
_FREE_KEYS = ("workers", "chunk")


class RunError(RuntimeError):
    """A run that cannot start or go on; the message says why and what to do."""


class Run:
    """A run directory and the study that fills it.

    Parameters
    ----------
    config : Config
        The study.
    folder : Path
        The run directory.
    quiet : bool
        Whether to leave out progress bars.
    """

    def __init__(self, config: Config, folder: Path, *, quiet: bool = False) -> None:
        self.config = config
        self.folder = folder
        self.quiet = quiet
        self.seconds: dict[str, float] = {}
        self._prepared = False
        self.workers = config.run.workers or os.cpu_count() or 1

    def prepare(self, *, resume: bool) -> None:
        """Make the run directory, or check that the one to be resumed belongs to this study.

        Raises
        ------
        RunError
            If the directory holds something else, or was begun with another configuration.
        """
        stored = self.folder / "config.toml"
        check_own_folder(self.folder, stored.name, "run directory")
        if resume and stored.exists():
            changed = changed_keys(stored, dump_config(self.config), "run")
            if changed:
                raise RunError(
                    f"{self.folder}: begun with another configuration, which differs in "
                    f"{', '.join(changed)}; run it without --resume or with another --out"
                )
            self._recall_times()
        elif stored.exists():
            self._clear()
        (self.folder / "samples").mkdir(parents=True, exist_ok=True)
        write_config(self.config, stored)
        self._prepared = True

    def _recall_times(self) -> None:
        """Take up the times of the interrupted run's stages."""
        file = self.folder / "times.json"
        if file.exists():
            with content_of(file):
                for stage, seconds in json.loads(file.read_text(encoding="utf-8")).items():
                    self.seconds[stage] = self.seconds.get(stage, 0.0) + float(seconds)

    def _clear(self) -> None:
        """Remove the files of an earlier run, and only those."""
        names = (
            "knee.npz", "path.json", "validation.json", "simulation.parquet", "simulation.json",
            "report.html", "report.json", "run.json", "pressure_maps.npz", "times.json",
            "frames.npz", "wear.npz", "combinations.json", "combinations.parquet",
            "worn.json", "worn.npz",
        )  # fmt: skip
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
        for chunks in (self.folder / "samples").glob("chunks-*"):
            ChunkStore(chunks).clear()
        for table in (self.folder / "samples").glob("*.parquet"):
            table.unlink()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Tell what goes on and keep its time."""
        if not self.quiet:
            tqdm.write(stage)
        start = time.perf_counter()
        yield
        # A resumed run adds to what its stages took before.
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        # Before `prepare` the folder may be another run's, its times not yet taken up.
        if self._prepared:
            self.write_json("times.json", self.seconds)

    def evaluator(
        self, knee: Knee, name: str, follow: str = "load"
    ) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """Return the evaluation of a stage: parallel, in stored chunks, with progress.

        `follow` as in `pipeline.original.evaluate_rows`.
        """
        return self.stored(name, parallel_evaluation(knee.model, self.workers, follow))

    def stored(
        self, name: str, compute: Compute, together: int = 1
    ) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """Return an evaluation in stored chunks, with progress.

        Parameters
        ----------
        name : str
            Name of the stage.
        compute : callable
            Evaluates chunks of rows.
        together : int
            How many rows belong together, which are never parted.
        """

        def evaluate(table: pd.DataFrame) -> pd.DataFrame:
            store = ChunkStore(self.folder / "samples" / f"chunks-{name}")
            size = chunk_size(len(table), self.config.run.chunk)
            with tqdm(total=len(table), unit="sample", desc=name, disable=self.quiet) as bar:

                def advance(rows: int) -> None:
                    bar.update(rows)

                return store.evaluate(table, size + -size % together, compute, advance)

        return evaluate

    def table(self, name: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return a table of the run: the stored one, or made now and stored."""
        path = self.folder / "samples" / f"{name}.parquet"
        if not path.exists():
            write_table(make(), path)
        ChunkStore(self.folder / "samples" / f"chunks-{name}").clear()
        # What was just made and what a resumed run reads must be the same, types included.
        return read_table(path)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file; a reader sees the old file or the whole new one."""
        write_json(self.folder / name, content)


def stored_path(run: Run, knee: Knee) -> ReferencePath:
    """Return the reference path: the stored one of a resumed run, or found now."""
    file = run.folder / "path.json"
    if not file.exists():
        path = reference_path(run.config, knee)
        content = {
            "original": knee.digest,
            "flexion_rad": path.flexion.tolist(),
            "coordinates_rad_m": path.poses(path.flexion)[:, 1:].tolist(),
        }
        run.write_json("path.json", content)
    return read_path(file, knee)


def read_path(file: Path, knee: Knee) -> ReferencePath:
    """Read a stored path, and see that what was begun with one knee is not ended with another."""
    with content_of(file):
        stored = json.loads(file.read_text(encoding="utf-8"))
        begun = stored.get("original", knee.digest)
        path = ReferencePath.through(stored["flexion_rad"], stored["coordinates_rad_m"])
    if begun != knee.digest:
        raise RunError(
            f"{file.parent}: begun with another knee: the surfaces have changed since under the "
            "same names; run it without --resume or with another --out"
        )
    return path


def check_own_folder(folder: Path, mark: str, kind: str) -> None:
    """Raise a RunError unless a folder is new, empty, or holds the file that marks its kind."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a folder, found a file; choose another --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).exists():
        raise RunError(f"{folder}: not empty and no {kind}; choose another with --out")


def changed_keys(stored: Path, current: str, section: str) -> list[str]:
    """Return the dotted keys in which a stored configuration differs from the current one.

    Those of `section` that change no number are left out.
    """
    try:
        begun = tomllib.loads(stored.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(
            f"{stored}: expected the configuration that the run was begun with, found it damaged "
            f"({error}); begin anew with another --out"
        ) from error

    def flat(tree: Any, head: str = "") -> dict[str, Any]:
        if not isinstance(tree, dict):
            return {head: tree}
        found: dict[str, Any] = {}
        for key, value in tree.items():
            found |= flat(value, f"{head}.{key}" if head else key)
        return found

    before, after = flat(begun), flat(tomllib.loads(current))
    differing = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    return sorted(differing - {f"{section}.{key}" for key in _FREE_KEYS})
