"""The files of a run directory that the report is made of, read with errors that name them."""

from __future__ import annotations

import json
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import surrogates
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.advice import command_line
from pipeline.combinations import TABLE_COLUMNS
from pipeline.files import check_version
from pipeline.frames import Frames, WearOfCycle
from pipeline.made_with import check_configuration
from pipeline.store.samples import POSE_COLUMNS, StoreError, read_table
from surrogates.persistence import SurrogateFileError
from surrogates.whole_knee import AnyKnee

# Files of stage h, by their stems.
_SIMULATED = ("simulation", "pressure_maps", "frames", "wear", "combinations")
#: Models in the order of the report.
MODELS = ("original", "surrogate")

_CYCLE_COLUMNS = (
    *("model", "time_s", "gait_percent"),
    *POSE_COLUMNS,
    *(f"{where}_{c}" for where in (*COMPARTMENTS, "total") for c in LOAD_COLUMNS),
)
_PREDICTED_COLUMNS = ("compartment", *LOAD_COLUMNS, *(f"predicted_{c}" for c in LOAD_COLUMNS))
_SECTIONS = (
    *("knee", "contact", "space", "design", "feasibility"),
    *("surrogate", "validation"),
)
_RESULT = ("compartment", "status", "reason")


class ReportError(ValueError):
    """A run directory that no report can be made of; the message names the file and the remedy."""


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
        raise ReportError(f"{folder}: no such run directory; make it with `{_again(folder)}`")
    samples = folder / "samples"
    config = _toml(folder / "config.toml", _SECTIONS)
    # Of keys that change no number, too, the page tells those that the run was made with.
    config = check_configuration(folder) or config
    modelled = config.get("original", {}).get("kind", "model") == "model"
    return RunFiles(
        config=config,
        run=_json(folder / "run.json", ("name", "seed", "triangles", "counts", "seconds")),
        path=_json(folder / "path.json", ("flexion_rad", "coordinates_rad_m")),
        validation=_json(folder / "validation.json", ("models", "first", "learning_curve")),
        simulation=_json(folder / "simulation.json", ("statistics", "differences", "speed")),
        first=_table(samples / "first.parquet", _RESULT),
        screened=_table(samples / "screened.parquet", ("screening", "drop_reason")),
        kept=_table(samples / "kept.parquet", _RESULT),
        held_out=_table(samples / "heldout.parquet", _RESULT),
        predictions=_table(samples / "heldout_prediction.parquet", _PREDICTED_COLUMNS),
        cycle=_cycle(folder / "simulation.parquet", MODELS if modelled else MODELS[1:]),
        maps=_maps(folder / "pressure_maps.npz") if modelled else None,
        **_of_the_cycle(folder),
    )


def _of_the_cycle(folder: Path) -> dict[str, Any]:
    """Read what a run may be without: frames, wear, combinations, its surrogate."""
    read: dict[str, tuple[str, Callable[[Path], Any]]] = {
        "frames": ("frames.npz", lambda path: _arrays(path, Frames)),
        "wear": ("wear.npz", lambda path: _arrays(path, WearOfCycle)),
        "combinations": (
            "combinations.json",
            lambda path: _json(path, ("wear_factor_per_Pa", "combinations")),
        ),
        "combination_cycles": ("combinations.parquet", lambda path: _table(path, TABLE_COLUMNS)),
        "knee": ("knee.npz", _surrogate),
    }
    paths = {name: folder / file for name, (file, _) in read.items()}
    return {name: read[name][1](path) for name, path in paths.items() if path.exists()}


def _surrogate(path: Path) -> AnyKnee:
    try:
        return surrogates.load(path)
    except SurrogateFileError as error:
        raise ReportError(f"{error}; make it again with `{_again(path)}`") from error


@contextmanager
def content_of(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file's content is used into an error that names the file."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ReportError):
            raise
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise _damaged(path, what) from error


def _again(path: Path) -> str:
    """Return the command that makes a file of a run directory again."""
    simulated = path.stem in _SIMULATED
    folder = path.parent if path.suffix else path
    if folder.name == "samples":
        folder = folder.parent
    if simulated:
        return command_line("simulate", folder)
    return command_line("run", "CONFIG", "--out", folder, "--resume")


def _damaged(path: Path, what: str) -> ReportError:
    return ReportError(
        f"{path}: damaged ({what}); delete it and make it again with `{_again(path)}`"
    )


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: missing; the run did not end: go on with `{_again(path)}`"
        raise ReportError(message) from error
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error


def _toml(path: Path, sections: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = tomllib.loads(_read_bytes(path).decode("utf-8"))
    except ValueError as error:
        if isinstance(error, ReportError):
            raise
        raise _damaged(path, f"no TOML: {error}") from error
    _check_keys(path, content, sections)
    return content


def _json(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = json.loads(_read_bytes(path).decode("utf-8"))
    except ValueError as error:
        if isinstance(error, ReportError):
            raise
        raise _damaged(path, f"no JSON: {error}") from error
    if not isinstance(content, dict):
        raise _damaged(path, f"expected an object, found {type(content).__name__}")
    try:
        check_version(content)
    except ValueError as error:
        raise ReportError(f"{path}: {error}") from error
    _check_keys(path, content, keys)
    return content


def _check_keys(path: Path, content: dict[str, Any], keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if key not in content]
    if missing:
        raise _damaged(path, f"lacks {', '.join(missing)}")


def _table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    _read_bytes(path)
    try:
        table = read_table(path)
    except StoreError as error:
        raise _damaged(path, "no Parquet table") from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise _damaged(path, f"lacks the columns {', '.join(missing)}")
    return table


def _cycle(path: Path, models: tuple[str, ...]) -> pd.DataFrame:
    table = _table(path, _CYCLE_COLUMNS)
    missing = [name for name in models if name not in set(table["model"])]
    if missing:
        raise _damaged(path, f"lacks the rows of the {' and the '.join(missing)} model")
    return table


def _maps(path: Path) -> PressureMaps:
    _read_bytes(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = ("vertices", "faces", "gait_percent", "pressure_Pa")
            maps = PressureMaps(*(stored[name] for name in names))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise _damaged(path, str(error)) from error
    expected = (len(MODELS), len(maps.gait_percent), len(maps.faces))
    if maps.pressure.shape != expected or not np.isfinite(maps.pressure).all():
        shape = maps.pressure.shape
        raise _damaged(path, f"expected finite pressures of shape {expected}, found {shape}")
    return maps


def _arrays(path: Path, kind: type[Any]) -> Any:
    """Read a dataclass of arrays from a file that holds them by name."""
    _read_bytes(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            # What has a default may be missing: earlier versions did not write it.
            names = [f.name for f in fields(kind) if f.default is MISSING or f.name in stored.files]
            return kind(**{name: stored[name] for name in names})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise _damaged(path, str(error)) from error
