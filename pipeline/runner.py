"""A study from its configuration to its report: the stages in order."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import surrogates
from pipeline import stages
from pipeline.assessment import assess, prediction_table
from pipeline.gait import simulate_both
from pipeline.original import Knee, build_knee
from pipeline.report import write_report
from pipeline.run_folder import Run, stored_path
from pipeline.samples import (
    digest,
    write_table,
)
from pipeline.schema import Config
from pipeline.simulation import (
    gait_cycle,
)
from surrogates.knee import KneeSurrogate
from surrogates.space import ReferencePath, SampleSpace

_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "trimesh", "joblib", "numba", "pandas")


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
        space = sample_space(config, stored_path(run, knee))
    candidates, samples, first, counts = _training_samples(run, knee, space)
    with run.timed("g: final surrogates"):
        trained = _fit_all(run, samples, space)
    with run.timed("held-out samples"):
        held_out = run.table(
            "heldout",
            lambda: run.evaluator(knee, "heldout")(
                stages.held_out_samples(space, config.validation, candidates)
            ),
        )
    with run.timed("validation"):
        validation = _validate(run, trained, first, held_out)
    main = _with_header(run, trained[0], knee, samples, validation)
    surrogates.save(main, folder / "knee.npz")
    provenance = _provenance(run, knee, samples, held_out, counts)
    run.write_json("run.json", provenance)
    with run.timed("h: gait simulation"):
        simulate_both(run, knee, main, space.path)
    run.write_json("run.json", provenance | {"seconds": run.seconds})
    (folder / "times.json").unlink()
    return write_report(folder)


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
) -> tuple[pd.DataFrame, pd.DataFrame, KneeSurrogate, dict[str, Any]]:
    """Stages a to f: return candidates, training samples, first surrogates and counts."""
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
    counts = stages.bookkeeping(candidates, first, screened, kept, training)
    return candidates, training, early, counts


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
