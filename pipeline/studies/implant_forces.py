"""Forces that an instrumented implant measured, beside the forces of a simulated walk."""

from __future__ import annotations

import csv
import math
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
Unit = Literal["N", "kN", "lbf", "kgf", "BW", "%BW"]


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
    time: str | None = Field(None, description='column of the times; by default "time"')
    time_unit: Literal["s", "ms", "percent"] = Field(
        "s", description="unit of the times; 0 to 100 percent are the whole walk"
    )
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
_NEWTONS = {"N": 1.0, "kN": 1e3, "lbf": 4.4482216152605, "kgf": 9.80665}
#: Largest force of a walk in body weights that has no warning. Instrumented knees had 2 to 3 in
#: level walking; the ratio of the limits is below that of lbf to N, so that at most one fits.
_USUAL = (1.25, 5.5)
#: Part of the peak of the total force by which a compartment may pull, or a total force differ.
_TENSION = 0.1
#: Separators of cells, and texts of cells without a value.
_SEPARATORS = ("\t", ";", ",", "  ", " ")
_NOTHING = frozenset({"", "-", "nan", "na"})
#: Endings of tables that are no text.
_NO_TEXT = (".xlsx", ".xlsm", ".xls", ".ods", ".mat")
#: Steps of the median, and seconds, that a gap between instants exceeds; rounding of times [s].
_GAP_STEPS, _GAP, _ROUNDING = 5.0, 0.05, 1e-6


@dataclass(frozen=True, eq=False)
class ImplantForces:
    """Measured forces (N,) [N] over time."""

    #: Name of the file.
    source: str
    #: Increasing instants, as the table has them, (N,) [s, ms or %].
    time: FloatArray
    #: Axial forces by part (total, medial, lateral), compression positive, (N,) [N].
    parts: Mapping[str, FloatArray]
    #: Sentences on what was read.
    facts: tuple[str, ...]
    #: Sentences on what is doubtful.
    warnings: tuple[str, ...]


def read_implant_forces(config: ImplantForcesConfig, body_weight: float) -> ImplantForces:
    """Return the measured forces of a file; the body weight is in newtons."""
    path = data_file(config.file)
    names = {config.clock, *(name for terms in config.sums.values() for name in terms)}
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
    warnings = (
        *_unit_doubts(path.name, float(parts["total"].max()), config.force_unit, body_weight),
        *_part_doubts(path.name, parts, body_weight),
    )
    return ImplantForces(
        path.name, _increasing(path, columns[config.clock]), parts, facts, warnings
    )


def newtons(unit: str, body_weight: float) -> float:
    """Return the newtons of a unit of force; the body weight is in newtons."""
    shares = {"BW": body_weight, "%BW": 0.01 * body_weight}
    return shares[unit] if unit in shares else _NEWTONS[unit]


def _words(terms: Mapping[str, float]) -> str:
    return " + ".join(name if c == 1.0 else f"{c:g} {name}" for name, c in terms.items())


def _columns(path: Path, names: Collection[str]) -> dict[str, FloatArray]:
    """Return columns (N,) by name, of rows with all values; the header has all names."""
    if path.suffix.lower() in _NO_TEXT:
        raise InputError(
            f"{path}: expected a table as text (.csv, .txt, .sto), found {path.suffix}; save the "
            "sheet of the forces as .csv"
        )
    try:
        lines = read_lines(path)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: no such file; check implant_forces.file") from error
    for at, (_, text) in enumerate(lines):
        for separator in _SEPARATORS:
            header = _cells(text, separator)
            found = {name: _places(header, name) for name in names}
            if all(found.values()):
                places = {name: _only(path, at, name) for name, at in found.items()}
                return _values(path, lines[at + 1 :], places, separator)
    widest = max((text for _, text in lines), key=lambda text: len(re.findall(r"[A-Za-z]+", text)))
    raise InputError(
        f"{path}: expected a row of names with {', '.join(sorted(names))}, found {widest.strip()}; "
        "correct time, total, medial and lateral of [implant_forces]"
    )


def _values(
    path: Path, lines: list[tuple[int, str]], places: Mapping[str, int], separator: str
) -> dict[str, FloatArray]:
    rows = []
    for number, text in lines:
        cells = _cells(text, separator)
        row = [
            _number(
                cells[at] if at < len(cells) else "", separator, f"{path}, line {number}, {name}"
            )
            for name, at in places.items()
        ]
        if np.isfinite(row).all():
            rows.append(row)
    if len(rows) < 3:
        raise InputError(
            f"{path}: expected three or more rows of numbers below the names, found {len(rows)}"
        )
    return dict(zip(places, np.array(rows).T, strict=True))


def _cells(text: str, separator: str) -> list[str]:
    if separator.isspace() and separator != "\t":
        return re.split(rf"\s{{{len(separator)},}}", text.strip())
    return [cell.strip() for cell in next(csv.reader([text], delimiter=separator))]


def _places(header: list[str], name: str) -> list[int]:
    """Return the columns of a name; where none has it, those that have it without brackets."""
    for plain in (str.casefold, _without_brackets):
        if found := [at for at, cell in enumerate(header) if plain(cell) == name.casefold()]:
            return found
    return []


def _without_brackets(name: str) -> str:
    return re.sub(r"[\[(][^\])]*[\])]", "", name).strip().casefold()


def _only(path: Path, places: list[int], name: str) -> int:
    if len(places) > 1:
        raise InputError(
            f"{path}: expected one column {name}, found {len(places)}; state the whole name, or "
            "rename the others"
        )
    return places[0]


def _increasing(path: Path, time: FloatArray) -> FloatArray:
    if (late := np.flatnonzero(np.diff(time) <= 0.0)).size:
        before, after = time[late[0]], time[late[0] + 1]
        raise InputError(
            f"{path}: expected increasing times, found {after:g} after {before:g}; keep the rows "
            "of one trial, in their order"
        )
    return time


def _number(cell: str, separator: str, place: str) -> float:
    """Return the number in a cell, NaN for none; a comma is a point where it separates no cells."""
    if cell.casefold() in _NOTHING:
        return math.nan
    try:
        return float(cell if separator == "," else cell.replace(",", "."))
    except ValueError as error:
        raise InputError(
            f"{place}: expected a number, found {cell!r}; correct or delete the row"
        ) from error


def _part_doubts(
    source: str, parts: Mapping[str, FloatArray], body_weight: float
) -> tuple[str, ...]:
    """Return warnings of forces of compartments that no knee has."""
    doubts = []
    peak = float(parts["total"].max())
    for part in ("medial", "lateral"):
        force = parts.get(part, parts["total"])
        low, high = float(force.min()), float(force.max())
        if high > _USUAL[1] * body_weight or low < -_TENSION * peak:
            doubts.append(
                f"{source}: the measured {part} force is {low / body_weight:.2f} to "
                f"{high / body_weight:.2f} body weights; check signs and factors of "
                f"implant_forces.{part}"
            )
    if parts.keys() >= {"medial", "lateral"}:
        left = np.abs(parts["total"] - parts["medial"] - parts["lateral"])
        if (share := float(left.max()) / peak) > _TENSION:
            doubts.append(
                f"{source}: the measured total force differs from medial plus lateral force by up "
                f"to {100.0 * share:.0f} % of its peak; check which columns are the compartments"
            )
    return tuple(doubts)


def _unit_doubts(source: str, peak: float, unit: str, body_weight: float) -> tuple[str, ...]:
    """Return a warning if a largest force [N] is unusual, and the unit that would explain it."""
    low, high = _USUAL
    if low <= peak / body_weight <= high:
        return ()
    raw = peak / newtons(unit, body_weight) / body_weight
    hints = [
        f"{raw * newtons(other, body_weight):.2f} in {other}"
        for other in (*_NEWTONS, "BW", "%BW")
        if low <= raw * newtons(other, body_weight) <= high
    ]
    hint = f" (the force would be {' or '.join(hints)})" if hints else ""
    return (
        f"{source}: the largest measured force is {peak / body_weight:.2f} body weights, expected "
        f"{low:g} to {high:g}; check implant_forces.unit, now {unit}{hint}, and the mass of the "
        "body",
    )


def at_times(wanted: FloatArray, time: FloatArray, values: FloatArray) -> FloatArray:
    """Return values (M,) [any unit] at other instants [s]; NaN outside of the rows and in gaps.

    Values are linear between the rows. A gap is longer than five steps and 0.05 s.
    """
    step = float(np.median(np.diff(time)))
    at = np.clip(wanted, time[0], time[-1])
    after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    wide = time[after] - time[after - 1] > max(_GAP_STEPS * step, _GAP)
    between = wide & (at != time[after]) & (at != time[after - 1])
    # Times are written with rounding errors.
    outside = np.abs(wanted - at) > _ROUNDING
    return np.where(between | outside, np.nan, np.interp(at, time, values))


#: Parts of a tibiofemoral force, in the order of tables.
PARTS = ("total", "medial", "lateral")
#: Correlation of the total forces below which the clock is doubted [1].
_ALIKE = 0.5
#: Table of measured and predicted forces in the folder of a walk.
TABLE = "implant_forces.csv"


class PartErrors(Computed):
    """Errors of a predicted force over the instants with measured values, and both peaks.

    `r2` is 1 less the sum of squared errors over that of the deviations of the measured force from
    its mean; `correlation` is Pearson's.
    """

    rms_N: float
    rms_BW: float
    mean_error_N: float
    r2: float | None
    correlation: float | None
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
    start, scale = (
        (time[0], 0.01 * float(np.ptp(time)))
        if config.time_unit == "percent"
        else (0.0, 1e-3 if config.time_unit == "ms" else 1.0)
    )
    times = start + scale * forces.time + config.shift_s
    measured = {
        part: at_times(time, times, forces.parts[part])
        for part in PARTS
        if part in forces.parts and part in predicted
    }
    known = np.isfinite(measured["total"])
    if known.sum() < 3:
        raise InputError(
            f"{forces.source}: expected values from {time[0]:g} to {time[-1]:g} s, the times of "
            f"the walk, found {times[0]:g} to {times[-1]:g} s with a shift of {config.shift_s:g} "
            "s; state implant_forces.shift_s, or time_unit"
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
    warnings = (*forces.warnings, *_shift_doubts(forces.source, comparison))
    return MeasuredWalk(comparison, time, measured, shown, warnings)


def _shift_doubts(source: str, found: ImplantComparison) -> tuple[str, ...]:
    """Return a warning if the courses of both total forces have little in common."""
    correlation = found.parts["total"].correlation
    if correlation is None or correlation >= _ALIKE:
        return ()
    return (
        f"{source}: measured and predicted total force correlate by {correlation:.2f}; check the "
        f"shift of the times (implant_forces.shift_s, now {found.shift_s:g} s)",
    )


def _errors(
    time: FloatArray, measured: FloatArray, predicted: FloatArray, weight: float
) -> PartErrors:
    known = np.isfinite(measured)
    time, measured, predicted = time[known], measured[known], predicted[known]
    error = predicted - measured
    rms = float(np.sqrt((error**2).mean()))
    spread = measured - measured.mean()
    other = predicted - predicted.mean()
    norms = float(np.linalg.norm(spread) * np.linalg.norm(other))
    varies = float((spread**2).sum())
    high, found = int(measured.argmax()), int(predicted.argmax())
    return PartErrors(
        rms_N=rms,
        rms_BW=rms / weight,
        mean_error_N=float(error.mean()),
        r2=1.0 - float((error**2).sum()) / varies if varies > 0.0 else None,
        correlation=float(spread @ other) / norms if norms > 0.0 else None,
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
