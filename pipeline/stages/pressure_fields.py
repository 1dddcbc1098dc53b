"""Stage g, pressure fields: fitted to the fields of samples, and their held-out errors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import SurrogateConfig
from pipeline.errors import StageError
from pipeline.store.samples import poses_of, usable
from surrogates.fields.field_fit import FieldSamples, Places, fit_fields
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Triangles in contact from which on a field is judged, and share of them that counts as its top.
_FEWEST, _TOP = 10, 0.1


class FieldErrors(NamedTuple):
    """Errors of the field of one compartment at a pose, over the triangles of both patches [1].

    `nrmse` and `peak` are relative to the peak; `dice` is the overlap of the tenths with the
    largest pressures (Dice 1945, Ecology 26:297-302).
    """

    nrmse: float
    correlation: float
    dice: float
    peak: float


def with_fields(
    knee: ContactSurrogate,
    model: SurfaceContact,
    samples: pd.DataFrame,
    settings: SurrogateConfig,
    seed: int,
) -> ContactSurrogate:
    """Return a surrogate with pressure fields as [surrogate.fields] says, or without."""
    chosen = settings.fields
    if chosen is None:
        return knee
    rng = np.random.default_rng((seed, len(knee.compartments)))
    parts, places = {}, {}
    for name in knee.compartments:
        rows = usable(samples, name)
        if rows.empty:
            raise StageError(f"pressure fields: the {name} compartment has no usable sample")
        some = np.sort(rng.permutation(len(rows))[: chosen.samples])
        places[name] = Places(*model.pressure_places(name))
        own = np.arange(len(places[name].points))
        state = partial(model.place_state, compartment=name)
        parts[name] = FieldSamples.of(state, poses_of(rows)[some], own)
    fields = fit_fields(parts, places, len(model.tibia.faces), 1e-3 * chosen.spacing_mm)
    return replace(knee, fields=fields)


def field_errors(
    knee: ContactSurrogate, model: SurfaceContact, poses: FloatArray, name: str
) -> list[FieldErrors]:
    """Return the errors of fields at poses (N, 6) [rad, m] with ten triangles in contact."""
    own = np.asarray(model.compartments) == model.compartment_names.index(name)
    found = []
    for pose in map(Pose.from_array, poses):
        truth = model.spring_state(pose).pressure[own]
        if (truth > 0.0).sum() >= _FEWEST:
            found.append(errors_of(knee.pressure_field(pose).pressure[own], truth))
    return found


def errors_of(predicted: FloatArray, truth: FloatArray) -> FieldErrors:
    """Return the errors of a field (F,) [Pa] beside the true one (F,) [Pa], which has a patch."""
    at = (truth > 0.0) | (predicted > 0.0)
    peak = float(truth.max())
    rms = float(np.sqrt(((predicted - truth)[at] ** 2).mean()))
    spread = min(float(np.ptp(predicted[at])), float(np.ptp(truth[at])))
    correlation = float(np.corrcoef(predicted[at], truth[at])[0, 1]) if spread > 0.0 else np.nan
    count = max(1, round(_TOP * int((truth > 0.0).sum())))
    tops = [set(np.argsort(-each, kind="stable")[:count].tolist()) for each in (predicted, truth)]
    dice = len(tops[0] & tops[1]) / count
    return FieldErrors(rms / peak, correlation, dice, float(predicted.max()) / peak - 1.0)


def field_figures(
    knee: ContactSurrogate, model: SurfaceContact, held_out: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Return figures of the held-out fields by compartment, for the header of the file [1]."""
    figures = {}
    for name in knee.compartments:
        errors = field_errors(knee, model, poses_of(usable(held_out, name)), name)
        if not errors:
            continue
        nrmse, correlation, dice, peak = np.array(errors).T
        known = correlation[np.isfinite(correlation)]
        figures[name] = {
            "points": float(len(errors)),
            "nrmse": float(np.sqrt((nrmse**2).mean())),
            "median_correlation": float(np.median(known)) if len(known) else 0.0,
            "least_correlation": float(known.min(initial=1.0)),
            "dice": float(dice.mean()),
            "peak": float(np.sqrt((peak**2).mean())),
        }
    return figures
