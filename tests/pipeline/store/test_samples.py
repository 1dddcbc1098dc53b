"""Sample tables on disk: their content and version."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    StoreError,
    digest,
    read_table,
    write_table,
)


def rows(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, len(CANDIDATE_COLUMNS))))
    table.columns = pd.Index(CANDIDATE_COLUMNS)
    return table.assign(compartment="medial", index=np.arange(count))


def test_table_round_trips_bit_for_bit(tmp_path):
    table = rows(5).assign(reason=["", "a", "", "é", "b"])
    table.loc[2, "load_N"] = np.nan
    write_table(table, tmp_path / "deep" / "t.parquet")
    assert read_table(tmp_path / "deep" / "t.parquet").equals(table)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["t.parquet"]


def test_digest_depends_on_names_and_values():
    table = pd.DataFrame({"a_N": [1.5, np.nan], "n": [1, 2], "t": ["x", ""], "b": [True, False]})
    assert digest(table) == digest(table.copy())
    others = (table.rename(columns={"n": "m"}), table.assign(t=["x", "y"]), table.iloc[::-1])
    assert len({digest(table), *map(digest, others)}) == 4


def rewritten(path, change, **told) -> None:
    """Write a table's file again with another content or other metadata, as a stranger might."""
    table = pq.read_table(path)
    table = change(table)
    changed = {key.encode(): value.encode() for key, value in told.items()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **changed})
    pq.write_table(table, path)


def test_table_of_another_version_or_of_others_is_told_apart(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(rows(5), path)
    rewritten(path, lambda table: table, version="3")
    with pytest.raises(StoreError, match=r"expected a table of version 2, found '3'"):
        read_table(path)
    rewritten(path, lambda table: table, version="2", format="something else")
    with pytest.raises(StoreError, match=r"expected the format 'knee-contact samples', found"):
        read_table(path)
