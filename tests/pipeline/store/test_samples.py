"""Sample tables on disk: their content and version."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    digest,
    read_table,
    write_table,
)


def rows(count, seed=0):
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


def stored(path):
    return {k.decode(): v.decode() for k, v in pq.read_schema(path).metadata.items()}


def test_digest_is_the_one_that_the_documentation_describes(tmp_path):
    """Anyone can compute it: names, types, little-endian numbers, texts ended by zeros."""
    table = pd.DataFrame({"a_N": [1.5, np.nan], "n": [1, 2], "t": ["x", ""], "b": [True, False]})
    assert digest(table) == digest(table.copy())
    others = (table.rename(columns={"n": "m"}), table.assign(t=["x", "y"]), table.iloc[::-1])
    assert len({digest(table), *map(digest, others)}) == 4
