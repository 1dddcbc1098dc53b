"""Figures of a run that its verdict is made of."""

from __future__ import annotations

from typing import Any

from foundation.base.loads import COMPARTMENTS
from foundation.base.quantities import unit_token
from pipeline.advice import FOLDER
from pipeline.reports.inputs import RunFiles
from pipeline.reports.mesh_resolution import TRIANGLES_ACROSS, mesh_resolution
from pipeline.reports.units import largest, percent
from pipeline.reports.verdict import Evidence

#: End of the columns of peak pressures, and the unit of wear.
_PRESSURE, _WEAR_UNIT = "_peak_pressure_Pa", "mm³ per million cycles"

Row = dict[str, Any]


def evidence_of(files: RunFiles, validation: Row, gait: Row, domain: Row | None = None) -> Evidence:
    """Return the figures that the verdict is made of."""
    differences = {row["column"]: row["rms_over_range_percent"] for row in gait["differences"]}
    varied = gait["combinations"] or {"failures": [], "rows": []}
    surface = files.config["contact"]["surface"]
    return Evidence(
        differences=differences,
        peak_difference_percent=_peak_difference(files) if differences else None,
        held_out_percent=validation["worst_load"]["nrmse_percent"],
        resolution=mesh_resolution(files),
        least_across=TRIANGLES_ACROSS[surface],
        flagged=sum(flag["model"] == "surrogate" for flag in gait["flags"]),
        failed=len(varied["failures"]),
        combinations=len(varied["rows"]),
        node_spacing=gait["node_spacing"],
        simulated=bool(gait["models"]),
        flagged_percent=_flagged_percent(domain),
    )


def _flagged_percent(domain: Row | None) -> float | None:
    """Return the part of the feasible held-out poses with a flag, of the worse compartment [%]."""
    parts = [] if domain is None else domain["compartments"].values()
    shares = [percent(part["feasible_flagged"], part["feasible"]) for part in parts]
    return max((share for share in shares if share is not None), default=None)


def own_errors(files: RunFiles, gait: Row, judged: Row) -> list[Row]:
    """Return the error of the surrogate in each quantity of the simulated cycle.

    A row has `column`, `quantity`, `unit`, and either `error_<unit>` (RMS difference from the
    original over the cycle) or `error_percent` of the value (peak pressures: the figure of the
    verdict; wear: difference of the volumes). Without an original to compare with there are none.
    """
    if files.simulation is None:
        return []
    figures = {part["what"]: part["figure_percent"] for part in judged["parts"]}
    rows = []
    for row in files.simulation.differences:
        head = {key: getattr(row, key) for key in ("column", "quantity", "unit")}
        if row.column.endswith(_PRESSURE):
            rows.append({**head, "error_percent": figures["peak pressure"]})
        else:
            rows.append({**head, f"error_{unit_token(row.unit)}": row.rms_difference})
    if gait["wear"]:
        apart = gait["wear"]["per_million_cycles"]["difference"]
        for name in (*COMPARTMENTS, "total"):
            off = apart[f"{name}_percent"]
            head = {"column": f"{name}_wear", "quantity": f"{name} wear", "unit": _WEAR_UNIT}
            rows.append({**head, "error_percent": None if off is None else abs(off)})
    return rows


def _peak_difference(files: RunFiles) -> float | None:
    """Return the difference of the highest pressures of both cycles, worse compartment [%]."""
    peaks = [
        [float(cycle[f"{name}_peak_pressure_Pa"].max()) for cycle in files.cycles.values()]
        for name in COMPARTMENTS
    ]
    return largest(percent(abs(other - truth), truth) or 0.0 for truth, other in peaks)


def more_samples(design: Row) -> str:
    """Return the command that goes on with twice the samples.

    A budget is raised in the same run directory; without a budget, all candidates are evaluated,
    and other candidates need another directory.
    """
    keys = [key for key in ("candidates", "budget") if design[key]]
    if design["budget"] and 2 * design["budget"] <= design["candidates"]:
        keys = ["budget"]
    pairs = " ".join(f"--set design.{key}={2 * design[key]}" for key in keys)
    place = f"{FOLDER} --resume" if keys == ["budget"] else f"{FOLDER}-more"
    return f"knee-contact run {FOLDER}/config.toml --out {place} {pairs}"
