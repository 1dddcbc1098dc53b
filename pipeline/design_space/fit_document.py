"""What `knee-contact fit` tells of a new knee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipeline.design_space.errors import told_errors
from pipeline.design_space.fitted_knee import ACCEPTED_FORCE, FORCE, FittedKnee
from pipeline.design_space.taken_design import TakenDesign, error_lines, take_design, value_lines
from pipeline.design_space.trained_designs import TrainedDesigns
from surrogates.formulations.contact_surrogate import ContactSurrogate


class FitDocument(TakenDesign):
    """A new knee as a design of a run: its fit, measured errors, and gait cycle.

    `placed` is the part of the vertices of the modes that have a place on the knee, `rms_mm` and
    `largest_mm` are distances between the knee and its shape by the modes, `ends` the weights at
    the end of their range. `heights` are by compartment [um, um/deg], and `measured` the errors, of
    `FittedKnee`; `expected` errors are those that are not measured. The model `original` of the
    gait cycle is that of the knee itself.
    """

    placed: float
    rms_mm: float
    largest_mm: float
    ends: list[str]
    heights: dict[str, list[float]]
    measured: dict[str, float]


def fit_document(run: TrainedDesigns, fitted: FittedKnee, *, original: bool = False) -> FitDocument:
    """Return what is told of a new knee.

    With `original`, the original model of the knee simulates the gait cycle too. Raises
    `InputError` if a value is outside its range.
    """
    taken = take_design(run, fitted.values, original=original, models=fitted.models)
    expected = {name: e for name, e in taken.expected.items() if name not in fitted.errors}
    return FitDocument(
        **taken.model_dump() | {"expected": expected, "doubts": fit_doubts(fitted)},
        placed=fitted.shape.placed,
        rms_mm=1e3 * fitted.shape.rms,
        largest_mm=1e3 * fitted.shape.largest,
        ends=list(fitted.ends),
        heights={
            name: [1e6 * height, float(np.radians(1e6 * slope))]
            for name, (height, slope) in fitted.heights.items()
        },
        measured=fitted.errors,
    )


def fit_doubts(fitted: FittedKnee) -> list[str]:
    """Return why the surrogate of a new knee is doubtful, in words."""
    found = [
        f"{name} is at the end of its range, so the knee may be beyond it" for name in fitted.ends
    ]
    error = fitted.errors[FORCE]
    if np.isnan(error):
        found.append("no sample of the knee carries a load within [feasibility]")
    elif error > ACCEPTED_FORCE:
        found.append(
            f"error of the axial force at a pose of {error:.2g} % (accepted {ACCEPTED_FORCE:g} %)"
        )
    return found


def fitted_surrogate(fitted: FittedKnee) -> ContactSurrogate:
    """Return the surrogate of a new knee with its measured errors and doubts in the header."""
    knee = fitted.models.surrogate
    assert knee is not None
    told = {"measured": fitted.errors, "doubts": fit_doubts(fitted)}
    return replace(knee, header={**knee.header, **told})


def fit_lines(document: FitDocument) -> list[str]:
    """Return the lines on the terminal."""
    heights = ", ".join(
        f"{name} {height:+.0f} um {slope:+.2g} um/deg"
        for name, (height, slope) in document.heights.items()
    )
    return [
        f"knee as a design of {document.run}:",
        *value_lines(document),
        f"the modes leave {document.rms_mm:.2g} mm RMS, at most {document.largest_mm:.2g} mm; "
        f"{document.placed:.0%} of their vertices have a place on the meshes",
        f"corrected heights at extension and with flexion: {heights}",
        "errors at other samples of the knee, by its original model:",
        f"  error of the axial force at a pose: {document.measured[FORCE]:.2g} % of its range, "
        f"accepted {ACCEPTED_FORCE:g} %",
        *(f"  {line}" for line in told_errors(document.measured, "")),
        *error_lines(document),
        *(f"doubtful: {doubt}" for doubt in document.doubts),
    ]
