"""Forces that an instrumented implant measured: from the columns of a table to newtons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.studies.implant_forces.columns import unit_texts
from pipeline.studies.implant_forces.roles import CELLS, FORCES
from pipeline.studies.implant_forces.schema import ImplantForcesConfig
from pipeline.studies.implant_forces.sheets import ForceTable, read_force_table
from pipeline.studies.implant_forces.units import (
    FORCE_UNITS,
    MOMENT_UNITS,
    PERCENT,
    PLAUSIBLE,
    WEIGHT,
    likely_moment_unit,
    likely_unit,
    newtons,
    unit_in,
)

#: Largest force in body weights that has no warning.
_USUAL = (0.8, 6.0)
#: Part of the peak of the total force by which a compartment may pull, or a total force differ.
_TENSION = 0.1
#: Roles of forces.
_FORCES = ("total", "medial", "lateral", *FORCES, *CELLS)


@dataclass(frozen=True, eq=False)
class ImplantForces:
    """Measured forces over time.

    Parameters
    ----------
    source : str
        Name of the file and the sheet.
    time : (N,) float64
        Increasing instants [s]; [%] if `percent`.
    parts : mapping
        Axial forces (N,) [N] by part (total, medial, lateral), compression positive; NaN where the
        file has no value.
    knee_angle : (N,) float64, optional
        Course of a knee angle, such as that of a goniometer [any unit, any sign].
    percent : bool
        Whether the table has parts of a cycle in place of times.
    facts, warnings : tuple of str
        Sentences on what was recognised in the file, and on what is doubtful.
    """

    source: str
    time: FloatArray
    parts: Mapping[str, FloatArray]
    knee_angle: FloatArray | None
    percent: bool
    facts: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def read_implant_forces(config: ImplantForcesConfig, body_weight: float) -> ImplantForces:
    """Return the measured forces of a file.

    Parameters
    ----------
    config : ImplantForcesConfig
        File, and what the file does not state.
    body_weight : float
        Body weight [N].

    Raises
    ------
    InputError
        If the file cannot be read, has no forces or times, or does not determine a unit.
    """
    table = _without_resultant(read_force_table(config), config)
    raw, source = _raw_total(table)
    units, how = _force_units(table, config, raw, body_weight)
    forces = {role: newtons(unit, body_weight) * table.values(role) for role, unit in units.items()}
    total, _ = _raw_total(table, forces)
    if not np.isfinite(total).any():
        raise InputError(
            f"{table.source}: expected forces at common instants, found none at which all columns "
            f"of the {source} have a value; check implant_forces.columns"
        )
    sign = 1.0 if np.nansum(total) >= 0.0 else -1.0
    unit = units[next(iter(units))]
    parts, facts = _compartments(table, config, forces, sign, newtons(unit, body_weight), unit)
    parts = {"total": sign * total, **parts}
    return ImplantForces(
        table.source,
        table.time,
        parts,
        table.values("knee_angle") if "knee_angle" in table.columns else None,
        table.percent,
        (how, source + ("" if sign > 0.0 else ", negative in compression"), *facts, *table.facts),
        (
            *table.warnings,
            *_unit_doubts(table.source, float(np.nanmax(parts["total"])), unit, body_weight),
            *_part_doubts(table.source, parts, body_weight),
        ),
    )


def _part_doubts(
    source: str, parts: Mapping[str, FloatArray], body_weight: float
) -> tuple[str, ...]:
    """Return warnings of forces of compartments that no knee has."""
    doubts = []
    peak = float(np.nanmax(parts["total"]))
    for part in ("medial", "lateral"):
        force = parts.get(part, parts["total"])
        low, high = float(np.nanmin(force)), float(np.nanmax(force))
        if high > _USUAL[1] * body_weight or low < -_TENSION * peak:
            doubts.append(
                f"{source}: the measured {part} force is {low / body_weight:.2f} to "
                f"{high / body_weight:.2f} body weights; check signs and units of its columns, "
                "implant_forces.medial and implant_forces.moment_unit"
            )
    if parts.keys() >= {"medial", "lateral"}:
        left = np.abs(parts["total"] - parts["medial"] - parts["lateral"])
        if (share := float(np.nanmax(left)) / peak) > _TENSION:
            doubts.append(
                f"{source}: the measured total force differs from medial plus lateral force by up "
                f"to {100.0 * share:.0f} % of its peak; check which columns are the compartments"
            )
    return tuple(doubts)


def _unit_doubts(source: str, peak: float, unit: str, body_weight: float) -> tuple[str, ...]:
    """Return a warning if a largest force [N] is unusual, and the unit that would explain it."""
    share = peak / body_weight
    if _USUAL[0] <= share <= _USUAL[1]:
        return ()
    others = {other: peak / newtons(unit, body_weight) * f for other, f in FORCE_UNITS.items()}
    low, high = PLAUSIBLE
    hints = [
        f"{value / body_weight:.2f} in {other}"
        for other, value in others.items()
        if low <= value / body_weight <= high
    ]
    hint = f" (the force would be {' or '.join(hints)})" if hints else ""
    return (
        f"{source}: the largest measured force is {share:.2f} body weights; check the unit {unit} "
        f"(implant_forces.unit){hint} and the mass of the body",
    )


def _without_resultant(table: ForceTable, config: ImplantForcesConfig) -> ForceTable:
    """Return a table without its resultant, where components have the axial force."""
    columns = table.columns.keys()
    if "total" in config.columns or "medial" in columns or not columns & set(FORCES):
        return table
    return replace(table, columns={k: v for k, v in table.columns.items() if k != "total"})


def _raw_total(
    table: ForceTable, forces: Mapping[str, FloatArray] | None = None
) -> tuple[FloatArray, str]:
    """Return the total force (N,), and which columns have it.

    From values of columns [unit of the file], or from `forces` (N,) [N] by role.
    """
    have = {role: table.values(role) for role in _FORCES if role in table.columns}
    have = have if forces is None else dict(forces)
    if "total" in have:
        return have["total"], f"total force: {table.columns['total'].name}"
    if have.keys() >= {"medial", "lateral"}:
        return have["medial"] + have["lateral"], "total force: sum of the compartments"
    if have.keys() >= set(CELLS):
        every = np.sum([have[cell] for cell in CELLS], axis=0)
        return every, "total force: sum of the four load cells"
    axial = max(
        (role for role in FORCES if role in have), key=lambda role: np.nanmean(have[role] ** 2)
    )
    return have[axial], f"axial force: {table.columns[axial].name}, the largest component"


def _force_units(
    table: ForceTable, config: ImplantForcesConfig, raw: FloatArray, body_weight: float
) -> tuple[dict[str, str], str]:
    """Return the unit of each column of forces, and how the units were found."""
    roles = [role for role in _FORCES if role in table.columns]
    if config.unit is not None:
        return dict.fromkeys(roles, config.unit), f"forces in {config.unit}, as stated"
    known = (*FORCE_UNITS, WEIGHT, PERCENT)
    stated = {role: unit_in(unit_texts(table.columns[role]), known) for role in roles}
    first = next(filter(None, stated.values()), None)
    if first is not None:
        units = {role: unit or first for role, unit in stated.items()}
        return units, f"forces in {' and '.join(dict.fromkeys(units.values()))}, as in the header"
    peak = float(np.nanmax(np.abs(raw)))
    unit = likely_unit(peak, body_weight, table.source)
    share = peak * FORCE_UNITS[unit] / body_weight
    return dict.fromkeys(roles, unit), (
        f"forces in {unit}, which the file does not state: the largest value, {peak:.4g}, is "
        f"{share:.2f} body weights in {unit}"
    )


def _compartments(
    table: ForceTable,
    config: ImplantForcesConfig,
    forces: Mapping[str, FloatArray],
    sign: float,
    factor: float,
    unit: str,
) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
    """Return the forces (N,) of the compartments by name [N], and how they were found.

    `sign` times a force is positive in compression; `factor` newtons are the `unit` of the forces.
    """
    if config.medial is not None:
        terms = [c * table.values(name) for name, c in config.medial.items()]
        medial = factor * np.sum(terms, axis=0)
        total = sign * _raw_total(table, forces)[0]
        words = " + ".join(f"{c:g} {name}" for name, c in config.medial.items())
        return {"medial": medial, "lateral": total - medial}, (f"medial force: {words}",)
    given = {part: sign * forces[part] for part in ("medial", "lateral") if part in forces}
    if len(given) == 1 and "total" in forces:
        [(part, force)] = given.items()
        other = "lateral" if part == "medial" else "medial"
        rest = sign * forces["total"] - force
        return given | {other: rest}, (f"{other} force: total force less the {part} one",)
    if given:
        return given, ()
    if forces.keys() >= set(CELLS):
        pairs = {"medial": ("pm", "am"), "lateral": ("al", "pl")}
        parts = {part: sign * (forces[a] + forces[b]) for part, (a, b) in pairs.items()}
        return parts, ("medial force: PM + AM; lateral force: AL + PL",)
    if config.spacing_mm is None:
        return {}, (
            "the table has no forces of the compartments: implant_forces.medial or, in OrthoLoad's "
            "axes, implant_forces.spacing_mm determines them",
        )
    return _by_moment(table, config, forces, sign, unit)


def _by_moment(
    table: ForceTable,
    config: ImplantForcesConfig,
    forces: Mapping[str, FloatArray],
    sign: float,
    unit: str,
) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
    """Return the forces of the compartments by the frontal moment of a table of OrthoLoad.

    Axes of OrthoLoad's knee: x lateral, y anterior, z superior, of a right knee; left ones are
    mirrored (cams-knee.orthoload.com/instrumented-knee-implant). An axial force N at x lateral of
    the stem has the moment My = x N, so that the medial force is N/2 - My/spacing.
    """
    total, axial = _raw_total(table, forces)
    if "moment_y" not in table.columns or "force_z" not in forces or sign > 0.0:
        raise InputError(
            f"{table.source}: implant_forces.spacing_mm expects OrthoLoad's axes, with a negative "
            f"Fz in compression and a frontal moment My, found {axial} and "
            f"{', '.join(table.columns)}; state implant_forces.medial instead"
        )
    column = table.columns["moment_y"]
    spacing = 1e-3 * float(config.spacing_mm or 0.0)
    moment_unit = config.moment_unit or unit_in(unit_texts(column), MOMENT_UNITS)
    found = "as stated" if config.moment_unit else "as in the header"
    if moment_unit is None:
        moment_unit, found = likely_moment_unit(column.values, total, unit, table.source)
    moment = MOMENT_UNITS[moment_unit] * column.values
    medial = sign * total / 2.0 - moment / spacing
    return {"medial": medial, "lateral": sign * total - medial}, (
        f"medial force: half the axial force less {column.name} over {1e3 * spacing:g} mm",
        f"moments in {moment_unit}, {found}",
    )
