"""Files of a search: the table of the front, and configurations of the chosen designs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.reading import dump_config
from pipeline.design_space.errors import doubts, expected_errors
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.files import replacing, write_text
from pipeline.store.samples import write_table
from pipeline.studies.optimisation.choice import Front, Pick

#: Beginning of the columns of expected errors.
EXPECTED = "expected_"


def front_table(
    run: TrainedDesigns, designs: pd.DataFrame, front: Front, picks: Sequence[Pick]
) -> pd.DataFrame:
    """Return the designs of the front: numbers, parameters, outcomes, expected errors, doubts.

    Parameters
    ----------
    run : TrainedDesigns
        The run over designs.
    designs : pandas.DataFrame
        All designs.
    front : Front
        Their non-dominated ones.
    picks : sequence of Pick
        The chosen ones, whose names the table has.
    """
    parameters = run.knee.parameters
    table = designs.loc[front.places].reset_index(drop=True)
    names = {pick.design: pick.name for pick in picks}
    expected = [
        expected_errors(run.knee, row)
        for row in table[list(parameters.names)].to_numpy(dtype=float)
    ]
    errors = pd.DataFrame(expected, index=table.index).add_prefix(EXPECTED)
    words = pd.DataFrame(
        {
            "name": [names.get(number, "") for number in table["design"]],
            "doubts": ["; ".join(doubts(each)) for each in expected],
        }
    )
    leading = ["design", "generation", *parameters.names]
    outcomes = table.drop(columns=[*leading, "status", "reason"])
    return pd.concat([words[["name"]], table[leading], outcomes, errors, words[["doubts"]]], axis=1)


def write_front(folder: Path, table: pd.DataFrame) -> None:
    """Write the table of the front as Parquet and as CSV."""
    write_table(table, folder / "front.parquet")
    with replacing(folder / "front.csv") as partial:
        table.to_csv(partial, index=False)


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
