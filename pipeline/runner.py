"""A run: the stages in order, their files, progress, resumption and times."""

from __future__ import annotations

import json
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import surrogates
from dynamics.result import Flag, SimulationResult
from foundation.pose import Pose
from pipeline import stages
from pipeline.assessment import assess, prediction_table, speed
from pipeline.config import Config, dump_config, load_config, write_config
from pipeline.original import Knee, build_knee, parallel_evaluation
from pipeline.report import write_report
from pipeline.report_inputs import content_of
from pipeline.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    ChunkStore,
    digest,
    poses_of,
    read_table,
    write_table,
)
from pipeline.simulation import (
    compare_cycles,
    gait_cycle,
    gait_simulator,
    reference_path,
    simulate_gait,
    simulation_table,
)
from surrogates.knee import KneeSurrogate
from surrogates.space import ReferencePath, SampleSpace

#: Keys of a configuration that change how a run is carried out but no number of it.
_FREE_KEYS = ("workers", "chunk")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "trimesh", "joblib", "numba", "pandas")
#: Instants of the cycle at which the pressure is mapped [% of the cycle].
MAP_INSTANTS = (13.0, 25.0, 45.0, 70.0)


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
        self.workers = config.run.workers or os.cpu_count() or 1

    def prepare(self, *, resume: bool) -> None:
        """Make the run directory, or check that the one to be resumed belongs to this study.

        Raises
        ------
        RunError
            If the directory holds something else, or was begun with another configuration.
        """
        stored = self.folder / "config.toml"
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(f"{self.folder}: expected a folder, found a file; choose another --out")
        if resume and stored.exists():
            changed = _changed_keys(stored, dump_config(self.config))
            if changed:
                raise RunError(
                    f"{self.folder}: begun with another configuration, which differs in "
                    f"{', '.join(changed)}; run it without --resume or with another --out"
                )
        elif self.folder.exists() and any(self.folder.iterdir()) and not stored.exists():
            raise RunError(
                f"{self.folder}: not empty and no run directory; choose another with --out"
            )
        elif stored.exists():
            self._clear()
        (self.folder / "samples").mkdir(parents=True, exist_ok=True)
        write_config(self.config, stored)

    def _clear(self) -> None:
        """Remove the files of an earlier run, and only those."""
        names = (
            "knee.npz", "path.json", "validation.json", "simulation.parquet", "simulation.json",
            "report.html", "report.json", "run.json", "pressure_maps.npz",
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
        self.seconds[stage] = time.perf_counter() - start

    def evaluator(self, knee: Knee, name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """Return the evaluation of a stage: parallel, in stored chunks, with progress."""

        def evaluate(table: pd.DataFrame) -> pd.DataFrame:
            store = ChunkStore(self.folder / "samples" / f"chunks-{name}")
            with tqdm(total=len(table), unit="sample", desc=name, disable=self.quiet) as bar:

                def advance(rows: int) -> None:
                    bar.update(rows)

                return store.evaluate(
                    table,
                    self.config.run.chunk,
                    parallel_evaluation(knee.model, self.workers),
                    advance,
                )

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


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically; NaN and infinity are refused."""
    partial = path.with_suffix(".partial")
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    partial.write_text(text + "\n", encoding="utf-8")
    os.replace(partial, path)


def run_study(
    config: Config, folder: Path, *, resume: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Carry out stages a to h and write the run directory.

    Parameters
    ----------
    config : Config
        The study.
    folder : Path
        The run directory.
    resume : bool
        Whether to go on with what an interrupted run left there.
    quiet : bool
        Whether to leave out progress bars.

    Returns
    -------
    dict
        The content of `report.json`.
    """
    run = Run(config, folder, quiet=quiet)
    # What cannot be used is told before an earlier run's files are touched or hours are spent.
    with run.timed("knee"):
        gait_cycle(config.simulation)
        knee = build_knee(config)
    run.prepare(resume=resume)
    with run.timed("reference path"):
        space = sample_space(config, _stored_path(run, knee))
    samples, first, counts = _training_samples(run, knee, space)
    with run.timed("g: final surrogates"):
        trained = _fit_all(run, samples, space)
    with run.timed("held-out samples"):
        held_out = run.table(
            "heldout",
            lambda: run.evaluator(knee, "heldout")(
                stages.held_out_samples(space, config.validation)
            ),
        )
    with run.timed("validation"):
        validation = _validate(run, trained, first, held_out)
    main = _with_header(run, trained[0], knee, samples, validation)
    surrogates.save(main, folder / "knee.npz")
    with run.timed("h: gait simulation"):
        _simulate(run, knee, main, space.path)
    run.write_json("run.json", _provenance(run, knee, samples, held_out, counts))
    return write_report(folder)


def _finished_run(folder: Path) -> tuple[Run, KneeSurrogate]:
    """Open a run directory that holds a trained surrogate."""
    for name in ("config.toml", "path.json", "run.json", "knee.npz"):
        if not (folder / name).is_file():
            raise RunError(f"{folder}: no finished run, {name} is missing; start with `run`")
    return Run(load_config(folder / "config.toml"), folder), surrogates.load(folder / "knee.npz")


def validate_again(folder: Path) -> dict[str, Any]:
    """Judge a run's surrogate on its held-out samples again and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, knee = _finished_run(folder)
    columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
    held_out = read_table(folder / "samples" / "heldout.parquet", columns)
    with content_of(folder / "validation.json"):
        stored = json.loads((folder / "validation.json").read_text(encoding="utf-8"))
        times = {"fit_seconds": stored["models"][0]["fit_seconds"]}
    judged = KneeSurrogate(knee.medial, knee.lateral, {**knee.header, **times})
    stored["models"][0] = assess(judged, held_out, run.config.feasibility)
    run.write_json("validation.json", stored)
    return write_report(folder)


def simulate_again(folder: Path) -> dict[str, Any]:
    """Repeat a run's gait simulation with both models and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = _finished_run(folder)
    knee = build_knee(run.config)
    _simulate(run, knee, main, _read_path(folder / "path.json", knee))
    return write_report(folder)


def bench(folder: Path) -> dict[str, float]:
    """Return the time of one evaluation of a run's original model and surrogate, and their ratio.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = _finished_run(folder)
    knee = build_knee(run.config)
    _read_path(folder / "path.json", knee)
    table = read_table(folder / "simulation.parquet", ("model", *POSE_COLUMNS))
    return speed(knee.model, main, poses_of(table[table["model"] == "original"]))


def _stored_path(run: Run, knee: Knee) -> ReferencePath:
    """Return the reference path: the stored one of a resumed run, or found now."""
    file = run.folder / "path.json"
    if not file.exists():
        path = reference_path(run.config, knee)
        content = {
            "original": knee.digest,
            "flexion_rad": path.flexion.tolist(),
            "coordinates_rad_m": path.coordinates.tolist(),
        }
        run.write_json("path.json", content)
    return _read_path(file, knee)


def _read_path(file: Path, knee: Knee) -> ReferencePath:
    """Read a stored path, and see that what was begun with one knee is not ended with another."""
    with content_of(file):
        stored = json.loads(file.read_text(encoding="utf-8"))
        begun = stored.get("original", knee.digest)
        path = ReferencePath(stored["flexion_rad"], stored["coordinates_rad_m"])
    if begun != knee.digest:
        raise RunError(
            f"{file.parent}: begun with another knee: the surfaces have changed since under the "
            "same names; run it without --resume or with another --out"
        )
    return path


def sample_space(config: Config, path: ReferencePath) -> SampleSpace:
    """Return the sample space of a study about its reference path."""
    space = config.space
    offsets = np.array(
        [
            np.radians(space.adduction_deg),
            np.radians(space.rotation_deg),
            1e-3 * space.anterior_mm,
            1e-3 * space.lateral_mm,
        ]
    )
    return SampleSpace(path, np.radians(space.flexion_deg), offsets, np.array(space.load_N))


def _training_samples(
    run: Run, knee: Knee, space: SampleSpace
) -> tuple[pd.DataFrame, KneeSurrogate, dict[str, Any]]:
    """Stages a to f: return the training samples, the first surrogates and the counts."""
    config = run.config
    with run.timed("a: candidates"):
        candidates = run.table(
            "candidates", lambda: stages.choose_samples(space, config.design, config.run.seed)
        )
    with run.timed("b: first evaluations"):
        first = run.table(
            "first", lambda: stages.evaluate_first(candidates, run.evaluator(knee, "first"))
        )
    with run.timed("c: first surrogates"):
        pair = ("inverted", config.surrogate.family)
        early = stages.fit_surrogates(first, space, config.surrogate, pair, config.run.seed)
    with run.timed("d: predictions"):
        predicted = stages.predict_candidates(candidates, early)
    with run.timed("e: feasibility"):
        screened = run.table(
            "screened", lambda: stages.screen_candidates(predicted, config.feasibility)
        )
    with run.timed("f: kept evaluations"):
        kept = run.table(
            "kept",
            lambda: stages.evaluate_kept(screened, candidates, run.evaluator(knee, "kept")),
        )
    training = stages.training_samples(first, kept, config.feasibility)
    return training, early, stages.bookkeeping(candidates, first, screened, kept, training)


def _fit_all(run: Run, samples: pd.DataFrame, space: SampleSpace) -> list[KneeSurrogate]:
    """Stage g: fit the main surrogate and those it is compared with."""
    settings = run.config.surrogate
    main = (settings.formulation, settings.family)
    others = [pair for pair in settings.compare if pair != main]
    trained = []
    for pair in tqdm([main, *others], desc="fits", disable=run.quiet):
        start = time.perf_counter()
        knee = stages.fit_surrogates(samples, space, settings, pair, run.config.run.seed)
        header = {
            "name": run.config.run.name,
            "family": pair[1],
            "fit_seconds": time.perf_counter() - start,
        }
        trained.append(KneeSurrogate(knee.medial, knee.lateral, header))
    return trained


def _validate(
    run: Run, trained: list[KneeSurrogate], first: KneeSurrogate, held_out: pd.DataFrame
) -> dict[str, Any]:
    """Judge every surrogate on the held-out samples; keep the main one's predictions."""
    feasibility = run.config.feasibility
    content = {
        "models": [assess(knee, held_out, feasibility) for knee in trained],
        "first": assess(
            KneeSurrogate(first.medial, first.lateral, {"family": run.config.surrogate.family}),
            held_out,
            feasibility,
        ),
    }
    write_table(
        prediction_table(trained[0], held_out, feasibility),
        run.folder / "samples" / "heldout_prediction.parquet",
    )
    run.write_json("validation.json", content)
    return content


def _with_header(
    run: Run, knee: KneeSurrogate, original: Knee, samples: pd.DataFrame, validation: dict[str, Any]
) -> KneeSurrogate:
    """Return the main surrogate with its errors and provenance in the header."""
    header = {
        **{k: v for k, v in knee.header.items() if k != "fit_seconds"},
        "errors": validation["models"][0]["compartments"],
        "provenance": {
            "package": version("knee-contact"),
            "original": original.digest,
            "samples": digest(samples),
            "seed": run.config.run.seed,
        },
    }
    return KneeSurrogate(knee.medial, knee.lateral, header)


def _simulate(run: Run, knee: Knee, main: KneeSurrogate, path: ReferencePath) -> None:
    """Stage h: both models through the same simulator; tables, maps and figures."""
    config = run.config.simulation
    start = Pose.from_array(path.poses(np.zeros(1))[0])
    simulator = gait_simulator(config, path)
    results = {}
    for name, model in (("surrogate", main), ("original", knee.model)):
        with tqdm(total=100, unit="%", desc=name, disable=run.quiet) as bar:
            results[name] = simulate_gait(model, simulator, config, start, _percent(bar))
    table = simulation_table(results)
    write_table(table, run.folder / "simulation.parquet")
    _write_maps(run.folder / "pressure_maps.npz", knee, results)
    statistics = {name: asdict(r.statistics) for name, r in results.items()}
    content = {
        "statistics": statistics,
        "flags": {name: [_told(f) for f in r.flags] for name, r in results.items()},
        "differences": compare_cycles(table),
        "speed": speed(knee.model, main, results["original"].poses),
    }
    run.write_json("simulation.json", content)


def _percent(bar: tqdm[Any]) -> Callable[[float], None]:
    def advance(part: float) -> None:
        bar.update(int(100 * part) - bar.n)

    return advance


def _told(flag: Flag) -> str:
    return f"{flag.message} (first at {flag.time:.3f} s, {flag.samples} instants)"


def _write_maps(path: Path, knee: Knee, results: dict[str, SimulationResult]) -> None:
    """Store the plateau's pressures at a few instants, at the poses that each model led to."""
    percent = results["original"].gait_percent
    chosen = [int(np.argmin(np.abs(percent - instant))) for instant in MAP_INSTANTS]
    pressures = [
        [knee.model.spring_state(Pose.from_array(result.poses[k])).pressure for k in chosen]
        for result in (results["original"], results["surrogate"])
    ]
    np.savez_compressed(
        path,
        vertices=knee.model.tibia.vertices,
        faces=knee.model.tibia.faces,
        gait_percent=percent[chosen],
        pressure_Pa=np.array(pressures),
    )


def _provenance(
    run: Run, knee: Knee, samples: pd.DataFrame, held_out: pd.DataFrame, counts: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": run.config.run.name,
        "seed": run.config.run.seed,
        "held_out_seed": run.config.validation.seed,
        "workers": run.workers,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in (*_PACKAGES, "knee-contact")},
        "hashes": {
            "original": knee.digest,
            "samples": digest(samples),
            "held_out": digest(held_out),
        },
        "triangles": {
            "femur": len(knee.model.femur.faces),
            "tibia": len(knee.model.tibia.faces),
        },
        "counts": counts,
        "seconds": run.seconds,
    }


def _changed_keys(stored: Path, current: str) -> list[str]:
    """Return the dotted keys in which a stored configuration differs, the free ones left out."""
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
    return sorted(differing - {f"run.{key}" for key in _FREE_KEYS})
