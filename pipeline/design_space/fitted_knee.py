"""A new knee in a run over modes of shape: weights, corrected heights, measured errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from foundation.anatomy.mode_fit import FittedShape, fit_surfaces, fit_vertices
from foundation.anatomy.shape_modes import Bounds
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh import TriangleMesh
from pipeline.config.designs import design_space_of
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import silent
from pipeline.design_space.design_gait import OwnModels
from pipeline.design_space.drawn_designs import BaseValue
from pipeline.design_space.errors import feasible_samples, sample_errors, told_errors
from pipeline.design_space.sampling import candidates_within
from pipeline.design_space.taken_design import (
    TakenDesign,
    design_values,
    error_lines,
    surrogate_of,
    take_design,
    value_lines,
)
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.originals.contact_original import kind_of
from pipeline.originals.knee import KneeInputs, evaluate_rows
from pipeline.originals.knee_surfaces import surfaces_of_shape
from pipeline.originals.mesh_loading import UNMOVED, load_body
from pipeline.originals.shape_surfaces import (
    Template,
    corresponding,
    read_as_is,
    shape_modes,
    template,
)
from surrogates.formulations.contact_surrogate import ContactSurrogate


def shape_of_knee(
    knee: KneeConfig,
    files: tuple[str, str],
    varied: NDArray[np.bool_],
    bounds: Bounds,
    side: str | None = None,
) -> FittedShape:
    """Return the modes of a knee with [knee.shape] fitted to the meshes of another knee.

    Unit, axes and frame of the meshes, femur and tibia, are those of [knee.femur] and [knee.tibia].
    Meshes that correspond to the templates have their weights by their vertices, others by their
    surfaces; `align = "rigid"` also moves and turns these. The modes `varied` (K,) are fitted
    within `bounds`, numbers or (K,) [1]; the others keep their weights of [knee.shape]. The side is
    that of [knee] by default. Raises `InputError`, which names the mesh, if a mesh cannot be used
    or is too far from those of the modes.
    """
    assert knee.shape is not None
    rigid = knee.shape.align == "rigid"
    modes = shape_modes(knee).chosen(knee.shape.weights, varied)
    side = knee.side if side is None else side
    templates = template(knee, "femur"), template(knee, "tibia")
    vertices = [
        _vertices(each, file, side, rigid=rigid)
        for each, file in zip(templates, files, strict=True)
    ]
    femoral, tibial = vertices
    if femoral is not None and tibial is not None:
        return fit_vertices(modes, femoral, tibial, bounds)
    femur, tibia = (
        _surface(knee, body, file, side)
        for body, file in zip(("femur", "tibia"), files, strict=True)
    )
    return fit_surfaces(modes, femur, tibia, bounds, rigid=rigid)


def _vertices(template: Template, file: str, side: str, *, rigid: bool) -> FloatArray | None:
    """Return the vertices (V, 3) [m] of a file; None if it has other triangles."""
    mesh, whole = read_as_is(template.config, (file,), side), template.whole
    if len(mesh.vertices) != len(whole.vertices) or not np.array_equal(mesh.faces, whole.faces):
        return None
    return corresponding(template, mesh, file, rigid=rigid)[template.used]


def _surface(knee: KneeConfig, body: str, file: str, side: str) -> TriangleMesh:
    """Return the surface of a file [m], repaired, as that of a body."""
    own = knee.model_copy(update={"side": side})
    try:
        loaded = load_body(own, body, file=file, **UNMOVED)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    for finding in loaded.findings:
        if finding.is_error:
            raise InputError(f"{file}: {finding.text}")
    return loaded.mesh


#: Key of a mode of shape, up to its number.
_MODE = "knee.shape.mode_"
#: Part of the range of a weight within which a weight counts as at the end.
_END = 1e-6
#: Samples of each compartment, and fewest feasible ones that correct the height.
_SAMPLES, _FEWEST = 128, 8
#: Axial force at a pose that a surrogate is accepted with, RMS over the range [%].
ACCEPTED_FORCE = 5.0
#: Name of the error of that force.
FORCE = "force_at_pose_percent"


class FittedKnee(NamedTuple):
    """A knee in a run over modes of shape.

    `errors` are those of the surrogate at samples of the knee that did not correct the heights:
    `sample_errors`, and `FORCE`, the axial force at a pose, RMS over the range, the worse
    compartment's [%]. They are NaN without feasible samples.
    """

    #: Value of each parameter of the run: weights of modes, and others.
    values: dict[str, BaseValue]
    #: The knee's shape by the modes, before placement.
    shape: FittedShape
    #: Surrogate with corrected heights, and original model of the knee itself.
    models: OwnModels
    #: By compartment, height of contact over that by the modes: extended [m], slope [m/rad].
    heights: dict[str, tuple[float, float]]
    #: Weights at the end of their range.
    ends: tuple[str, ...]
    errors: dict[str, float]


def fit_knee(
    run: TrainedDesigns, files: tuple[str, str], texts: Sequence[str] = (), side: str | None = None
) -> FittedKnee:
    """Return the weights of a new knee in a run over modes of shape, and its models.

    What the modes leave changes heights first. The original model of the knee itself is evaluated
    at some samples: one half corrects the height of each compartment by a line over flexion, the
    other half tells the errors. The `files`, meshes of femur and tibia, have unit, axes and frame
    of the run's own; `texts` are values of other parameters, such as "youngs_modulus_MPa=8", by
    default the `base_values`; `side` is by default that of the run. Raises `InputError` if the run
    has no modes of shape, a mesh cannot be used, or a value is refused.
    """
    names = _modes(run)
    if given := [text for text in texts if text.partition("=")[0].strip() in names]:
        raise InputError(f"{given[0]}: expected no weight of a mode, which the meshes give")
    values = design_values(run, texts)
    config = run.config_of({name: each.value for name, each in values.items()})
    assert config.knee.shape is not None
    varied = np.isin(np.arange(1, config.knee.shape.kept + 1), list(names.values()))
    places = [run.knee.parameters.names.index(name) for name in names]
    low, high = run.knee.parameters.low[places], run.knee.parameters.high[places]
    shape = shape_of_knee(config.knee, files, varied, (low, high), side)
    near = _END * (high - low)
    at_end = (shape.weights <= low + near) | (shape.weights >= high - near)
    weights = dict(zip(names, shape.weights.tolist(), strict=True))
    values |= {name: BaseValue(weight, "fitted") for name, weight in weights.items()}
    ends = tuple(name for name, end in zip(names, at_end, strict=True) if end)
    models, heights, errors = _models(run, values, _original(config, shape))
    return FittedKnee(values, shape, models, heights, ends, errors)


def _models(
    run: TrainedDesigns, values: Mapping[str, BaseValue], original: SurfaceContact
) -> tuple[OwnModels, dict[str, tuple[float, float]], dict[str, float]]:
    """Return models, heights and errors of a knee from its original model."""
    design = {name: each.value for name, each in values.items()}
    surrogate, rows = surrogate_of(run, design), _samples(run, design, original)
    # Both halves of a Sobol sequence fill the box.
    learnt = (rows["number"] < _SAMPLES // 2).to_numpy()
    heights = _heights(run.config, surrogate, rows[learnt])
    raised = {name: part.raised(*heights[name]) for name, part in surrogate.by_name.items()}
    surrogate, others = replace(surrogate, by_name=raised), rows[~learnt]
    errors = sample_errors(run.config, surrogate, others, 1.0)
    errors[FORCE] = _force_at_pose(run.config, surrogate, others)
    return OwnModels(surrogate, original), heights, errors


def _modes(run: TrainedDesigns) -> dict[str, int]:
    """Return the numbers of the modes whose weights are parameters of the run, by name."""
    numbers = {
        each.label: int(each.key.removeprefix(_MODE))
        for each in design_space_of(run.config).parameter
        if each.key.startswith(_MODE)
    }
    found = dict(sorted(numbers.items(), key=lambda pair: pair[1]))
    if not found:
        raise InputError(
            f"{run.folder}: expected a run over modes of shape, with parameters {_MODE}1, ..., "
            f"found {', '.join(run.knee.parameters.names)}"
        )
    return found


def _original(config: Config, shape: FittedShape) -> SurfaceContact:
    surfaces = surfaces_of_shape(config, shape.femur, shape.tibia)
    knee = kind_of(config).build(KneeInputs(config, surfaces))
    knee.prepare(silent)
    return knee.model


def _samples(
    run: TrainedDesigns, design: Mapping[str, float], original: SurfaceContact
) -> pd.DataFrame:
    """Return samples of a knee, evaluated by its original model, with their `number`."""
    first = run.knee.by_name[run.knee.compartments[0]]
    table = pd.DataFrame([{"design": 0, **design}])
    rows = candidates_within(run.config, table, first.space, _SAMPLES)
    rows = evaluate_rows(original, rows, "load")
    return rows.assign(number=rows.groupby("compartment").cumcount())


def _heights(
    config: Config, surrogate: ContactSurrogate, rows: pd.DataFrame
) -> dict[str, tuple[float, float]]:
    """Return by compartment how much higher samples are than by the surrogate, over flexion."""
    found = dict.fromkeys(surrogate.compartments, (0.0, 0.0))
    for name, part in surrogate.by_name.items():
        poses, loads = feasible_samples(config, rows, name)
        if len(poses) < _FEWEST:
            continue
        at, _ = part.at_load(poses, loads[:, AXIAL_FORCE])
        found[name] = line_over_flexion(poses, (poses - at)[:, 4])
    return found


def line_over_flexion(poses: FloatArray, heights: FloatArray) -> tuple[float, float]:
    """Return height [m] and slope [m/rad] of the line over flexion that is nearest to heights.

    The heights (N,) [m] are those at the poses (N, 6) [rad, m].
    """
    columns = np.column_stack([np.ones(len(poses)), poses[:, 0]])
    height, slope = np.linalg.lstsq(columns, heights)[0]
    return float(height), float(slope)


def _force_at_pose(config: Config, surrogate: ContactSurrogate, rows: pd.DataFrame) -> float:
    errors = []
    for number, name in enumerate(surrogate.compartments):
        poses, loads = feasible_samples(config, rows, name)
        truth = loads[:, AXIAL_FORCE]
        if len(truth) < 2:
            return float("nan")
        force = surrogate.loads(poses, order=1).values[:, number, AXIAL_FORCE]
        errors.append(np.sqrt(np.mean((force - truth) ** 2)) / np.ptp(truth))
    return 100.0 * float(max(errors))


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
