"""Samples that only some formulations learn from: stored energies, heights at a reference load."""

from __future__ import annotations

import pandas as pd

from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline import stages
from pipeline.originals.protocol import OriginalModel, contact_model
from pipeline.stages.run_folder import Run
from pipeline.store.samples import CANDIDATE_COLUMNS, poses_of
from surrogates.formulations.registry import FORMULATIONS
from surrogates.formulations.whole_knee import KNEE_FORMULATIONS

#: Axial load at which a compartment is taken to touch [N]: some 0.1 um deep on an implant.
TOUCH_LOAD = 1e-3


def reference_kind(formulation: str, *, touch_points: bool) -> str | None:
    """Return the reference load whose heights a formulation needs: "touch", "load" or None."""
    kind = FORMULATIONS[formulation]
    return "touch" if touch_points and kind.touches else kind.reference


def sample_kind(formulation: str, *, touch_points: bool) -> tuple[str | None, bool]:
    """Return what distinguishes the samples of a formulation: reference load, and energies or not.

    Formulations of a whole knee have samples of a kind of their own, "knee".
    """
    if formulation in KNEE_FORMULATIONS:
        return "knee", False
    energies = FORMULATIONS[formulation].energies
    return reference_kind(formulation, touch_points=touch_points), energies


def with_energies(model: SurfaceContact, table: pd.DataFrame) -> pd.DataFrame:
    """Return samples with the energy that their compartment stores, `energy_J`."""
    poses = map(Pose.from_array, poses_of(table))
    energies = [
        model.stored_energy(pose, compartment)
        for pose, compartment in zip(poses, table["compartment"], strict=True)
    ]
    return table.assign(energy_J=energies)


def reference_samples(
    run: Run, original: OriginalModel, training: pd.DataFrame, kind: str
) -> pd.DataFrame:
    """Return the heights at a reference load, at the pose of every second sample.

    `kind` is "touch", first contact, or "load", `surrogate.reference_load_N`. The table
    "reference-<kind>" of the run keeps them; `training` are samples of both compartments.
    """
    load = TOUCH_LOAD if kind == "touch" else run.config.surrogate.reference_load_N
    asked = training.groupby("compartment", sort=False).nth(slice(1, None, 2))
    rows = asked[list(CANDIDATE_COLUMNS)].assign(load_N=load).reset_index(drop=True)
    name = f"reference-{kind}"
    table = run.table(name, lambda: run.evaluate(name, rows, original.evaluation()))
    return table.assign(role=stages.REFERENCE, energy_J=0.0, weight=1.0)


def samples_for(
    run: Run, original: OriginalModel, training: pd.DataFrame, formulation: str
) -> pd.DataFrame:
    """Return the samples that a formulation of a compartment is fitted to in stage g."""
    touch_points = run.config.surrogate.touch_points
    kind = reference_kind(formulation, touch_points=touch_points)
    if FORMULATIONS[formulation].energies:
        training = with_energies(contact_model(original), training)
    if kind is None:
        return training
    reference = reference_samples(run, original, training, kind)[[*training.columns, "role"]]
    return pd.concat([training.assign(role="sample"), reference], ignore_index=True)
