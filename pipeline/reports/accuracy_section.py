"""Section of the report on the accuracy of the surrogate at held-out samples."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES
from pipeline.reports.accuracy_document import (
    Accuracy,
    CompartmentAccuracy,
    CoverageRow,
    Covered,
    CrossRow,
    ErrorRow,
    FrontEntry,
    HeightError,
    JudgedRow,
    LearningPoint,
    ModelRow,
    Quantiles,
    WorstLoad,
)
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import largest, scaled
from pipeline.store.quantities import ERRORS, OutputGroup
from pipeline.store.samples import FAILED
from pipeline.store.validation_document import Compartment, Figures, Judged, Round

#: Errors at a given load by which users judge a surrogate: column, figure, words.
_JUDGED = (
    ("superior_m", "rmse", "height, RMS"),
    ("force_x_over_axial", "rmse", "AP force over axial force, RMS"),
    ("force_z_over_axial", "rmse", "ML force over axial force, RMS"),
    ("cop_distance_m", "rmse", "centre of pressure, RMS distance"),
    ("cop_distance_m", "maximum", "centre of pressure, largest distance"),
)


def accuracy_of(files: RunFiles) -> Accuracy:
    """Return the section on the accuracy of the report of a run."""
    stored, settings, hidden = files.validation, files.config["validation"], files.hidden
    main = stored.models[0]
    parts = main.compartments
    coverage = _coverage_rows(parts, hidden)
    return Accuracy(
        seed=files.run.held_out_seed,
        design="rows of the table" if files.run.triangles is None else settings["kind"],
        points_per_compartment=settings["points"],
        failed=int((files.held_out["status"] == FAILED).sum()),
        formulation=main.formulation,
        family=main.family,
        worst_load=worst_load(main),
        compartments={name: _compartment(part, hidden) for name, part in parts.items()},
        judged_at_load=_judged_rows(parts, hidden),
        coverage=coverage,
        too_narrow=[
            f"{name} {row.label} ({row.compartments[name].covered_percent:.0f} %)"
            for name in parts
            for row in coverage[: len(WRENCH_COLUMNS)]
            if row.compartments[name].verdict == "low"
        ],
        learning_curve=_learning_curve(stored.learning_curve),
        front=_front(main),
        wanted_error_percent=files.config["surrogate"].get("wanted_error_percent"),
        comparison=[
            *(_model_row(model, "g: all samples") for model in stored.models),
            _model_row(stored.first, "c: last round"),
        ],
    )


def _compartment(part: Compartment, hidden: Collection[str]) -> CompartmentAccuracy:
    return CompartmentAccuracy(
        points=part.points,
        feasible=part.feasible,
        at_pose=_error_rows(part.at_pose, hidden),
        at_pose_all=_error_rows(part.at_pose_all, hidden),
        at_load=_error_rows(part.at_load, hidden) or None,
        cross_validation=_cross_validation_rows(part, hidden),
        quantiles=Quantiles(
            normal_ratio=part.standardised.normal, held_out_ratio=part.standardised.held_out
        ),
        worst_cases=part.worst,
    )


def _error_rows(figures: Mapping[str, Figures], hidden: Collection[str]) -> dict[str, ErrorRow]:
    """Return error figures by quantity."""
    known = ((ERRORS[column], error) for column, error in figures.items())
    return {q.name: ErrorRow.of(q, error) for q, error in known if q.name not in hidden}


def _cross_validation_rows(part: Compartment, hidden: Collection[str]) -> list[CrossRow]:
    """Return the cross-validated error and interval coverage of every output."""
    rows = []
    for key, crossed in part.cross_validation.items():
        group = OutputGroup.read(key)
        for quantity, rmse, covered in zip(
            group.quantities, crossed.rmse, crossed.coverage, strict=True
        ):
            if quantity.name not in hidden:
                row = CrossRow(
                    key=quantity.name,
                    label=quantity.label,
                    unit=quantity.unit_for_people,
                    rmse=scaled(rmse, quantity.factor),
                    coverage=Covered.of(covered),
                    kind=group.kind or crossed.kind,
                    points=crossed.points,
                )
                rows.append(row)
    return rows


def worst_load(model: Judged) -> WorstLoad:
    """Return the largest NRMSE of the six loads at a given pose.

    An undefined NRMSE (the load of the original never changes, that of the surrogate does) counts
    as the largest.
    """
    errors = [
        (part.at_pose[column].nrmse, name, column)
        for name, part in model.compartments.items()
        for column in WRENCH_COLUMNS
    ]
    nrmse, name, column = max(errors, key=lambda item: np.inf if item[0] is None else item[0])
    return WorstLoad(
        nrmse_percent=scaled(nrmse, 100.0), compartment=name, load=QUANTITIES[column].label
    )


def height_error(model: Judged) -> HeightError | None:
    """Return the height error at a given load of the worse compartment, None if undefined."""
    errors = {name: part.height for name, part in model.compartments.items()}
    known = {name: error for name, error in errors.items() if error is not None}
    if len(known) < len(errors):
        return None
    worse = max(known, key=lambda name: known[name][0])
    return HeightError(
        compartment=worse,
        rmse_um=1e6 * known[worse][0],
        max_um=1e6 * max(largest for _, largest in known.values()),
    )


def _model_row(model: Judged, trained_on: str) -> ModelRow:
    axial = largest(part.at_pose["force_y_N"].nrmse for part in model.compartments.values())
    height = height_error(model)
    return ModelRow(
        formulation=model.formulation,
        family=model.family,
        trained_on=trained_on,
        worst_load_nrmse_percent=worst_load(model).nrmse_percent,
        axial_force_nrmse_percent=scaled(axial, 100.0),
        height_rmse_at_load_um=None if height is None else height.rmse_um,
        fit_s=model.fit_seconds,
    )


def _coverage_rows(parts: Mapping[str, Compartment], hidden: Collection[str]) -> list[CoverageRow]:
    """Return the coverage of the 95 % intervals of the held-out loads, a row per load."""
    return [
        CoverageRow(
            key=QUANTITIES[column].name,
            label=QUANTITIES[column].label,
            compartments={name: Covered.of(part.coverage[column]) for name, part in parts.items()},
        )
        for column in LOAD_COLUMNS
        if QUANTITIES[column].name not in hidden
    ]


def _judged_rows(
    parts: Mapping[str, Compartment], hidden: Collection[str]
) -> list[JudgedRow] | None:
    """Return the errors at a given load by which users judge, None if there are none."""
    if not all(part.at_load for part in parts.values()):
        return None
    return [
        JudgedRow(
            label=words,
            unit=ERRORS[column].unit_for_people,
            errors={
                name: scaled(getattr(part.at_load[column], figure), ERRORS[column].factor)
                for name, part in parts.items()
            },
        )
        for column, figure, words in _JUDGED
        if ERRORS[column].name not in hidden
    ]


def _front(model: Judged) -> list[FrontEntry]:
    """Return the surrogates from which those of the compartments were chosen."""
    return [
        FrontEntry(
            compartment=name,
            family=row.family,
            size=row.size,
            load_error_percent=100.0 * row.load_error,
            height_error_um=row.height_um,
            operations=row.operations,
            chosen=row.chosen,
        )
        for name, rows in model.fronts.items()
        for row in rows
    ]


def _learning_curve(points: list[Round]) -> list[LearningPoint]:
    """Return training samples and errors of each round, the final one last."""
    return [
        LearningPoint(
            stage="g: final" if k == len(points) else f"c: round {k}",
            samples=point.samples,
            load_error_percent=scaled(point.load_error, 100.0),
            height_error_um=point.height_um,
            held_out_load_error_percent=scaled(point.held_out_load_error, 100.0),
            held_out_height_error_um=point.held_out_height_um,
        )
        for k, point in enumerate(points, start=1)
    ]
