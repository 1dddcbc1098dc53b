"""Formulations and families compared on a finished run's own knee: `validate --formulations`.

All learn from the same number of feasible samples and are judged where the pose is given. Those
of the compartments learn from the run's own samples, the ones that need the height at a reference
load spending half of them on it; those of the whole knee from samples in which both condyles carry
load (`pipeline.stages.knee_samples`), as many. The errors of a compartment's loads are those on
the run's held-out samples, or on whole-knee ones for the whole knee; the errors of the total loads
are those on the same whole-knee held-out samples for all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.loads import COMPARTMENTS, WRENCH_COLUMNS
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
#: How often the evaluation is timed; the least time counts.
_TIMED = 5


@dataclass(frozen=True)
class Variant:
    """One row of the comparison.

    Parameters
    ----------
    formulation : str
        What is learnt.
    pose_at : str
        Where poses are counted, "condyle" or "femur".
    touch : bool
        Whether first contact is learnt beside.
    """

    formulation: str
    pose_at: str = "condyle"
    touch: bool = False

    @property
    def reference(self) -> str | None:
        """The samples at a reference load that it needs: "touch", "load" or none."""
        return reference_kind(self.formulation, touch_points=self.touch)


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
#: Formulations of the whole knee, which are counted at the femoral origin.
KNEE_VARIANTS = tuple(Variant(name, "femur") for name in KNEE_FORMULATIONS)


class HeldOut(NamedTuple):
    """Feasible held-out samples: of the compartments, and of the whole knee."""

    compartments: pd.DataFrame
    knee: pd.DataFrame


def compare_formulations(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    training: pd.DataFrame,
    held_out: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Fit all formulations by all families to a run's samples and judge them.

    Parameters
    ----------
    run : Run
        A finished run.
    original : OriginalModel
        Its original model, for energies and reference heights.
    space : SampleSpace
        Where its samples were drawn.
    training, held_out : DataFrame
        Its training and held-out samples.

    Returns
    -------
    list of dict
        `formulation`, `pose_at`, `touch_points`, `scope` ("compartment" or "knee"), `family`,
        `samples` (of a compartment, or of the knee), `worst_load_nrmse` and `largest_error` (of
        the load's peak) of a compartment's loads, `total_load_nrmse`: the largest NRMSE of the six
        total loads on the whole-knee held-out samples, `height_rmse_um` (inverted),
        `fit_seconds` and `evaluation_us` (with jacobian, both compartments), or `failed`: why it
        could not be fitted; the best total loads first.
    """
    most = run.config.validation.formulation_samples
    training = training[training["weight"] == 1.0]
    training = training.groupby("compartment", sort=False).head(most).reset_index(drop=True)
    both = knee_samples.training_samples(
        run, original, space, knee_samples.most_of_a_compartment(training)
    )
    judged = HeldOut(
        feasible(held_out, run.config.feasibility),
        knee_samples.held_out_samples(run, original, space),
    )
    training = with_energies(contact_model(original), training).assign(role="sample")
    reference = {
        kind: reference_samples(run, original, training, kind) for kind in ("touch", "load")
    }
    rows = []
    for variant in (*VARIANTS, *KNEE_VARIANTS):
        whole = variant in KNEE_VARIANTS
        samples = both if whole else _samples_of(variant, training, reference)
        for family in FAMILIES:
            rows.append(_row(run, variant, family, samples, space, judged))
    return sorted(rows, key=lambda row: row.get("total_load_nrmse", np.inf))


def _samples_of(
    variant: Variant, training: pd.DataFrame, reference: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the samples of a variant: all, or every other one and the reference heights."""
    if variant.reference is None:
        return training
    half = pd.DataFrame(training.groupby("compartment", sort=False).nth(slice(0, None, 2)))
    return pd.concat([half, reference[variant.reference]], ignore_index=True)


def _row(
    run: Run,
    variant: Variant,
    family: str,
    samples: pd.DataFrame,
    space: SampleSpace,
    held_out: HeldOut,
) -> dict[str, Any]:
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
        return row | {"failed": str(error)}
    found = _errors(fitted.knee, held_out.knee if whole else held_out.compartments)
    return row | {"fit_seconds": fitted.seconds} | found | _total_error(fitted.knee, held_out.knee)


def _errors(knee: AnyKnee, held_out: pd.DataFrame) -> dict[str, float]:
    """Return the worst errors of both compartments."""
    shares, largest, heights = [], [], []
    for name in COMPARTMENTS:
        rows = usable(held_out, name)
        surrogate, poses, truth = knee.compartment(name), poses_of(rows), loads_of(rows)
        peak = np.abs(truth[:, : len(WRENCH_COLUMNS)]).max(axis=0)
        error = (surrogate.evaluate_batch(poses)[0] - truth)[:, : len(WRENCH_COLUMNS)] / peak
        shares.append(np.sqrt((error**2).mean(axis=0)).max())
        largest.append(np.abs(error).max())
        if isinstance(surrogate, CompartmentSurrogate) and surrogate.formulation == "inverted":
            heights.append(errors_at_load(surrogate, poses, truth)["superior_m"].rmse)
    found = {"worst_load_nrmse": float(max(shares)), "largest_error": float(max(largest))}
    return found | ({"height_rmse_um": 1e6 * max(heights)} if heights else {})


def _total_error(knee: AnyKnee, held_out: pd.DataFrame) -> dict[str, float]:
    """Return the worst error of the total loads, and the time of an evaluation."""
    poses, loads = knee_samples.paired(held_out)
    predicted, spent = knee.evaluate_batch(poses)[0], np.inf  # compiles
    for _ in range(_TIMED):
        start = time.perf_counter()
        knee.evaluate_batch(poses)
        spent = min(spent, (time.perf_counter() - start) / len(poses))
    truth = loads.sum(axis=1)[:, : len(WRENCH_COLUMNS)]
    error = predicted.sum(axis=1)[:, : len(WRENCH_COLUMNS)] - truth
    shares = np.sqrt((error**2).mean(axis=0)) / np.abs(truth).max(axis=0)
    return {"total_load_nrmse": float(shares.max()), "evaluation_us": 1e6 * spent}


def markdown_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Return the comparison as the lines of a Markdown table."""
    yield (
        "| formulation | pose at | touch points | family | samples | total load NRMSE [%] | "
        "worst load NRMSE [%] | largest error [% of peak] | height at load [um] | fit [s] | "
        "evaluation [us] |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        names = (row["formulation"], row["pose_at"], "yes" if row["touch_points"] else "")
        head = f"| {' | '.join(names)} | {row['family']} | {row['samples']} |"
        if "failed" in row:
            yield f"{head} failed: {row['failed']} | | | | | |"
            continue
        height = f"{row['height_rmse_um']:.3g}" if "height_rmse_um" in row else ""
        yield (
            f"{head} {100 * row['total_load_nrmse']:.3g} | {100 * row['worst_load_nrmse']:.3g} | "
            f"{100 * row['largest_error']:.3g} | {height} | {row['fit_seconds']:.1f} | "
            f"{row['evaluation_us']:.1f} |"
        )
