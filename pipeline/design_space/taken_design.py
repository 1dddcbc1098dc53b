"""A design of a finished run, or a new knee as one: surrogate, errors, gait cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from foundation.anatomy.mode_fit import FittedShape, fit_surfaces, fit_vertices
from foundation.anatomy.shape_modes import Bounds
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.flags import worded
from foundation.base.loads import AXIAL_FORCE
from foundation.base.wording import counted
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh import TriangleMesh
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.reading import design_config, design_space_of
from pipeline.config.schema import Config
from pipeline.config.schema_base import near
from pipeline.design_space.design_contact import (
    OF_DESIGN,
    OwnModels,
    compared_cycles,
    design_knee,
    silent,
)
from pipeline.design_space.errors import (
    doubts,
    expected_errors,
    feasible_samples,
    sample_errors,
    told_errors,
)
from pipeline.design_space.sampling import BaseValue, base_values, candidates_within, infeasible
from pipeline.originals.contact_original import kind_of
from pipeline.originals.knee import Knee, KneeInputs, evaluate_rows
from pipeline.originals.knee_surfaces import (
    Template,
    corresponding,
    read_as_is,
    shape_modes,
    surfaces_of_shape,
    template,
)
from pipeline.originals.mesh_loading import UNMOVED, load_body
from pipeline.stages.model_cycles import KEY_OUTPUTS, OUTPUTS
from pipeline.stages.run_folder import opened
from pipeline.store.job import DESIGNS
from pipeline.store.job import is_over_designs as is_over_designs
from pipeline.store.run_documents import Computed
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Design

#: Parts of the header of a surrogate over designs that are of no single design.
_OF_ALL_DESIGNS = (
    *("errors", "expected_errors", "expected_growth", "wear_patch", "parameters"),
    *("format", "sha256"),
)


class TakenDesign(Computed):
    """A design with its expected errors and the outputs of its gait cycle by model."""

    run: str
    values: dict[str, float]
    origins: dict[str, str]
    infeasible: str
    expected: dict[str, float]
    doubts: list[str]
    outputs: dict[str, dict[str, float]]
    errors: dict[str, float]
    failures: dict[str, str]
    instants: int
    flagged: int
    flags: str


def design_values(run: TrainedDesigns, texts: Sequence[str]) -> dict[str, BaseValue]:
    """Return the value of each parameter from texts such as "dish_mm=60", else its base value."""
    found = base_values(run.config)
    given: dict[str, BaseValue] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        if name not in found:
            raise InputError(
                f"{text}: expected NAME=VALUE with one of {', '.join(found)}{near(name, found)}"
            )
        if name in given:
            raise InputError(f"{text}: expected each parameter once, found {name} again")
        given[name] = BaseValue(_number(text, number), "")
    found |= given
    run.knee.parameters.values({name: each.value for name, each in found.items()})
    return found


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError as error:
        raise InputError(f"{text}: expected NAME=VALUE with a number, found {number!r}") from error


def surrogate_of(run: TrainedDesigns, values: Design) -> ContactSurrogate:
    """Return the surrogate of one design, with its expected errors in the header."""
    knee = run.knee.at(values)
    expected = expected_errors(run.knee, values)
    own = {name: each for name, each in knee.header.items() if name not in _OF_ALL_DESIGNS}
    return replace(knee, header={**own, "expected": expected, "doubts": doubts(expected)})


def take_design(
    run: TrainedDesigns,
    design: Mapping[str, BaseValue],
    *,
    original: bool = False,
    models: OwnModels = OF_DESIGN,
) -> TakenDesign:
    """Return a design of a run with its gait cycle; with `original`, by the original model too."""
    values = {name: each.value for name, each in design.items()}
    expected = expected_errors(run.knee, values)
    names = ("surrogate", "original") if original else ("surrogate",)
    found = compared_cycles(run.config, run.knee, values, names, models)
    cycles = found.cycles
    result = cycles["surrogate"].result if "surrogate" in cycles else None
    return TakenDesign(
        run=str(run.folder),
        values=values,
        origins={name: each.origin for name, each in design.items() if each.origin},
        infeasible=infeasible(run.config, values),
        expected=expected,
        doubts=doubts(expected),
        outputs={model: cycle.outputs for model, cycle in cycles.items()},
        errors=found.errors,
        failures=found.failures,
        instants=0 if result is None else len(result.time),
        flagged=0 if result is None else result.flagged,
        flags="" if result is None else worded(each.flag for each in result.flags),
    )


def design_lines(taken: TakenDesign) -> list[str]:
    """Return the lines on the terminal."""
    return [f"design of {taken.run}:", *value_lines(taken), *error_lines(taken)]


def value_lines(taken: TakenDesign) -> list[str]:
    """Return the lines of the values of the parameters."""
    lines = []
    for name, value in taken.values.items():
        origin = taken.origins.get(name)
        lines.append(f"  {name} = {value:g}" + (f" ({origin})" if origin else ""))
    return lines


def error_lines(taken: TakenDesign) -> list[str]:
    """Return the lines of expected errors and of the gait cycle."""
    lines = []
    if taken.infeasible:
        lines.append(f"the design is infeasible: {taken.infeasible}")
    lines += told_errors(taken.expected)
    lines += [f"no gait cycle by the {model}: {why}" for model, why in taken.failures.items()]
    if taken.outputs:
        models = list(taken.outputs)
        lines.append(f"gait cycle by the {' and the '.join(models)}:")
        lines += [f"  {_output_line(taken, name, models)}" for name in KEY_OUTPUTS]
    if taken.errors:
        lines.append("errors of the surrogate over the cycle:")
        lines += [f"  {line}" for line in told_errors(taken.errors, "")]
    if taken.flagged:
        lines.append(
            f"{taken.flagged} of {counted(taken.instants, 'instant')} outside the trained domain: "
            f"do not trust the results there ({taken.flags})"
        )
    return lines


def _output_line(taken: TakenDesign, name: str, models: Sequence[str]) -> str:
    """Return an output of the models, and the difference of the surrogate from the original."""
    output, values = OUTPUTS[name], [taken.outputs[model][name] for model in models]
    line = f"{output.label}: {', '.join(f'{value:.4g}' for value in values)} {output.unit}"
    if len(values) < 2:
        return line
    surrogate, original = values
    return f"{line}, difference {surrogate - original:+.2g} {output.unit}"


@dataclass(frozen=True, eq=False)
class TrainedDesigns:
    """A finished run over designs: its configuration and its surrogate."""

    folder: Path
    config: Config
    knee: ContactSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedDesigns:
        """Open a run directory; raises `RunError` unless it is a finished run over designs."""
        of = " of a configuration with [design_space]"
        return cls(folder, *opened(folder, (DESIGNS,), "run over designs", of))

    def config_of(self, design: Design) -> Config:
        """Return the configuration of a design, without [design_space]."""
        return design_config(self.config, self._named(design))

    def original(self, design: Design) -> Knee:
        """Return the original model of a design; raises as `build_knee`."""
        return design_knee(self.config, self._named(design))

    def _named(self, design: Design) -> dict[str, float]:
        return self.knee.parameters.named(self.knee.parameters.values(design))


def shape_of_knee(
    knee: KneeConfig,
    files: tuple[str, str],
    varied: NDArray[np.bool_],
    bounds: Bounds,
    side: str | None = None,
) -> FittedShape:
    """Return the modes `varied` (K,), within `bounds` [1], fitted to meshes of femur and tibia."""
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
    """A knee in a run over modes of shape, with errors at samples that correct no height."""

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
    """Return weights of a new knee in a run over modes of shape, its models and its errors."""
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
    # Both halves of a Sobol sequence fill the box: one corrects heights, the other tells errors.
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
    """Return height [m] and slope [m/rad] of a line through heights (N,) at poses (N, 6) [rad]."""
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
    """A new knee as a design: its fit, heights [um, um/deg], errors and gait cycle."""

    placed: float
    rms_mm: float
    largest_mm: float
    ends: list[str]
    heights: dict[str, list[float]]
    measured: dict[str, float]


def fit_document(run: TrainedDesigns, fitted: FittedKnee, *, original: bool = False) -> FitDocument:
    """Return what is told of a new knee; with `original`, its own model drives the cycle too."""
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
