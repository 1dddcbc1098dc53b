"""Comparison of formulations and families on the knee of a run: `validate --formulations`.

All surrogates learn from the same number of feasible samples and are assessed at given poses. The
formulations of the compartments learn from the samples of the run; those that need the height at a
reference load replace half of the samples by reference samples. The formulations of the whole knee
learn from samples in which both condyles carry load (`pipeline.stages.knee_samples`).

The errors of the loads of a compartment are those on the held-out samples of the run, or on
whole-knee samples for the whole knee. The errors of the total loads are those on the same held-out
whole-knee samples for all formulations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline import stages
from pipeline.originals.protocol import OriginalModel, contact_model
from pipeline.stages import knee_samples
from pipeline.stages.assessment import feasible
from pipeline.stages.reference_samples import reference_kind, reference_samples, with_energies
from pipeline.stages.run_folder import Run
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.validation import errors_at_load
from surrogates.formulations.whole_knee import KNEE_FORMULATIONS, AnyKnee
from surrogates.sampling.space import SampleSpace

FAMILIES = ("kriging", "polynomial", "poly_fourier")
#: Timed repetitions of the evaluation; the shortest time counts.
_TIMED = 5
_WRENCH = len(WRENCH_COLUMNS)
#: What distinguishes the rows of a comparison, and their error figures.
_WAY = ("formulation", "pose_at", "touch_points", "scope", "family")
_ERRORS = ("total_load_nrmse", "worst_load_nrmse", "largest_error", "height_rmse_um")


class Variant(NamedTuple):
    """A formulation, the origin of its poses, and whether it learns the height of first contact."""

    formulation: str
    pose_at: str = "condyle"
    touch: bool = False


VARIANTS = (
    Variant("direct", "femur"),
    Variant("power", "femur"),
    Variant("root", "femur"),
    Variant("root"),
    Variant("root", touch=True),
    Variant("inverted", "femur"),
    Variant("inverted"),
    Variant("inverted", touch=True),
    Variant("touch_stiffness"),
    Variant("load_stiffness"),
    Variant("energy"),
)
#: Formulations of the whole knee, with poses of the femoral origin.
KNEE_VARIANTS = tuple(Variant(name, "femur") for name in KNEE_FORMULATIONS)
_MARKDOWN = (
    "formulation", "pose at", "touch points", "family", "samples", "total load NRMSE [%]",
    "worst load NRMSE [%]", "largest error [% of peak]", "height at load [um]", "fit [s]",
    "evaluation [us]",
)  # fmt: skip


def compare_formulations(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    training: pd.DataFrame,
    held_out: pd.DataFrame,
    held_out_knee: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Fit all formulations by all families to the samples of a run, and assess the surrogates.

    The original model of the run gives energies and reference heights. `held_out` are samples of
    the compartments, `held_out_knee` whole-knee samples.

    Returns
    -------
    list of dict
        `formulation`, `pose_at`, `touch_points`, `scope` ("compartment" or "knee"), `family`,
        `samples` (of a compartment, or of the knee), `worst_load_nrmse` and `largest_error` (over
        the peak of the load) of the loads of a compartment, `total_load_nrmse` (largest of the six
        total loads), `height_rmse_um` (inverted formulations), `fit_seconds` and `evaluation_us`
        (with jacobian, both compartments), or `failed`, the reason; in order of increasing error
        of the total loads.
    """
    most = run.config.validation.formulation_samples
    training = training[training["weight"] == 1.0]
    training = training.groupby("compartment", sort=False).head(most).reset_index(drop=True)
    count = knee_samples.most_of_a_compartment(training)
    whole_knee = knee_samples.training_samples(run, original, space, count)
    held_out = feasible(held_out, run.config.feasibility)
    training = with_energies(contact_model(original), training).assign(role="sample")
    reference = {
        kind: reference_samples(run, original, training, kind) for kind in ("touch", "load")
    }
    rows = []
    for variant in (*VARIANTS, *KNEE_VARIANTS):
        if variant in KNEE_VARIANTS:
            samples, own = whole_knee, held_out_knee
        else:
            samples, own = _samples_of(variant, training, reference), held_out
        for family in FAMILIES:
            row, knee = _fitted(run, variant, family, samples, space)
            if knee is not None:
                row |= _errors(knee, own) | _total_error(knee, held_out_knee)
            rows.append(row)
    return sorted(rows, key=lambda row: row.get("total_load_nrmse", np.inf))


def _samples_of(
    variant: Variant, training: pd.DataFrame, reference: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return all samples, or every second sample and the reference samples of a variant."""
    kind = reference_kind(variant.formulation, touch_points=variant.touch)
    if kind is None:
        return training
    half = pd.DataFrame(training.groupby("compartment", sort=False).nth(slice(0, None, 2)))
    return pd.concat([half, reference[kind]], ignore_index=True)


def _fitted(
    run: Run, variant: Variant, family: str, samples: pd.DataFrame, space: SampleSpace
) -> tuple[dict[str, Any], AnyKnee | None]:
    """Return the description of a surrogate, and the surrogate, None if the fit fails."""
    whole = variant in KNEE_VARIANTS
    row: dict[str, Any] = {
        "formulation": variant.formulation,
        "pose_at": variant.pose_at,
        "touch_points": variant.touch,
        "scope": "knee" if whole else "compartment",
        "family": family,
        "samples": max(len(usable(samples, name)) for name in COMPARTMENTS),
    }
    fit = knee_samples.fit_knees if whole else stages.fit_surrogates
    settings = run.config.surrogate.model_copy(update={"pose_at": variant.pose_at})
    pairs = [(variant.formulation, family)]
    try:
        (fitted,) = fit(samples, space, settings, pairs, run.config.run.seed, run.execution)
    except stages.StageError as error:
        return row | {"failed": str(error)}, None
    return row | {"fit_seconds": fitted.seconds}, fitted.knee


def _errors(knee: AnyKnee, held_out: pd.DataFrame) -> dict[str, float]:
    """Return the largest errors of both compartments."""
    shares, largest, heights = [], [], []
    for name in COMPARTMENTS:
        rows = usable(held_out, name)
        surrogate, poses, truth = knee.compartment(name), poses_of(rows), loads_of(rows)
        peak = np.abs(truth[:, :_WRENCH]).max(axis=0)
        error = (surrogate.evaluate_batch(poses)[0] - truth)[:, :_WRENCH] / peak
        shares.append(np.sqrt((error**2).mean(axis=0)).max())
        largest.append(np.abs(error).max())
        if isinstance(surrogate, CompartmentSurrogate) and surrogate.formulation == "inverted":
            heights.append(errors_at_load(surrogate, poses, truth)["superior_m"].rmse)
    errors = {"worst_load_nrmse": float(max(shares)), "largest_error": float(max(largest))}
    return errors | ({"height_rmse_um": 1e6 * max(heights)} if heights else {})


def _total_error(knee: AnyKnee, held_out: pd.DataFrame) -> dict[str, float]:
    """Return the largest error of the total loads, and the time of an evaluation."""
    poses, loads = knee_samples.paired(held_out)
    predicted, shortest = knee.evaluate_batch(poses)[0], np.inf  # compiles
    for _ in range(_TIMED):
        started = time.perf_counter()
        knee.evaluate_batch(poses)
        shortest = min(shortest, (time.perf_counter() - started) / len(poses))
    truth = loads.sum(axis=1)[:, :_WRENCH]
    error = predicted.sum(axis=1)[:, :_WRENCH] - truth
    shares = np.sqrt((error**2).mean(axis=0)) / np.abs(truth).max(axis=0)
    return {"total_load_nrmse": float(shares.max()), "evaluation_us": 1e6 * shortest}


def averaged(repeats: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the mean of repeated comparisons, and the deviations of their error figures.

    Parameters
    ----------
    repeats : sequence of list of dict
        Comparisons of `compare_formulations`, one for each seed.

    Returns
    -------
    list of dict
        Rows as of `compare_formulations`, with means over the seeds, `seeds`, the number of seeds
        with which the fit was possible, and `deviations`: the sample standard deviation of each
        error figure between seeds (not with a single seed). A row has `failed` only if the fit
        failed with every seed.
    """
    by_way: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in chain.from_iterable(repeats):
        by_way.setdefault(tuple(row[key] for key in _WAY), []).append(row)
    means = [_mean(rows) for rows in by_way.values()]
    return sorted(means, key=lambda row: row.get("total_load_nrmse", np.inf))


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of the rows of one formulation and family."""
    fitted = [row for row in rows if "failed" not in row]
    if not fitted:
        return rows[0] | {"seeds": 0}
    values = {
        name: np.array([row[name] for row in fitted])
        for name in (*_ERRORS, "samples", "fit_seconds", "evaluation_us")
        if name in fitted[0]
    }
    means = {name: float(value.mean()) for name, value in values.items()}
    row = fitted[0] | means | {"samples": round(means["samples"]), "seeds": len(fitted)}
    if len(fitted) > 1:
        errors = {name: values[name] for name in _ERRORS if name in values}
        row["deviations"] = {name: float(value.std(ddof=1)) for name, value in errors.items()}
    return row


def markdown_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Return the comparison as the lines of a Markdown table.

    Errors of repeated comparisons are mean ± sample standard deviation.
    """
    yield f"| {' | '.join(_MARKDOWN)} |"
    yield "|" + "---|" * len(_MARKDOWN)
    for row in rows:
        touch = "yes" if row["touch_points"] else ""
        cells = [row["formulation"], row["pose_at"], touch, row["family"], row["samples"]]
        if "failed" in row:
            cells += [f"failed: {row['failed']}", *[""] * 5]
        else:
            cells += [_error_cell(row, name, 100.0) for name in _ERRORS[:3]]
            cells.append(_error_cell(row, "height_rmse_um", 1.0))
            cells += [f"{row['fit_seconds']:.1f}", f"{row['evaluation_us']:.1f}"]
        yield f"| {' | '.join(map(str, cells))} |"


def _error_cell(row: dict[str, Any], name: str, factor: float) -> str:
    """Return an error figure with its deviation; "" if the formulation has none."""
    if name not in row:
        return ""
    deviation = row.get("deviations", {}).get(name)
    spread = "" if deviation is None else f" ± {factor * deviation:.3g}"
    return f"{factor * row[name]:.3g}{spread}"
