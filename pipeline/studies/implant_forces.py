"""Forces that an instrumented implant measured, beside the forces of a simulated walk."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from dynamics.csv_table import read_lines
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import File, Finite, Section
from pipeline.store.run_documents import Computed

#: A column by its name, or a sum of columns times factors.
Columns = str | dict[str, Finite]
Unit = Literal["N", "kN", "lbf", "BW"]


class Layout(NamedTuple):
    """What the tables of a public collection have: column of times, axial force, unit."""

    time: str
    total: Columns
    unit: Unit


#: Second implant of the Grand Challenge (simtk.org/projects/kneeloads), and OrthoLoad
#: (cams-knee.orthoload.com), whose Fz is negative in compression.
LAYOUTS = {
    "grand_challenge": Layout("Time", "Fz", "lbf"),
    "orthoload": Layout("Time", {"Fz": -1.0}, "N"),
}


class ImplantForcesConfig(Section):
    """Forces that an instrumented implant measured, compared with the forces of the walk."""

    file: File = Field(
        description="table of the forces (.csv, .txt, .sto); `$KNEE_DATA` at the start is the data "
        "folder"
    )
    layout: Literal["grand_challenge", "orthoload"] | None = Field(
        None, description="public collection whose column of times, total force and unit apply"
    )
    time: str | None = Field(None, description='column of the times [s]; by default "time"')
    total: Columns | None = Field(
        None,
        description="total axial force, positive in compression: a column, or a sum of columns "
        "times factors, such as {PM = 1, AM = 1}; by default medial plus lateral",
    )
    medial: Columns | None = Field(
        None,
        description="force of the medial compartment, as for total; by default total less lateral",
    )
    lateral: Columns | None = Field(
        None,
        description="force of the lateral compartment, as for total; by default total less medial",
    )
    unit: Unit | None = Field(None, description="unit of the forces; by default N")
    shift_s: Finite = Field(
        0.0, description="time that is added to the times of the table to give those of the walk"
    )
    contact: str | None = Field(
        None,
        description="contact of an OpenSim model; by default the only contact with a medial and a "
        "lateral compartment",
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.sums.keys() & {"total"} or self.sums.keys() >= {"medial", "lateral"}:
            return self
        raise InputError(
            "expected total, both medial and lateral, or layout, found "
            f"{', '.join(self.sums) or 'none'}; state the columns of the total force, such as "
            'total = "Fz" or total = {Fz = -1}'
        )

    @property
    def sums(self) -> dict[str, dict[str, float]]:
        """Factors of columns by part (total, medial, lateral), of the parts that are stated."""
        given = {"total": self.total, "medial": self.medial, "lateral": self.lateral}
        if self.layout is not None and self.total is None:
            given["total"] = LAYOUTS[self.layout].total
        return {
            part: {columns: 1.0} if isinstance(columns, str) else columns
            for part, columns in given.items()
            if columns is not None
        }

    @property
    def clock(self) -> str:
        """Name of the column of times."""
        layout = LAYOUTS[self.layout].time if self.layout is not None else "time"
        return self.time or layout

    @property
    def force_unit(self) -> Unit:
        """Unit of the forces."""
        layout: Unit = LAYOUTS[self.layout].unit if self.layout is not None else "N"
        return self.unit or layout


#: Newtons per unit of force (pound-force: NIST SP 811).
_NEWTONS = {"N": 1.0, "kN": 1e3, "lbf": 4.4482216152605}
#: Largest force of a walk in body weights that has no warning. Instrumented knees had 2 to 3 in
#: level walking; the ratio of the limits is below that of lbf to N, so that at most one fits.
_USUAL = (1.25, 5.5)
#: Separators of cells (regular expressions).
_SEPARATORS = (r"\t", ";", ",", r"\s{2,}", r"\s+")
#: Longest time between rows without a gap, and rounding of times [s].
_GAP, _ROUNDING = 0.05, 1e-6


@dataclass(frozen=True, eq=False)
class ImplantForces:
    """Measured forces (N,) [N] over time."""

    #: Name of the file.
    source: str
    #: Increasing instants of the walk (N,) [s].
    time: FloatArray
    #: Axial forces by part (total, medial, lateral), compression positive, (N,) [N].
    parts: Mapping[str, FloatArray]
    #: Sentences on what was read.
    facts: tuple[str, ...]
    #: What is doubtful.
    warnings: tuple[str, ...]


def read_implant_forces(config: ImplantForcesConfig, body_weight: float) -> ImplantForces:
    """Return the measured forces of a file; the body weight is in newtons."""
    path = data_file(config.file)
    names = dict.fromkeys([config.clock, *(n for terms in config.sums.values() for n in terms)])
    columns = _columns(path, names)
    factor = newtons(config.force_unit, body_weight)
    parts = {
        part: factor * np.sum([c * columns[name] for name, c in terms.items()], axis=0)
        for part, terms in config.sums.items()
    }
    if "total" not in parts:
        parts["total"] = parts["medial"] + parts["lateral"]
    for part, other in (("medial", "lateral"), ("lateral", "medial")):
        if other in parts:
            parts.setdefault(part, parts["total"] - parts[other])
    if parts["total"].sum() < 0.0:
        raise InputError(
            f"{path.name}: expected a total force that is positive in compression, found "
            f"{parts['total'].mean():.0f} N on average; invert the sign of its factors, such as "
            "implant_forces.total = {Fz = -1}"
        )
    facts = (
        f"forces in {config.force_unit}",
        *(f"{part} force: {_words(terms)}" for part, terms in config.sums.items()),
    )
    warnings = _unit_doubts(path.name, float(parts["total"].max()), config.force_unit, body_weight)
    time = columns[config.clock] + config.shift_s
    return ImplantForces(path.name, time, parts, facts, warnings)


def newtons(unit: str, body_weight: float) -> float:
    """Return the newtons of a unit of force; the body weight is in newtons."""
    return body_weight if unit == "BW" else _NEWTONS[unit]


def _words(terms: Mapping[str, float]) -> str:
    return " + ".join(name if c == 1.0 else f"{c:g} {name}" for name, c in terms.items())


def _columns(path: Path, names: Collection[str]) -> dict[str, FloatArray]:
    """Return columns (N,) by name, of the rows with numbers below the row with all names."""
    try:
        lines = [text.strip() for _, text in read_lines(path)]
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: no such file; check implant_forces.file") from error
    for at, text in enumerate(lines):
        for separator in _SEPARATORS:
            header = [_plain(cell) for cell in re.split(separator, text)]
            if all(header.count(_plain(name)) == 1 for name in names):
                places = {name: header.index(_plain(name)) for name in names}
                return _numbers(path, lines[at + 1 :], places, separator)
    raise InputError(
        f"{path}: expected a row that has each of {', '.join(sorted(names))} once, found none; "
        "correct time, total, medial and lateral of [implant_forces]"
    )


def _plain(name: str) -> str:
    """Return a name without brackets and in lower case."""
    return re.sub(r"[\[(][^\])]*[\])]", "", name).strip().casefold()


def _numbers(
    path: Path, lines: list[str], places: Mapping[str, int], separator: str
) -> dict[str, FloatArray]:
    """Return columns (N,) of rows with a number in each; a comma is a point unless it separates."""
    cells = pd.DataFrame([re.split(separator, line) for line in lines])
    cells = cells.reindex(columns=list(dict.fromkeys(places.values())))
    if separator != ",":
        cells = cells.replace(",", ".", regex=True)
    rows = cells.apply(pd.to_numeric, errors="coerce").dropna()
    if len(rows) < 3:
        raise InputError(
            f"{path}: expected three or more rows of numbers below the names, found {len(rows)}"
        )
    for after, step in zip(rows.index[1:], np.diff(rows.iloc[:, 0]), strict=True):
        if not step > 0.0:
            raise InputError(
                f"{path}: expected increasing times, found a step of {step:g} before the row "
                f"{lines[after]!r}; keep the rows of one trial, in their order"
            )
    return {name: rows[at].to_numpy(dtype=np.float64) for name, at in places.items()}


def _unit_doubts(source: str, peak: float, unit: str, body_weight: float) -> tuple[str, ...]:
    """Return a warning if a largest force [N] is unusual, and the unit that would explain it."""
    low, high = _USUAL
    if low <= peak / body_weight <= high:
        return ()
    raw = peak / newtons(unit, body_weight) / body_weight
    hints = [
        f"{raw * newtons(other, body_weight):.2f} in {other}"
        for other in (*_NEWTONS, "BW")
        if low <= raw * newtons(other, body_weight) <= high
    ]
    hint = f" (the force would be {' or '.join(hints)})" if hints else ""
    return (
        f"{source}: the largest measured force is {peak / body_weight:.2f} body weights, expected "
        f"{low:g} to {high:g}; check implant_forces.unit, now {unit}{hint}, and the mass of the "
        "body",
    )


def at_times(wanted: FloatArray, time: FloatArray, values: FloatArray) -> FloatArray:
    """Return values (M,) [any unit] at instants [s], linear; NaN outside the rows and in gaps."""
    at = np.clip(wanted, time[0], time[-1])
    after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    gone = (time[after] - time[after - 1] > _GAP) | (np.abs(wanted - at) > _ROUNDING)
    return np.where(gone, np.nan, np.interp(at, time, values))


#: Parts of a tibiofemoral force, in the order of tables.
PARTS = ("total", "medial", "lateral")
#: Table of measured and predicted forces in the folder of a walk.
TABLE = "implant_forces.csv"


class PartErrors(Computed):
    """Errors of a predicted force over the instants with measured values, and both peaks.

    `r2` is 1 less the sum of squared errors over that of the deviations of the measured force from
    its mean.
    """

    rms_N: float
    rms_BW: float
    mean_error_N: float
    r2: float | None
    measured_peak_N: float
    measured_peak_BW: float
    measured_peak_at_s: float
    predicted_peak_N: float
    predicted_peak_BW: float
    predicted_peak_at_s: float


class ImplantComparison(Computed):
    """Comparison of a walk with measured forces: what was read, and the errors."""

    file: str
    contact: str
    facts: list[str]
    shift_s: float
    instants: int
    of_instants: int
    parts: dict[str, PartErrors]


@dataclass(frozen=True, eq=False)
class MeasuredWalk:
    """Measured and predicted forces (M,) [N] at the instants of a walk."""

    comparison: ImplantComparison
    #: Instants of the walk, (M,) [s].
    time: FloatArray
    #: Axial forces by part, (M,) [N]; NaN where the table has none.
    measured: Mapping[str, FloatArray]
    #: Axial forces by part, (M,) [N].
    predicted: Mapping[str, FloatArray]
    #: What is doubtful about the file.
    warnings: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return instants, measured and predicted forces [s, N]."""
        columns = {"time_s": self.time}
        for kind, forces in (("measured", self.measured), ("predicted", self.predicted)):
            columns |= {f"{kind}_{part}_N": force for part, force in forces.items()}
        return pd.DataFrame(columns)


def compare_with_implant(
    config: ImplantForcesConfig,
    time: FloatArray,
    predicted: Mapping[str, FloatArray],
    body_weight: float,
    contact: str,
) -> MeasuredWalk:
    """Compare axial forces by part (M,) [N], at instants (M,) [s] of a walk, with measured ones.

    The body weight is in newtons; `contact` names what is compared, such as a contact.
    """
    forces = read_implant_forces(config, body_weight)
    measured = {
        part: at_times(time, forces.time, forces.parts[part])
        for part in PARTS
        if part in forces.parts and part in predicted
    }
    known = np.isfinite(measured["total"])
    if known.sum() < 3:
        raise InputError(
            f"{forces.source}: expected values from {time[0]:g} to {time[-1]:g} s, the times of "
            f"the walk, found {forces.time[0]:g} to {forces.time[-1]:g} s with a shift of "
            f"{config.shift_s:g} s; state implant_forces.shift_s"
        )
    comparison = ImplantComparison(
        file=Path(config.file).name,
        contact=contact,
        facts=list(forces.facts),
        shift_s=config.shift_s,
        instants=int(known.sum()),
        of_instants=len(time),
        parts={
            part: _errors(time, force, predicted[part], body_weight)
            for part, force in measured.items()
        },
    )
    shown = {part: predicted[part] for part in measured}
    return MeasuredWalk(comparison, time, measured, shown, forces.warnings)


def _errors(
    time: FloatArray, measured: FloatArray, predicted: FloatArray, weight: float
) -> PartErrors:
    known = np.isfinite(measured)
    time, measured, predicted = time[known], measured[known], predicted[known]
    error = predicted - measured
    rms = float(np.sqrt((error**2).mean()))
    spread = measured - measured.mean()
    varies = float((spread**2).sum())
    high, found = int(measured.argmax()), int(predicted.argmax())
    return PartErrors(
        rms_N=rms,
        rms_BW=rms / weight,
        mean_error_N=float(error.mean()),
        r2=1.0 - float((error**2).sum()) / varies if varies > 0.0 else None,
        measured_peak_N=measured[high],
        measured_peak_BW=measured[high] / weight,
        measured_peak_at_s=time[high],
        predicted_peak_N=predicted[found],
        predicted_peak_BW=predicted[found] / weight,
        predicted_peak_at_s=time[found],
    )


def comparison_lines(found: ImplantComparison | None) -> list[str]:
    """Return the lines on the terminal for a comparison; none without one."""
    if found is None:
        return []
    lines = [f"measured forces of {found.file}: {'; '.join(found.facts)}"]
    for part, row in found.parts.items():
        fit = "" if row.r2 is None else f", R² {row.r2:.2f}"
        lines.append(
            f"{part}: {row.rms_N:.0f} N RMS ({row.rms_BW:.2f} body weights){fit}; peak predicted "
            f"{row.predicted_peak_BW:.2f}, measured {row.measured_peak_BW:.2f} body weights"
        )
    return lines
