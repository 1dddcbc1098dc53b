"""Files of a run directory that a report is made of, read with errors that name the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

import surrogates
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.reports.pressure_field import ContactFields, contact_fields
from pipeline.stages.gait_cycle import Frames, WearOfCycle, shapes_of
from pipeline.store.documents import (
    ReportError,
    check_faces,
    damaged,
    make_again,
    read_arrays,
    read_bytes,
    read_document,
)
from pipeline.store.figures import Figures, Validation
from pipeline.store.job import check_configuration, check_finished, check_single_knee, made_from
from pipeline.store.quantities import CATALOGUE
from pipeline.store.run_documents import (
    ELASTIC_LAYER,
    MODELS,
    Combinations,
    ElasticLayer,
    PathKnots,
    RunRecord,
    Simulation,
)
from pipeline.store.samples import POSE_COLUMNS, StoreError, read_table, unit_of
from surrogates.files.persistence import SurrogateFileError
from surrogates.formulations.contact_surrogate import ContactSurrogate

_CYCLE_COLUMNS = (
    *("model", "time_s", "gait_percent"),
    *POSE_COLUMNS,
    *(f"{where}_{c}" for where in (*COMPARTMENTS, "total") for c in LOAD_COLUMNS),
)
_PREDICTED_COLUMNS = (
    *("compartment", *POSE_COLUMNS, *LOAD_COLUMNS),
    *(f"predicted_{c}" for c in LOAD_COLUMNS),
)
#: Columns with differences over the cycle that the headline of the report shows.
HEADLINE_COLUMNS = (
    *("medial_force_y_N", "anterior_m"),
    *("medial_peak_pressure_Pa", "lateral_peak_pressure_Pa"),
)
#: Columns of the peak pressures of the compartments in the cycle.
PEAK_COLUMNS = [f"{name}_peak_pressure_Pa" for name in COMPARTMENTS]
_RESULT = ("compartment", "status", "reason")

Arrays = TypeVar("Arrays", Frames, WearOfCycle)


@dataclass(frozen=True, eq=False)
class RunFiles:
    """Content of a run directory, a field per file; None for files that a run lacks."""

    config: dict[str, Any]
    run: RunRecord
    path: PathKnots
    validation: Validation
    simulation: Simulation | None
    first: pd.DataFrame
    screened: pd.DataFrame
    kept: pd.DataFrame
    held_out: pd.DataFrame
    predictions: pd.DataFrame
    cycle: pd.DataFrame | None
    frames: Frames | None = None
    wear: WearOfCycle | None = None
    combinations: Combinations | None = None
    knee: ContactSurrogate | None = None
    layer: ElasticLayer | None = None

    @cached_property
    def cycles(self) -> dict[str, pd.DataFrame]:
        """Simulated cycle of each model of the run, in the order of `MODELS`; none without one."""
        if (cycle := self.cycle) is None:
            return {}
        tables = {name: cycle[cycle["model"] == name].reset_index(drop=True) for name in MODELS}
        return {name: table for name, table in tables.items() if len(table)}

    @property
    def compartments(self) -> tuple[str, ...]:
        """Names of the compartments."""
        return _names(self.config)

    @cached_property
    def fields(self) -> ContactFields | None:
        """Pressure fields of the frames, None without frames."""
        if self.frames is None:
            return None
        cycle = self.cycles[MODELS[0]]
        rows = nearest_rows(cycle, self.frames.gait_percent)
        return contact_fields(self.frames, rows[PEAK_COLUMNS].to_numpy(dtype=np.float64))

    @cached_property
    def hidden(self) -> set[str]:
        """Names of the quantities that the original model, a table, does not contain."""
        names = {CATALOGUE[column].name for column in self.run.not_given}
        return names | {"cop_distance"} if "cop_x" in names else names

    @cached_property
    def figures(self) -> Figures:
        """Figures of the run that are shown."""
        return self.validation.figures.without(self.hidden)


def nearest_rows(cycle: pd.DataFrame, percent: FloatArray) -> pd.DataFrame:
    """Return the rows of a cycle that are nearest to instants (K,) [% of the cycle]."""
    cycle_percent = cycle["gait_percent"].to_numpy()
    return cycle.iloc[[int(np.abs(cycle_percent - instant).argmin()) for instant in percent]]


def read_run(folder: Path) -> RunFiles:
    """Read the files of a finished run; a `ReportError` names a missing or damaged file."""
    check_single_knee(folder)
    check_finished(folder)
    # The page shows the keys that the run was made with, also those that change no number.
    check_configuration(folder)
    config = made_from(folder)
    modelled = config["original"]["kind"] == "model"
    simulated = config["simulation"]["kind"] == "gait"
    content: dict[str, Any] = {
        "run": read_document(folder / "run.json", RunRecord),
        "path": read_document(folder / "path.json", PathKnots),
        "validation": read_document(folder / "validation.json", Validation),
        "simulation": None,
        "cycle": None,
        "screened": _table(folder / "samples/screened.parquet", ("screening", "drop_reason")),
    }
    for name, file in (("first", "first"), ("kept", "kept"), ("held_out", "heldout")):
        content[name] = _table(folder / f"samples/{file}.parquet", _RESULT)
    predictions = folder / "samples/heldout_prediction.parquet"
    compartments = ("compartment", _names(config))
    content["predictions"] = _table(predictions, _PREDICTED_COLUMNS, compartments)
    if simulated:
        content["simulation"] = read_document(folder / "simulation.json", Simulation)
        models = ("model", MODELS if modelled else MODELS[1:])
        content["cycle"] = _table(folder / "simulation.parquet", _CYCLE_COLUMNS, models)
    for name, (file, read) in _OPTIONAL.items():
        if (folder / file).exists():
            content[name] = read(folder / file)
    files = RunFiles(config=config, **content)
    _check_together(folder, files, modelled=modelled)
    return files


def _names(config: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(config["knee"]["compartments"])


def _surrogate(path: Path) -> ContactSurrogate:
    try:
        return surrogates.load(path)
    except SurrogateFileError as error:
        raise ReportError(f"{error}; make it again with `{make_again(path)}`") from error


def _table(
    path: Path, columns: tuple[str, ...], rows: tuple[str, tuple[str, ...]] | None = None
) -> pd.DataFrame:
    """Read a table with some columns, and with a column's values if `rows` are given."""
    read_bytes(path)
    try:
        table = read_table(path)
    except StoreError as error:
        raise damaged(path, "not a Parquet table") from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise damaged(path, f"lacks the columns {', '.join(missing)}")
    for name in columns:
        if unit_of(name) and not is_numeric_dtype(table[name]):
            raise damaged(path, f"{name}: expected numbers, found {table[name].dtype}")
    if rows is not None:
        column, values = rows
        missing = [value for value in values if value not in set(table[column])]
        if missing:
            raise damaged(path, f"lacks the rows of the {' and the '.join(missing)} {column}")
        for name in POSE_COLUMNS + (("gait_percent",) if "gait_percent" in columns else ()):
            if not np.isfinite(table[name]).all():
                raise damaged(path, f"{name}: expected finite numbers, found nan or inf")
    return table


def _arrays(
    path: Path, kind: type[Arrays], faces: Mapping[str, str], **allowed: tuple[str, ...]
) -> Arrays:
    """Read the arrays of a dataclass; `faces` are names of triangles and of their vertices."""
    arrays = read_arrays(path, shapes_of(kind), **allowed)
    for name, vertices in faces.items():
        check_faces(path, name, arrays[name], arrays[vertices])
    return kind(**arrays)


def _frames(path: Path) -> Frames:
    faces = {f"{body}_faces": f"{body}_vertices" for body in ("femur", "tibia")}
    return _arrays(path, Frames, faces, undefined=("centre_m",))


def _wear(path: Path) -> WearOfCycle:
    return _arrays(path, WearOfCycle, {"faces": "vertices"}, undefined=("footprint",))


#: Files that a run may lack.
_OPTIONAL: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "frames": ("frames.npz", _frames),
    "wear": ("wear.npz", _wear),
    "combinations": ("combinations.json", lambda path: read_document(path, Combinations)),
    "knee": ("knee.npz", _surrogate),
    "layer": (ELASTIC_LAYER, lambda path: read_document(path, ElasticLayer)),
}


def _check_together(folder: Path, files: RunFiles, *, modelled: bool) -> None:
    """Check that the files of a run agree with each other."""
    run, simulation = files.run, files.simulation
    kind = "model" if modelled else "table"
    if run.original.kind != kind or (run.triangles is not None) != modelled:
        raise damaged(folder / "run.json", f"expected a run of a {kind} as in config.toml")
    names = files.compartments
    for file, stated in (
        ("run.json", [name for name in run.counts if name != "total"]),
        ("validation.json", list(files.validation.parts)),
        ("knee.npz", names if files.knee is None else files.knee.compartments),
    ):
        if tuple(stated) != names:
            raise damaged(folder / file, f"expected the compartments {', '.join(names)}")
    if simulation is None:
        return
    path, models = folder / "simulation.json", MODELS if modelled else MODELS[1:]
    if set(simulation.statistics) != set(models):
        raise damaged(path, f"statistics: expected those of {' and '.join(models)}")
    if (simulation.speed is not None) != modelled:
        raise damaged(path, f"speed: expected {'times' if modelled else 'null'}")
    columns = simulation.differences
    wrong = [name for name in HEADLINE_COLUMNS if (name in columns) != modelled]
    if wrong or bool(columns) != modelled:
        raise damaged(path, f"differences: expected {'those' if modelled else 'none'} of {wrong}")
