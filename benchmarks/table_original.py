"""A surrogate of a table with errors: `python -m benchmarks.table_original`.

The original model of the built-in implant is evaluated at poses of a box about its path. The table
gets errors of poses and loads, a run is made of it (`[original] kind = "table"`), and its surrogate
is judged on poses without errors, and in a gait cycle against the original model.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w

import surrogates
from benchmarks.frame import Table, alike, show
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import Knee
from pipeline.originals.table_original import errors_found
from pipeline.progress import silenced
from pipeline.runner import run_study
from pipeline.simulation import (
    GaitSimulation,
    compare_cycles,
    simulation_table,
)
from pipeline.stages.assessment import assess
from pipeline.stages.run_folder import read_path
from pipeline.store.sample_tables import in_people_units
from pipeline.store.samples import CANDIDATE_COLUMNS, OK, POSE_COLUMNS
from surrogates.sampling.space import SampleSpace

#: Errors of a table: of the loads, a part of each; of positions [m] and angles [rad].
LOAD_ERROR, POSITION_ERROR, ANGLE_ERROR = 0.01, 5e-6, float(np.radians(0.01))
#: Columns of the cycle that the table shows, of `pipeline.simulation.COMPARED`.
SHOWN = ("anterior_m", "rotation_rad", "medial_force_y_N", "lateral_force_y_N", "total_force_x_N")


def true_table(knee: Knee, space: SampleSpace, count: int, seed: int) -> pd.DataFrame:
    """Return `count` poses of each compartment with the loads of the original model."""
    parts = []
    rng = np.random.default_rng(seed)
    for name in COMPARTMENTS:
        poses, load = space.draw(rng.random((count, 6)))
        table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
        table = table.assign(compartment=name, index=np.arange(count), load_N=load)
        parts.append(evaluate_rows(knee.model, table[list(CANDIDATE_COLUMNS)], "load"))
    table = pd.concat(parts, ignore_index=True)
    return table[table["status"] == OK].reset_index(drop=True)


def with_errors(table: pd.DataFrame, part: float, seed: int) -> pd.DataFrame:
    """Return a table with `part` times the errors of this benchmark."""
    rng = np.random.default_rng(seed)
    sizes = np.array([ANGLE_ERROR] * 3 + [POSITION_ERROR] * 3)
    changed = table.copy()
    changed[list(POSE_COLUMNS)] += part * sizes * rng.standard_normal((len(table), 6))
    factor = 1.0 + part * LOAD_ERROR * rng.standard_normal((len(table), len(LOAD_COLUMNS)))
    # A centre of pressure is known to a tenth of a millimetre, not to a part of its coordinates.
    factor[:, 9:] = 1.0
    changed[list(LOAD_COLUMNS)] *= factor
    changed[list(LOAD_COLUMNS[9:])] += part * 1e-4 * rng.standard_normal((len(table), 3))
    return changed


def errors_in(table: pd.DataFrame, knee: Knee, count: int = 100) -> dict[str, float]:
    """Return the errors of some rows of each compartment: against the model at pose and load."""
    rows = table.groupby("compartment").head(count).reset_index(drop=True)
    asked = rows[list(CANDIDATE_COLUMNS)].assign(load_N=rows["force_y_N"])
    true = evaluate_rows(knee.model, asked, "load")
    feasible = (true["force_x_N"] / true["load_N"]).abs() < 0.3
    apart = {
        "height_um": 1e6 * (rows["superior_m"] - true["superior_m"]),
        "ap_ratio_percent": 100 * (rows["force_x_N"] - true["force_x_N"]) / true["load_N"],
        "ml_ratio_percent": 100 * (rows["force_z_N"] - true["force_z_N"]) / true["load_N"],
    }
    return {key: float(np.sqrt((v[feasible] ** 2).mean())) for key, v in apart.items()}


def write_study(folder: Path, table: pd.DataFrame, *, quantities: bool, **sections: Any) -> Path:
    """Write a table as CSV in mm and degrees, and its study; return the study's file."""
    columns = ["compartment", *POSE_COLUMNS, *LOAD_COLUMNS]
    if not quantities:
        columns = [name for name in columns if name not in QUANTITY_COLUMNS]
    folder.mkdir(parents=True, exist_ok=True)
    in_people_units(table[columns]).to_csv(folder / "poses_and_loads.csv", index=False)
    tree = {"original": {"kind": "table", "file": "poses_and_loads.csv"}, **sections}
    (folder / "study.toml").write_text(tomli_w.dumps(tree), encoding="utf-8")
    return folder / "study.toml"


def errors_of(config: Config, folder: Path, knee: Knee, truth: pd.DataFrame) -> dict[str, float]:
    """Return what a table's surrogate is worth against the original model without errors.

    Errors at a load and a pose of the worse compartment, and of the cycle the RMS over the range
    [%] and the RMS of each column of `SHOWN` in its own unit.
    """
    surrogate = surrogates.load(folder / "knee.npz")
    judged = assess(surrogate, truth, config.feasibility).compartments
    gait = GaitSimulation.of(config.simulation, read_path(folder))
    results = {
        name: gait(model) for name, model in (("original", knee.model), ("surrogate", surrogate))
    }
    cycle = {row.column: row for row in compare_cycles(simulation_table(results))}
    worse = max(COMPARTMENTS, key=lambda name: judged[name].at_load["superior_m"].rmse)
    at_load = judged[worse].at_load
    axial = max(judged[name].at_pose["force_y_N"].nrmse for name in COMPARTMENTS)
    return {
        "height_um": 1e6 * at_load["superior_m"].rmse,
        "ap_ratio_percent": 100 * at_load["force_x_over_axial"].rmse,
        "ml_ratio_percent": 100 * at_load["force_z_over_axial"].rmse,
        "axial_nrmse_percent": 100 * axial,
        **{f"cycle, {name}, percent": 100 * cycle[name].rms_over_range for name in SHOWN},
        **{f"cycle, {name}, {cycle[name].unit}": cycle[name].rms_difference for name in SHOWN},
    }


def main() -> None:
    """Make the tables, their runs and the comparison; print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500, help="poses of each compartment (1500)")
    parser.add_argument("--out", type=Path, help="where the runs are kept")
    options = parser.parse_args()
    original = Config()
    knee = build_knee(original)
    space = sample_space(original, knee.reference_path(original))
    table = true_table(knee, space, options.rows, seed=1)
    truth = true_table(knee, space, 300, seed=2)
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, part, quantities in (
            ("no errors", 0.0, True),
            ("errors", 1.0, True),
            ("errors, forces and moments alone", 1.0, False),
        ):
            folder = (options.out or Path(scratch)) / name.replace(" ", "_").replace(",", "")
            rows = with_errors(table, part, 3)
            study = write_study(folder, rows, quantities=quantities)
            with silenced():
                run_study(load_config(study), folder / "run")
            config = load_config(folder / "run" / "config.toml")
            found[name] = {
                **{f"true error of the rows, {key}": e for key, e in errors_in(rows, knee).items()},
                **_found_in_rows(folder / "run"),
                **errors_of(config, folder / "run", knee, truth),
            }
    figures = [(key, *(each[key] for each in found.values())) for key in found["no errors"]]
    show([Table("Surrogates of tables", {"figure": "", **alike(found, ".3g")}, figures)])


def _found_in_rows(folder: Path) -> dict[str, float]:
    """Return the errors that a run has found in the rows of its table."""
    errors = errors_found(surrogates.load(folder / "knee.npz")) or {}
    return {
        f"found in the rows, {side}, {key}": value
        for side, each in errors.items()
        for key, value in each.content().items()
    }


if __name__ == "__main__":
    main()
