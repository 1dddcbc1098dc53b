"""The files of a run directory that the report is made of, read with errors that name them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

import surrogates
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.config.reading import ConfigError, checked_section, dump_config
from pipeline.config.schema import Config
from pipeline.stages.combinations import TABLE_COLUMNS
from pipeline.stages.frames import Frames, WearOfCycle
from pipeline.store.combinations_document import Combinations
from pipeline.store.documents import (
    ReportError,
    Shape,
    check_faces,
    damaged,
    make_again,
    read_arrays,
    read_bytes,
    read_document,
)
from pipeline.store.made_with import check_configuration
from pipeline.store.run_documents import (
    MODELS,
    PathKnots,
    RunRecord,
    Simulation,
)
from pipeline.store.sample_schema import unit_of
from pipeline.store.samples import POSE_COLUMNS, StoreError, read_table
from pipeline.store.validation_document import Validation
from surrogates.files.persistence import SurrogateFileError
from surrogates.formulations.whole_knee import AnyKnee

_CYCLE_COLUMNS = (
    *("model", "time_s", "gait_percent"),
    *POSE_COLUMNS,
    *(f"{where}_{c}" for where in (*COMPARTMENTS, "total") for c in LOAD_COLUMNS),
)
_PREDICTED_COLUMNS = (
    *("compartment", *POSE_COLUMNS, *LOAD_COLUMNS),
    *(f"predicted_{c}" for c in LOAD_COLUMNS),
)
_SECTIONS = (
    *("knee", "contact", "space", "design", "feasibility"),
    *("surrogate", "validation"),
)
#: Columns whose differences over the cycle are in the headline of the report.
HEADLINE_COLUMNS = (
    *("medial_force_y_N", "anterior_m"),
    *("medial_peak_pressure_Pa", "lateral_peak_pressure_Pa"),
)
_MAPS: dict[str, Shape] = {
    "vertices": ("V", 3),
    "faces": ("F", 3),
    "gait_percent": ("K",),
    "pressure_Pa": (2, "K", "F"),
}
_FRAMES: dict[str, Shape] = {
    "gait_percent": ("K",),
    "poses": ("K", 6),
    "femur_vertices": ("V", 3),
    "femur_faces": ("G", 3),
    "tibia_vertices": ("U", 3),
    "tibia_faces": ("F", 3),
    "pressure_Pa": ("K", "F"),
    "peak_Pa": (2, "K"),
    "centre_m": (2, "K", 2, 3),
    "surrogate_poses": ("K", 6),
    "surrogate_pressure_Pa": ("K", "F"),
}
_WEAR: dict[str, Shape] = {
    "factor_per_Pa": (),
    "density_kg_per_m3": (),
    "volume_m3": (2, 2),
    "depth_m": (2, "F"),
    "aspect": (2,),
    "ratio": (2,),
}
_RESULT = ("compartment", "status", "reason")


@dataclass(frozen=True, eq=False)
class PressureMaps:
    """Pressures on the plateau at a few instants, at the poses that each model led to.

    Parameters
    ----------
    vertices : (V, 3) float64
        Tibial frame [m].
    faces : (F, 3) int64
        Triangles.
    gait_percent : (K,) float64
        Instants [% of the cycle].
    pressure : (2, K, F) float64
        Of the poses of the original and the surrogate [Pa].
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    gait_percent: NDArray[np.float64]
    pressure: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunFiles:
    """The content of a run directory, one field per file.

    The maps and what follows are None if the run has no such file: those made without combinations,
    or of a table of poses and loads, which has no pressures on a plateau.
    """

    config: dict[str, Any]
    run: dict[str, Any]
    path: dict[str, Any]
    validation: dict[str, Any]
    simulation: dict[str, Any]
    first: pd.DataFrame
    screened: pd.DataFrame
    kept: pd.DataFrame
    held_out: pd.DataFrame
    predictions: pd.DataFrame
    cycle: pd.DataFrame
    maps: PressureMaps | None = None
    frames: Frames | None = None
    wear: WearOfCycle | None = None
    combinations: dict[str, Any] | None = None
    combination_cycles: pd.DataFrame | None = None
    knee: AnyKnee | None = None


def read_run(folder: Path) -> RunFiles:
    """Read what the report needs of a run directory.

    Parameters
    ----------
    folder : Path
        A run directory in which all stages have ended.

    Raises
    ------
    ReportError
        If a file is missing or damaged; the message names it and says what to do.
    RunError
        If `config.toml` was changed since the run was made.
    """
    if not folder.is_dir():
        raise ReportError(f"{folder}: no such run directory; make it with `{make_again(folder)}`")
    samples = folder / "samples"
    # Of keys that change no number, too, the page tells those that the run was made with.
    config = check_configuration(folder) or _config(folder / "config.toml")
    modelled = config["original"]["kind"] == "model"
    files = RunFiles(
        config=config,
        run=read_document(folder / "run.json", RunRecord),
        path=read_document(folder / "path.json", PathKnots),
        validation=read_document(folder / "validation.json", Validation),
        simulation=read_document(folder / "simulation.json", Simulation),
        first=_table(samples / "first.parquet", _RESULT),
        screened=_table(samples / "screened.parquet", ("screening", "drop_reason")),
        kept=_table(samples / "kept.parquet", _RESULT),
        held_out=_table(samples / "heldout.parquet", _RESULT),
        predictions=_predictions(samples / "heldout_prediction.parquet"),
        cycle=_cycle(folder / "simulation.parquet", MODELS if modelled else MODELS[1:]),
        maps=_maps(folder / "pressure_maps.npz") if modelled else None,
        **_of_the_cycle(folder),
    )
    return _check_together(folder, files, modelled=modelled)


def _of_the_cycle(folder: Path) -> dict[str, Any]:
    """Read what a run may be without: frames, wear, combinations, its surrogate."""
    read: dict[str, tuple[str, Callable[[Path], Any]]] = {
        "frames": ("frames.npz", _frames),
        "wear": ("wear.npz", _wear),
        "combinations": ("combinations.json", lambda path: read_document(path, Combinations)),
        "combination_cycles": ("combinations.parquet", _varied),
        "knee": ("knee.npz", _surrogate),
    }
    paths = {name: folder / file for name, (file, _) in read.items()}
    return {name: read[name][1](path) for name, path in paths.items() if path.exists()}


def _surrogate(path: Path) -> AnyKnee:
    try:
        return surrogates.load(path)
    except SurrogateFileError as error:
        raise ReportError(f"{error}; make it again with `{make_again(path)}`") from error


def _config(path: Path) -> dict[str, Any]:
    """Read the configuration of a run, every default included."""
    try:
        content = tomllib.loads(read_bytes(path).decode("utf-8"))
    except (RecursionError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise damaged(path, f"no TOML: {error}") from error
    missing = [name for name in _SECTIONS if name not in content]
    if missing:
        raise damaged(path, f"lacks {', '.join(missing)}")
    try:
        config = checked_section(content, Config, "")
    except ConfigError as error:
        raise damaged(path, str(error).removeprefix(": ")) from error
    return tomllib.loads(dump_config(config))


def _table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    read_bytes(path)
    try:
        table = read_table(path)
    except StoreError as error:
        raise damaged(path, "no Parquet table") from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise damaged(path, f"lacks the columns {', '.join(missing)}")
    words = [name for name in columns if unit_of(name) and not is_numeric_dtype(table[name])]
    if words:
        raise damaged(path, f"{words[0]}: expected numbers, found others")
    return table


def _cycle(path: Path, models: tuple[str, ...]) -> pd.DataFrame:
    table = _table(path, _CYCLE_COLUMNS)
    missing = [name for name in models if name not in set(table["model"])]
    if missing:
        raise damaged(path, f"lacks the rows of the {' and the '.join(missing)} model")
    _check_finite(path, table, ("gait_percent", *POSE_COLUMNS))
    return table


def _predictions(path: Path) -> pd.DataFrame:
    table = _table(path, _PREDICTED_COLUMNS)
    missing = [name for name in COMPARTMENTS if name not in set(table["compartment"])]
    if missing:
        raise damaged(path, f"lacks the rows of the {' and the '.join(missing)} compartment")
    _check_finite(path, table, POSE_COLUMNS)
    return table


def _varied(path: Path) -> pd.DataFrame:
    table = _table(path, TABLE_COLUMNS)
    rows = table.groupby(["model", "combination"]).size()
    if rows.nunique() > 1:
        raise damaged(path, f"expected as many rows of every cycle, found {sorted(set(rows))}")
    return table


def _check_finite(path: Path, table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    for name in columns:
        if not np.isfinite(table[name]).all():
            raise damaged(path, f"{name}: expected finite numbers, found others")


def _maps(path: Path) -> PressureMaps:
    stored = read_arrays(path, _MAPS)
    check_faces(path, "faces", stored["faces"], stored["vertices"])
    return PressureMaps(*(stored[name] for name in _MAPS))


def _frames(path: Path) -> Frames:
    later = ("surrogate_poses", "surrogate_pressure_Pa")  # earlier versions did not write them
    stored = read_arrays(path, _FRAMES, optional=later, undefined=("centre_m",))
    for body in ("femur", "tibia"):
        name = f"{body}_faces"
        check_faces(path, name, stored[name], stored[f"{body}_vertices"])
    return Frames(**stored)


def _wear(path: Path) -> WearOfCycle:
    return WearOfCycle(**read_arrays(path, _WEAR))


def _check_together(folder: Path, files: RunFiles, *, modelled: bool) -> RunFiles:
    """Compare what the files of a run say of each other."""
    kind = "model" if modelled else "table"
    original = files.run.get("original", {"kind": "model"})
    if original["kind"] != kind or (files.run["triangles"] is not None) != modelled:
        raise damaged(folder / "run.json", f"expected a run of a {kind}, as config.toml says")
    simulation, path = files.simulation, folder / "simulation.json"
    wanted = MODELS if modelled else MODELS[1:]
    if set(simulation["statistics"]) != set(wanted):
        raise damaged(path, f"statistics: expected those of {' and '.join(wanted)}")
    if (simulation["speed"] is not None) != modelled:
        raise damaged(path, f"speed: expected it {'' if modelled else 'not '}to be known")
    found = {row["column"] for row in simulation["differences"]}
    lacking = [name for name in HEADLINE_COLUMNS if (name in found) != modelled]
    if lacking or bool(found) != modelled:
        raise damaged(path, f"differences: expected {'those' if modelled else 'none'} of {lacking}")
    if files.maps is not None and files.wear is not None:
        expected, depths = len(files.maps.faces), files.wear.depth_m.shape[1]
        if depths != expected:
            raise damaged(folder / "wear.npz", f"expected {expected} depths, found {depths}")
    return files
