"""A table of poses and loads with errors, its study, and what its surrogate is worth."""

import numpy as np
import pandas as pd
import tomli_w

import surrogates
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS
from pipeline.originals.knee import evaluate_rows
from pipeline.simulation import GaitSimulation, cycle_differences
from pipeline.stages.run_folder import read_path
from pipeline.store.samples import CANDIDATE_COLUMNS, OK, POSE_COLUMNS, in_people_units

#: Errors of a table: of the loads, a part of each; of positions [m] and angles [rad].
LOAD_ERROR, POSITION_ERROR, ANGLE_ERROR = 0.01, 5e-6, float(np.radians(0.01))


def true_table(knee, space, count, seed):
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


def with_errors(table, part, seed):
    """Return a table with `part` times the errors above."""
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


def write_study(folder, table, *, quantities, **sections):
    """Write a table as CSV in mm and degrees, and its study; return the study's file."""
    columns = ["compartment", *POSE_COLUMNS, *LOAD_COLUMNS]
    if not quantities:
        columns = [name for name in columns if name not in QUANTITY_COLUMNS]
    folder.mkdir(parents=True, exist_ok=True)
    in_people_units(table[columns]).to_csv(folder / "poses_and_loads.csv", index=False)
    tree = {"original": {"kind": "table", "file": "poses_and_loads.csv"}, **sections}
    (folder / "study.toml").write_text(tomli_w.dumps(tree), encoding="utf-8")
    return folder / "study.toml"


def cycle_errors(config, folder, knee):
    """Return RMS over range [%] of the columns of a table's cycle against the original model's."""
    gait = GaitSimulation.of(config.simulation, read_path(folder))
    found = cycle_differences(gait(knee.model), gait(surrogates.load(folder / "knee.npz")))
    return {column: 100.0 * row.rms / row.range for column, row in found.items()}
