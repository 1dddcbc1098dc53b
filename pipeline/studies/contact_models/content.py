"""The compared contact models, and the content of `compared_models.json`: figures and marks.

A new model is a row of `MODELS` and a name in `pipeline.config.contact_schema.ComparedModel`. The
model that `build` returns implements `dynamics.protocol.ContactModel`; a model that also has
surfaces (`foundation.surface_contact.SurfaceContact`) gives pressure maps, and wear by its own
pressures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import AREA, AXIAL_FORCE, CENTRE, FORCE, MOMENT, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION, SUPERIOR
from foundation.finite_element.model import coarser
from pipeline.originals.spring_bed import build_bed
from pipeline.reports.judgement import judgement
from pipeline.store.run_documents import Computed, Judgement
from pipeline.studies.calibration import FREE_LAWS, fit_law, free_springs, linear_springs
from pipeline.studies.contact_models.knee import (
    ELEMENTS,
    Built,
    ComparedKnee,
    given_parameters,
    timed,
)
from pipeline.studies.contact_models.measurement import (
    AT_POSES,
    OVER_CYCLE,
    Measured,
    Truth,
    touching_too,
)

COARSE = "finite_elements_coarse"


@dataclass(frozen=True)
class ModelKind:
    """A compared model."""

    #: Name in files and in `[comparison] models`.
    name: str
    #: Name on the page.
    label: str
    #: "finite elements", "springs" or "surrogate".
    group: str
    #: What must be known beforehand, in addition to the surfaces.
    known: str
    #: Raises `InputError`, `StageError` or `ExecutionError` where the model cannot be made.
    build: Callable[[ComparedKnee], Built]


def _elements(knee: ComparedKnee) -> Built:
    return knee.condensed_elements(ELEMENTS)


def _coarse_elements(knee: ComparedKnee) -> Built:
    start = time.perf_counter()
    model = coarser(knee.elements)
    return knee.condensed(COARSE, model, time.perf_counter() - start)


def _springs(knee: ComparedKnee, law: str) -> Built:
    config = knee.springs(law, **given_parameters(knee.config, law))
    return timed(lambda: build_bed(config.contact, knee.surfaces))


def _calibrated(knee: ComparedKnee, law: str) -> Built:
    samples = knee.samples

    def fitted() -> ContactModel:
        springs = free_springs(knee, samples.value, linear_springs(knee), law)
        return springs.at(fit_law(springs.free, springs.at, samples.value).values)

    return timed(fitted, samples.seconds)


def _springs_surrogate(knee: ComparedKnee) -> Built:
    teacher = _springs(knee, "linear")
    return knee.trained("springs_surrogate", knee.springs("linear"), teacher, "linear")


def _elements_surrogate(knee: ComparedKnee) -> Built:
    config = knee.elements_config
    return knee.trained("elements_surrogate", config, _elements(knee), ELEMENTS)


_SOLID = "elastic constants, base of the layers (underside or thickness), node spacing"
_LAYER = "elastic constants, thickness of the layers"
_OF_SAMPLES = "as finite elements, whose loads at some poses are followed"
_RANGE = "range of poses and loads of the use"
#: Spring laws, and what must be known of them beside the layers.
_LAWS = {
    "linear": "",
    "logarithmic": "",
    "modified": "; f, m and dref of the law, which follow from no property of the layer",
    "coupled": "",
}


def _springs_by_law() -> Iterator[ModelKind]:
    for law, known in _LAWS.items():
        label, build = f"springs, {law} law", partial(_springs, law=law)
        yield ModelKind(law, label, "springs", f"{_LAYER}{known}", build)
        if law in FREE_LAWS:
            name, build = f"{law}_calibrated", partial(_calibrated, law=law)
            yield ModelKind(name, f"{label}, calibrated", "springs", _OF_SAMPLES, build)


_ELEMENTS, _SURROGATE = "finite elements", "surrogate"
#: The compared models; the finite elements come first, since their cycle gives the poses.
MODELS = (
    ModelKind(ELEMENTS, _ELEMENTS, _ELEMENTS, _SOLID, _elements),
    ModelKind(COARSE, f"{_ELEMENTS}, twice the spacing", _ELEMENTS, _SOLID, _coarse_elements),
    *_springs_by_law(),
    ModelKind(
        "springs_surrogate",
        "surrogate of linear springs",
        _SURROGATE,
        f"{_LAYER}; {_RANGE}",
        _springs_surrogate,
    ),
    ModelKind(
        "elements_surrogate",
        "surrogate of finite elements",
        _SURROGATE,
        f"as finite elements; {_RANGE}",
        _elements_surrogate,
    ),
)
#: Rows that every comparison has: the finite elements are what all errors refer to.
ALWAYS = (ELEMENTS, COARSE)


def chosen(names: tuple[str, ...]) -> tuple[ModelKind, ...]:
    """Return the models of `ALWAYS` and the named ones; without names, all models."""
    return tuple(kind for kind in MODELS if not names or kind.name in (*ALWAYS, *names))


#: Figure of a model; None where the model has none.
Measure = Callable[[Measured, Truth], float | None]


@dataclass(frozen=True)
class Column:
    """A column of the comparison."""

    #: Name in files, which ends with the unit.
    key: str
    label: str
    unit: str
    #: The heading above.
    group: str
    #: What the figure is, in one sentence.
    meaning: str
    #: Takes `Measured` and `Truth` and returns the figure in the unit of the column.
    measure: Measure
    #: Figure of mark 1 [unit of the column]; None where there is no mark.
    best: float | None = None
    #: Figure of mark 0 [unit of the column].
    worst: float | None = None
    #: Criterion of the weighted sum that the mark counts for.
    criterion: str = ""

    def mark(self, value: float | None) -> float | None:
        """Return the mark of a figure, 0 to 1: linear in its logarithm between worst and best."""
        if value is None or self.best is None or self.worst is None:
            return None
        size = float(np.clip(abs(value), self.best, self.worst))
        return float(np.log(self.worst / size) / np.log(self.worst / self.best))


def _at_poses(components: int | slice) -> Measure:
    """Return the error at the given poses, RMS over RMS of the truth [%]."""

    def measure(measured: Measured, truth: Truth) -> float | None:
        if "pose_loads" not in measured.arrays:
            return None
        found = measured.arrays["pose_loads"][truth.touching][:, components]
        wanted = truth.loads[truth.touching][:, components]
        return relative(found, wanted)

    return measure


def _stiffness(measured: Measured, truth: Truth) -> float | None:
    if "pose_jacobians" not in measured.arrays:
        return None
    touching = truth.touching.any(axis=1)
    found, wanted = (
        -jacobians[touching, AXIAL_FORCE, SUPERIOR]
        for jacobians in (measured.arrays["pose_jacobians"], truth.jacobians)
    )
    return relative(found, wanted)


def _centre(measured: Measured, truth: Truth) -> float | None:
    if "pose_loads" not in measured.arrays:
        return None
    loads = measured.arrays["pose_loads"]
    both = touching_too(truth, loads)
    if not both.any():
        return None
    apart = np.linalg.norm((loads - truth.loads)[..., CENTRE], axis=-1)[both]
    return 1e3 * root_mean_square(apart)


def _coordinate(index: int, factor: float) -> Measure:
    """Return the RMS difference of a coordinate over the cycle, in another unit by a factor."""

    def measure(measured: Measured, truth: Truth) -> float | None:
        if "cycle_poses" not in measured.arrays:
            return None
        difference = (measured.arrays["cycle_poses"] - truth.cycle_poses)[:, index]
        return factor * root_mean_square(difference)

    return measure


def _over_cycle(component: int) -> Measure:
    """Return the error over the cycle that the model drives, RMS over RMS of the truth [%]."""

    def measure(measured: Measured, truth: Truth) -> float | None:
        if "cycle_loads" not in measured.arrays:
            return None
        return relative(measured.arrays["cycle_loads"][..., component], _loads(truth, component))

    return measure


def _loads(truth: Truth, component: int) -> FloatArray:
    return truth.cycle_loads[..., component]


def _wear(measured: Measured, truth: Truth) -> float | None:
    if "wear_volume" not in measured.arrays:
        return None
    return 100.0 * float(measured.arrays["wear_volume"].sum() / truth.wear.sum() - 1.0)


def _number(name: str, factor: float) -> Measure:
    def measure(measured: Measured, truth: Truth) -> float | None:
        del truth
        value = measured.numbers.get(name)
        return None if value is None else factor * value

    return measure


def relative(found: FloatArray, wanted: FloatArray) -> float | None:
    """Return the RMS error of values (any shape) over the RMS of the wanted ones [%]; no NaN."""
    known = np.isfinite(found)
    size = root_mean_square(wanted[known]) if known.any() else 0.0
    return 100.0 * root_mean_square((found - wanted)[known]) / size if size > 0.0 else None


def root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of values (any shape) [any unit]."""
    return float(np.sqrt(np.mean(np.square(values))))


_ACCURACY = "accuracy"
#: Figures of mark 1 and of mark 0 of errors in per cent, and of those in mm and degrees.
_SHARE, _LENGTH = (0.1, 100.0), (0.01, 10.0)
_AT, _GAIT, _COST = AT_POSES, OVER_CYCLE, "cost"
_OF_POSES = "RMS over the given poses and both compartments, over the RMS of the truth"
_OWN = "over the cycle that the model drives itself"

#: The columns, in the order of the table.
COLUMNS = (
    Column("force_percent", "force", "%", _AT, f"contact force, a vector: {_OF_POSES}",
           _at_poses(FORCE), *_SHARE, _ACCURACY),
    Column("moment_percent", "moment", "%", _AT,
           f"moment about the tibial origin, a vector: {_OF_POSES}",
           _at_poses(MOMENT), *_SHARE, _ACCURACY),
    Column("stiffness_percent", "stiffness", "%", _AT,
           "derivative of the axial force by the height: RMS over the given poses, over the RMS of "
           "the truth", _stiffness, *_SHARE, _ACCURACY),
    Column("peak_pressure_percent", "peak pressure", "%", _AT, f"peak pressure: {_OF_POSES}",
           _at_poses(PEAK_PRESSURE), *_SHARE, _ACCURACY),
    Column("area_percent", "area", "%", _AT, f"contact area: {_OF_POSES}", _at_poses(AREA),
           *_SHARE, _ACCURACY),
    Column("centre_mm", "centre of pressure", "mm", _AT,
           "distance of the centres of pressure: RMS over the given poses and both compartments",
           _centre, *_LENGTH, _ACCURACY),
    Column("anterior_mm", "AP position", "mm", _GAIT, f"AP position: RMS difference {_OWN}",
           _coordinate(ANTERIOR, 1e3), *_LENGTH, _ACCURACY),
    Column("rotation_deg", "rotation", "°", _GAIT, f"internal rotation: RMS difference {_OWN}",
           _coordinate(ROTATION, 180.0 / np.pi), *_LENGTH, _ACCURACY),
    Column("gait_peak_pressure_percent", "peak pressure", "%", _GAIT,
           f"peak pressure of both compartments {_OWN}, so under the same load: RMS error over the "
           "RMS of the truth", _over_cycle(PEAK_PRESSURE), *_SHARE, _ACCURACY),
    Column("gait_area_percent", "area", "%", _GAIT,
           f"contact area of both compartments {_OWN}: RMS error over the RMS of the truth",
           _over_cycle(AREA), *_SHARE, _ACCURACY),
    Column("wear_percent", "wear", "%", _GAIT,
           f"worn volume of both compartments {_OWN}, over that of the truth, less 1",
           _wear, *_SHARE, _ACCURACY),
    Column("evaluation_us", "one evaluation", "µs", _COST,
           "loads and Jacobian at a pose: median processor time over the given poses",
           _number("evaluation_s", 1e6), 10.0, 1e5, "speed"),
    Column("cycle_s", "one cycle", "s", _COST, "simulated gait cycle: processor time",
           _number("cycle_s", 1.0), 0.01, 1e3, "speed"),
    Column("set_up_s", "set-up", "s", _COST,
           "wall time until the model can be evaluated: springs, condensation, training",
           _number("set_up_s", 1.0), 1.0, 1e4, "preparation"),
    Column("set_up_memory_MB", "set-up memory", "MB", _COST,
           "estimated memory of the condensation at its peak",
           _number("set_up_memory_bytes", 1e-6)),
)  # fmt: skip
#: Criteria of the weighted sum, with names for people: those of table 2 of Lehtoranta (2011) that
#: can be measured. Connectability, need of add-ons, theory and development are left to judgement.
CRITERIA = {
    _ACCURACY: "accuracy",
    "speed": "computational speed",
    "preparation": "speed of forming",
    "versatility": "versatility",
}
#: Weights of the criteria in the same table; the reader of the page can change them there.
WEIGHTS = {_ACCURACY: 0.30, "speed": 0.20, "preparation": 0.10, "versatility": 0.09}


def figures_of(measured: Measured, truth: Truth) -> dict[str, float | None]:
    """Return the figures of a model by the keys of `COLUMNS`, in their units."""
    unknown = unknown_groups(measured, truth)
    return {
        column.key: None if column.group in unknown else column.measure(measured, truth)
        for column in COLUMNS
    }


def unknown_groups(measured: Measured, truth: Truth) -> frozenset[str]:
    """Return the groups of columns in which the error of a model cannot be known."""
    if measured is not truth.fine:
        return frozenset()
    return frozenset((AT_POSES, OVER_CYCLE)) - truth.extrapolated


def marks_of(
    figures: dict[str, float | None], unknown: frozenset[str] = frozenset()
) -> dict[str, float | None]:
    """Return the mark of each criterion, 0 to 1: the mean over its columns.

    A column without a figure counts 0, since the model gives no answer there. Versatility is the
    share of the columns of accuracy that have a figure. Columns in which the error is not known
    (`unknown_groups`) are left out; the mark is None if this leaves none.
    """
    marks: dict[str, float | None] = {}
    answered: list[float] = []
    for criterion in CRITERIA:
        own = [c for c in COLUMNS if c.criterion == criterion and c.group not in unknown]
        found = [column.mark(figures[column.key]) for column in own]
        marks[criterion] = _mean([mark or 0.0 for mark in found])
        if criterion == _ACCURACY:
            answered = [float(mark is not None) for mark in found]
    return marks | {"versatility": _mean(answered)}


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def weighted_sum(marks: dict[str, float | None], weights: dict[str, float]) -> float | None:
    """Return the mean of the marks that are known with weights, 0 to 1; None without a weight."""
    known = {name: mark for name, mark in marks.items() if mark is not None}
    total = sum(weights[name] for name in known)
    if total <= 0.0:
        return None
    return sum(weights[name] * mark for name, mark in known.items()) / total


#: Rule of the marks, for readers.
RULE = (
    "A figure has mark 1 at or below the best value of its column and mark 0 at or above the "
    "worst; between them the mark is linear in the logarithm of the figure. The mark of a "
    "criterion is the mean over its columns, where a column without an answer counts 0; "
    "versatility is the share of the errors that the model has an answer for. The weighted sum is "
    "the mean of the marks of the criteria with the weights; columns in which the error of a model "
    "is not known are left out."
)


class ComparedColumn(Computed):
    """A column of the table, a `pipeline.studies.contact_models.content.Column`."""

    key: str
    label: str
    unit: str
    group: str
    meaning: str
    best: float | None
    worst: float | None
    criterion: str


class ComparedModel(Computed):
    """A row of the table: figures by column, marks by criterion, and what could not be computed."""

    name: str
    label: str
    group: str
    known_beforehand: str
    figures: dict[str, float | None]
    wear_mm3_per_million_cycles: float | None
    evaluations_of_cycle: float | None
    marks: dict[str, float | None]
    weighted_sum: float | None
    failures: dict[str, str]
    flags: list[str]
    verdict: Judgement | None


class ComparedTruth(Computed):
    """The extrapolated finite elements that all models are compared with."""

    node_spacing_mm: float
    extrapolated: list[str]
    poses: int
    patches_in_contact: int
    wear_mm3_per_million_cycles: float | None


class ModelComparison(Computed):
    """`compared_models.json`: every figure of every model, and how the figures are marked."""

    name: str
    truth: ComparedTruth
    columns: list[ComparedColumn]
    criteria: dict[str, str]
    weights: dict[str, float]
    rule: str
    models: list[ComparedModel]


def comparison_content(
    knee: ComparedKnee, measured: dict[str, Measured], truth: Truth
) -> ModelComparison:
    """Return the comparison from the measurements by model."""
    elements = knee.elements_config.contact.finite_element
    assert elements is not None  # the configuration of the finite elements
    return ModelComparison(
        name=knee.config.run.name,
        truth=ComparedTruth(
            node_spacing_mm=elements.node_spacing_mm,
            extrapolated=sorted(truth.extrapolated),
            poses=len(truth.loads),
            patches_in_contact=int(truth.touching.sum()),
            wear_mm3_per_million_cycles=1e15 * float(truth.wear.sum()),
        ),
        columns=[ComparedColumn.model_validate(c, from_attributes=True) for c in COLUMNS],
        criteria=CRITERIA,
        weights=WEIGHTS,
        rule=RULE,
        models=[
            _row(kind, measured[kind.name], truth, knee.folder / kind.name)
            for kind in MODELS
            if kind.name in measured
        ],
    )


def _row(kind: ModelKind, measured: Measured, truth: Truth, run: Path) -> ComparedModel:
    """Return the row of a model; the run is that of a surrogate."""
    figures = figures_of(measured, truth)
    marks = marks_of(figures, unknown_groups(measured, truth))
    volume = measured.arrays.get("wear_volume")
    return ComparedModel(
        name=kind.name,
        label=kind.label,
        group=kind.group,
        known_beforehand=kind.known,
        figures=figures,
        wear_mm3_per_million_cycles=None if volume is None else 1e15 * float(volume.sum()),
        evaluations_of_cycle=measured.numbers.get("evaluations"),
        marks=marks,
        weighted_sum=weighted_sum(marks, WEIGHTS),
        failures=measured.failures,
        flags=measured.flags,
        verdict=judgement(run) if (run / "knee.npz").is_file() else None,
    )


def table_of(content: ModelComparison) -> pd.DataFrame:
    """Return a row per model and a column per figure, whose name has the unit."""
    keys = [column.key for column in content.columns]
    return pd.DataFrame(
        {
            "model": row.name,
            **{key: row.figures[key] for key in keys},
            "weighted_sum": row.weighted_sum,
            "known_beforehand": row.known_beforehand,
            "failures": "; ".join(f"{part}: {text}" for part, text in row.failures.items()),
        }
        for row in content.models
    ).astype(dict.fromkeys([*keys, "weighted_sum"], float))
