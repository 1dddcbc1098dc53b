"""Files of a search: the table of the front, and configurations of the chosen designs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.reading import dump_config
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.files import write_text
from pipeline.studies.optimisation.choice import Front, Pick
from pipeline.studies.optimisation.gaits import SearchTask
from pipeline.studies.optimisation.outputs import EXPECTED, doubts_of


def front_table(
    task: SearchTask, designs: pd.DataFrame, front: Front, picks: Sequence[Pick]
) -> pd.DataFrame:
    """Return the designs of the front: numbers, parameters, outcomes, expected errors, doubts.

    Doubts are about the measures of objectives and limits of the task. `designs` are all designs,
    and the table has the names of the picks.
    """
    table = designs.loc[front.places].reset_index(drop=True).drop(columns=["status", "reason"])
    # A run without unseen designs knows no expected errors.
    table = table.dropna(axis=1, how="all")
    names = {pick.design: pick.name for pick in picks}
    errors = table.filter(regex=f"^{EXPECTED}").rename(columns=lambda name: name[len(EXPECTED) :])
    leading = ["design", "generation", *task.run.knee.parameters.names]
    table = table[[*leading, *table.columns.drop(leading)]]
    table.insert(0, "name", [names.get(number, "") for number in table["design"]])
    rows = errors.to_dict("records") if len(errors.columns) else [{}] * len(table)
    table["doubts"] = ["; ".join(doubts_of(task.measures, row)) for row in rows]
    return table


def write_designs(
    folder: Path,
    run: TrainedDesigns,
    name: str,
    designs: pd.DataFrame,
    picks: Sequence[Pick],
) -> None:
    """Write the configuration of each chosen design, from which `knee-contact run` makes a run.

    `name` is that of the search, with which the names of the runs begin.
    """
    names = list(run.knee.parameters.names)
    for pick in picks:
        values = designs.loc[pick.design, names].to_numpy(dtype=float)
        config = run.config_of(values)
        named = config.run.model_copy(update={"name": f"{name}-{pick.name}"})
        text = dump_config(config.model_copy(update={"run": named}))
        write_text(folder / "designs" / pick.name / "design.toml", text)
