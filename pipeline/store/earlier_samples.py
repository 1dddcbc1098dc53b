"""Samples that a run evaluated before its configuration changed: their results are used again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd

from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    StoreError,
    read_table,
    write_table,
)

#: Coordinates that an evaluation finds: at a load, at a pose, of a sample of the whole knee.
_FOUND = {"load": ("superior_m",), "pose": (), "knee": ("adduction_rad", "superior_m")}
#: Tables of evaluated samples; the chunks of an interrupted evaluation have the same names.
_EVALUATED = re.compile(r"first|kept-\d+|gait|heldout|domain|reference-\w+|knee|knee-heldout")
_COLUMNS = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)


class EarlierSamples:
    """Results of all samples that were evaluated under earlier configurations of a run.

    `folder` holds a table for each kind of evaluation: "load", "pose" and "knee".
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, samples: Path, follow: str) -> None:
        """Add the evaluated tables and chunks of a folder of samples; the files stay there.

        `follow` is `design.follow` of the configuration that the samples were evaluated with.
        Damaged files are left out.
        """
        found: dict[str, list[pd.DataFrame]] = {kind: [] for kind in _FOUND}
        for name, file in _files(samples):
            with suppress(StoreError):
                table = read_table(file, _COLUMNS)
                found[_kind(name, follow)].append(table[list(_COLUMNS)])
        for kind, tables in found.items():
            if not any(map(len, tables)):
                continue
            rows = pd.concat([*self._stored(kind), *tables], ignore_index=True)
            rows = rows[~_keys(rows, kind).duplicated()]
            self.folder.mkdir(exist_ok=True)
            write_table(rows.reset_index(drop=True), self._file(kind))

    def results(self, name: str, rows: pd.DataFrame, follow: str) -> pd.DataFrame:
        """Return the rows of a table to be evaluated whose results are known, with these results.

        A sample is known if its compartment, its prescribed coordinates and its loads are the same
        to the last bit. The height where a search started does not count: the height that the
        search finds depends on the start by at most 1e-13 m.
        """
        kind = _kind(name, follow)
        stored = self._stored(kind)
        if not stored or rows.empty:
            return rows.head(0)
        places = pd.Index(_keys(stored[0], kind)).get_indexer(pd.Index(_keys(rows, kind)))
        known = stored[0].iloc[places[places >= 0]]
        results = {column: known[column].to_numpy() for column in (*_FOUND[kind], *RESULT_COLUMNS)}
        return rows[places >= 0].assign(**results)

    def _file(self, kind: str) -> Path:
        return self.folder / f"{kind}.parquet"

    def _stored(self, kind: str) -> list[pd.DataFrame]:
        """Return the table of a kind of evaluation, none if it is missing or damaged."""
        with suppress(StoreError):
            return [read_table(self._file(kind), _COLUMNS)]
        return []


def _kind(name: str, follow: str) -> str:
    """Return how the samples of a table are evaluated."""
    if name.startswith("knee"):
        return "knee"
    if name.startswith("kept"):
        return follow
    return "pose" if name == "gait" else "load"


def _files(samples: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of evaluated samples with the names of their tables."""
    tables = [(file.stem, file) for file in sorted(samples.glob("*.parquet"))]
    chunks = sorted(samples.glob("chunks-*/*.parquet"))
    tables += [(file.parent.name.removeprefix("chunks-"), file) for file in chunks]
    yield from (pair for pair in tables if _EVALUATED.fullmatch(pair[0]))


def _keys(rows: pd.DataFrame, kind: str) -> pd.MultiIndex:
    """Return what an evaluation depends on: compartment, prescribed coordinates and loads."""
    given = [column for column in POSE_COLUMNS if column not in _FOUND[kind]]
    parts = [rows[column].to_numpy() for column in ("compartment", *given, "load_N")]
    if kind == "knee":
        # The two rows of a sample follow each other; both loads decide on the pose.
        parts.append(parts[-1].reshape(-1, 2)[:, ::-1].ravel())
    return pd.MultiIndex.from_arrays(parts)
