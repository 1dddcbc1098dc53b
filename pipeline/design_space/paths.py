"""The reference path over flexion as a smooth function of the parameters of a design."""

from __future__ import annotations

import numpy as np
import pandas as pd

from foundation.base.wording import counted
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import settled_path
from pipeline.design_space.drawn_designs import parameters_of
from pipeline.errors import StageError
from pipeline.originals.candidates import sample_space
from pipeline.stages.run_folder import Run
from pipeline.store.samples import FAILED, OK, POSE_COLUMNS
from surrogates.parametric.compartment import ParametricPath, ParametricSpace
from surrogates.sampling.space import ReferencePath

#: Designs whose path is settled, for each term of a quadratic of the parameters.
_DESIGNS_PER_TERM = 2
#: Part of the designs that must settle.
_LEAST_SETTLED = 0.5


def design_paths(run: Run, designs: pd.DataFrame) -> pd.DataFrame:
    """Return the settled reference paths of some designs: a row for each design and knot.

    A design that does not settle has one row with the status "failed" and the reason.
    """
    parameters = parameters_of(run.config)
    terms = (len(parameters) + 1) * (len(parameters) + 2) // 2
    chosen = designs.head(_DESIGNS_PER_TERM * terms)

    def make() -> pd.DataFrame:
        jobs = [
            (run.config, parameters.named(row))
            for row in chosen[list(parameters.names)].to_numpy(float)
        ]
        found = run.execution.map(settled_path, jobs)
        return pd.concat(
            [
                _rows(int(number), *each)
                for number, each in zip(chosen["design"], found, strict=True)
            ],
            ignore_index=True,
        )

    return run.table("paths", make)


def _rows(design: int, path: ReferencePath | None, reason: str) -> pd.DataFrame:
    if path is None:
        poses, status = np.full((1, 6), np.nan), FAILED
    else:
        poses, status = path.poses(path.flexion), OK
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    return table.assign(design=design, status=status, reason=reason)


def parametric_space(config: Config, designs: pd.DataFrame, paths: pd.DataFrame) -> ParametricSpace:
    """Return the sample space of all designs from the paths of some of them.

    Raises `StageError` if fewer than half of the paths have settled.
    """
    parameters = parameters_of(config)
    settled = paths[paths["status"] == OK]
    numbers = settled["design"].unique()
    tried = paths["design"].nunique()
    if len(numbers) < _LEAST_SETTLED * tried:
        reasons = paths.loc[paths["status"] != OK, "reason"]
        raise StageError(
            f"reference path: {len(numbers)} of {counted(tried, 'design')} settle; the first that "
            f"does not: {reasons.iloc[0]}"
        )
    rows = designs.set_index("design").loc[numbers, list(parameters.names)].to_numpy(float)
    poses = [settled[settled["design"] == number] for number in numbers]
    found = [
        ReferencePath.through(
            each[POSE_COLUMNS[0]].to_numpy(), each[list(POSE_COLUMNS[1:])].to_numpy()
        )
        for each in poses
    ]
    path = ParametricPath.fit(parameters.scaled_rows(rows), found)
    own = sample_space(config, found[0])
    return ParametricSpace(path, own.flexion, own.offsets, own.load)


def path_errors(
    config: Config, designs: pd.DataFrame, paths: pd.DataFrame, space: ParametricSpace
) -> dict[str, float]:
    """Return the largest distance [mm] and angle [deg] of settled paths from the smooth path."""
    parameters = parameters_of(config)
    table = designs.set_index("design")[list(parameters.names)]
    away = np.zeros(2)
    for number, rows in paths[paths["status"] == OK].groupby("design"):
        z = parameters.scaled_row(table.loc[number].to_numpy(float))
        poses = rows[list(POSE_COLUMNS)].to_numpy(float)
        miss = np.abs(space.path.at(z).poses(poses[:, 0]) - poses)
        away = np.maximum(away, [1e3 * miss[:, 3:].max(), np.degrees(miss[:, 1:3].max())])
    return {"distance_mm": float(away[0]), "angle_deg": float(away[1])}
