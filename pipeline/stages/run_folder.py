"""A run directory: its files, progress and times, and its models once the run has finished."""

from __future__ import annotations

import platform
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import surrogates
from dynamics.simulator.result import current_axes, find_column
from foundation.base.checks import FloatArray, check_in
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.base.wording import counted
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.execution import Execution
from pipeline.files import write_document, writing
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.originals.knee import OriginalModel, contact_model
from pipeline.originals.table_original import build_original
from pipeline.progress import StageCounter, bar, heard_warnings, say
from pipeline.simulation import GaitSimulation
from pipeline.store.documents import read_document, read_json
from pipeline.store.job import (
    MADE_WITH,
    RUN,
    Job,
    check_configuration,
    check_finished,
    check_single_knee,
    write_made_with,
)
from pipeline.store.job import RunError as RunError
from pipeline.store.run_documents import ELASTIC_LAYER, Part, PathKnots
from pipeline.store.sample_store import SAMPLE_FILES, SAMPLES, Evaluation, SampleStore, chunk_size
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    RESULT_COLUMNS,
    read_table,
    write_table,
)
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath

_PACKAGES = ("numpy", "scipy", "trimesh", "pandas", "knee-contact")
#: Results of a run, and those that a run with a changed configuration continues with.
_FILES = (
    "knee.npz", "validation.json", "simulation.parquet", "simulation.json", "report.html",
    "report.json", "run.json", "frames.npz", "wear.npz",
    "combinations.json", "worn.json", "worn.npz", MADE_WITH, ELASTIC_LAYER,
    "samples/*.parquet",
)  # fmt: skip
#: Sections of a configuration that the reference path depends on.
_OF_PATH = ("knee.", "contact.", "original.", "space.", "simulation.")
_KEPT = ("path.json", *SAMPLE_FILES, CONDENSED)


class Run(AbstractContextManager["Run"]):
    """A run directory and its study; at the end of the context, the lock is released."""

    def __init__(self, config: Config, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.seconds: dict[str, float] = defaultdict(float)
        self.execution = Execution.of(config.run)
        self._held = ExitStack()
        self.stages = StageCounter([], self.workers)

    def __exit__(self, *_: object) -> None:
        """Release the directory."""
        self._held.close()

    @property
    def workers(self) -> int:
        """Number of processes."""
        return self.execution.workers

    def prepare(self, *, resume: bool, replace: bool = False) -> None:
        """Make the run directory, or continue or `replace` the run that it holds."""
        job = Job(RUN, self.folder, self.config, _FILES, _KEPT, resume=resume, replace=replace)
        job.check()
        self._held.enter_context(job.held())
        with writing(self.folder / "samples"):
            (self.folder / "samples").mkdir(exist_ok=True)
        if any(key.startswith(_OF_PATH) for key in job.begin()):
            (self.folder / "path.json").unlink(missing_ok=True)
        write_made_with(self.folder, job.text)

    @contextmanager
    def timed(self, stage: str, detail: str = "") -> Iterator[None]:
        """Announce a stage with a detail and record its time."""
        say(self.stages.begin(stage, detail))
        start = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - start

    def evaluate(self, rows: pd.DataFrame, evaluation: Evaluation) -> pd.DataFrame:
        """Return samples with their results; unknown ones are evaluated in parallel."""
        if not evaluation.source:
            return evaluation.function(*evaluation.shared, rows)
        if rows.empty:
            return rows.assign(**{name: [] for name in RESULT_COLUMNS})
        store = SampleStore(self.folder / SAMPLES, evaluation)
        missing = store.missing(rows)
        if known := len(rows) - len(missing):
            say(f"  {counted(known, 'sample')} known, {len(missing)} to evaluate")
        evaluation_s = self.stages.per_evaluation
        rate = 1.0 / evaluation_s if evaluation_s else 0.0
        size = chunk_size(len(missing), self.config.run.chunk, rate, self.workers)
        with bar(len(missing), "sample", "evaluated") as shown:
            store.evaluate(missing, size, self.execution, shown)
        return store.with_results(rows)

    def table(self, name: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return a table of the run; make it if it is not stored."""
        path = self.folder / "samples" / f"{name}.parquet"
        if not path.exists():
            write_table(make(), path)
        # A table that was just made and a table that a resumed run reads must have the same types.
        return read_table(path)

    @property
    def provenance(self) -> dict[str, Any]:
        """Name, date, versions and times of the run, for its documents."""
        return {
            "name": self.config.run.name,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "workers": self.workers,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in _PACKAGES},
            "seconds": dict(self.seconds),
        }

    def save(self, knee: ContactSurrogate) -> None:
        """Write `knee.npz`."""
        with writing(self.folder / "knee.npz"):
            surrogates.save(knee, self.folder / "knee.npz")

    def write_json(self, name: str, content: Mapping[str, Any] | Part) -> None:
        """Write a JSON document; a reader sees the old file or the whole new one."""
        write_document(self.folder / name, content)


def stored_path(run: Run, original: OriginalModel) -> ReferencePath:
    """Return the path of the run, stored or found now, with the warnings of its search."""
    file = run.folder / "path.json"
    if not file.exists():
        with heard_warnings() as heard:
            path = original.reference_path(run.config)
        content = {
            "original": original.digest,
            **({"warnings": heard} if heard else {}),
            "flexion_rad": path.flexion.tolist(),
            "coordinates_rad_m": path.poses(path.flexion)[:, 1:].tolist(),
        }
        run.write_json("path.json", content)
        return read_path(run.folder)
    check_unchanged(run.folder, original)
    stored = read_document(file, PathKnots)
    for text in stored.warnings:
        warnings.warn(text, stacklevel=2)
    return stored.path


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


def opened(folder: Path, names: Sequence[str], kind: str) -> tuple[Config, ContactSurrogate]:
    """Return configuration and surrogate of a run folder; a RunError if not finished or changed."""
    check_finished(folder, (*names, "knee.npz"), kind)
    config = load_config(folder / "config.toml")
    check_configuration(folder)
    return config, surrogates.load(folder / "knee.npz")


@dataclass(frozen=True, eq=False)
class PressureMap:
    """Pressure on a tibial surface."""

    tibia: TriangleMesh
    #: Pressure at the middle of each triangle (F,) [Pa].
    pressure: FloatArray

    def __repr__(self) -> str:
        return f"<PressureMap of {self.tibia.name}: at most {1e-6 * self.pressure.max():.3g} MPa>"

    def plot(self, axes: Any = None) -> Any:
        """Draw the pressure [MPa] on the plateau seen from above; return the axes of matplotlib."""
        axes = current_axes(axes)
        x, z = 1e3 * self.tibia.vertices[:, 0], 1e3 * self.tibia.vertices[:, 2]
        shades = axes.tripcolor(z, x, self.tibia.faces, facecolors=1e-6 * self.pressure)
        axes.figure.colorbar(shades, ax=axes, label="pressure [MPa]")
        axes.set(xlabel="lateral [mm]", ylabel="anterior [mm]", aspect="equal")
        return axes


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A finished run: its configuration, trained surrogate, reference path and original model."""

    folder: Path
    config: Config = field(repr=False)
    surrogate: ContactSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedRun:
        """Open a run directory; raises `RunError` unless it is a finished run of one knee."""
        check_single_knee(folder)
        return cls(folder, *opened(folder, ("path.json", "run.json"), "run"))

    @cached_property
    def path(self) -> ReferencePath:
        """Reference path over flexion."""
        return read_path(self.folder)

    @cached_property
    def original(self) -> OriginalModel:
        """Original model, built at its first use; raises `InputError` if a file has changed."""
        original = build_original(self.config, self.folder)
        check_unchanged(self.folder, original)
        return original

    @property
    def reference_model(self) -> SurfaceContact:
        """Contact model that the surrogate was trained with; raises `InputError` of a table."""
        return contact_model(self.original)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Content of `report.json` by section; raises `ReportError` if the file is damaged."""
        return read_json(self.folder / "report.json")

    @cached_property
    def figures(self) -> pd.DataFrame:
        """Numbers of the report outside its tables: a `value` with its unit at each key."""
        values = pd.json_normalize(self.report).iloc[0]
        return values[[isinstance(v, (int, float)) for v in values]].astype(float).to_frame("value")

    def plot(
        self, column: str = "total_force", over: str = "gait_percent", axes: Any = None
    ) -> Any:
        """Draw a column of `simulation.parquet` for both models; return the axes of matplotlib.

        Names may lack the unit (`dynamics.simulator.result.find_column`).
        """
        axes = current_axes(axes)
        cycle = read_table(self.folder / "simulation.parquet", ("model",))
        x, y = (find_column(name, cycle.columns) for name in (over, column))
        for model, rows in cycle.groupby("model", sort=False):
            axes.plot(rows[x], rows[y], label=model)
        axes.set(xlabel=x, ylabel=y)
        axes.legend()
        return axes

    def plot_held_out(self, column: str = "peak_pressure_Pa", axes: Any = None) -> Any:
        """Draw predicted over true values of a load [SI] at the held-out samples; return the axes.

        Raises `InputError` if the column is not one of `foundation.base.loads.LOAD_COLUMNS`.
        """
        axes = current_axes(axes)
        predicted = f"predicted_{check_in('column', column, LOAD_COLUMNS)}"
        file = self.folder / "samples" / "heldout_prediction.parquet"
        table = read_table(file, ("compartment", column, predicted))
        for name, rows in table.groupby("compartment", sort=False):
            axes.plot(rows[column], rows[predicted], ".", label=name)
        axes.axline((0.0, 0.0), slope=1.0, color="0.7", zorder=0)
        axes.set(xlabel=f"contact model: {column}", ylabel=f"surrogate: {column}")
        axes.legend()
        return axes

    def pressure_map(self, pose: Pose, model: str = "original") -> PressureMap:
        """Return the pressure on the tibia at a pose, of the "original" or of the "surrogate".

        Raises `InputError` for another model, a surrogate without pressure fields, or a run whose
        original model is a table.
        """
        contact = self.reference_model
        if check_in("model", model, ("original", "surrogate")) == "original":
            return PressureMap(contact.tibia, contact.spring_state(pose).pressure)
        return PressureMap(contact.tibia, self.surrogate.pressure_field(pose).pressure)

    def compare(self, other: TrainedRun) -> pd.DataFrame:
        """Return the figures of this run and of another one, and their difference, by key."""
        pair = self.figures.value.rename("this"), other.figures.value.rename("other")
        table = pd.concat(pair, axis=1, join="inner")
        return table.assign(difference=table.other - table.this)

    @cached_property
    def gait(self) -> GaitSimulation:
        """The gait cycle of the run."""
        return GaitSimulation.of(self.config.simulation, self.path)

    def samples(self, name: str) -> pd.DataFrame:
        """Return a table of evaluated samples, such as "first", "kept" or "heldout"."""
        columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
        return read_table(self.folder / "samples" / f"{name}.parquet", columns)
