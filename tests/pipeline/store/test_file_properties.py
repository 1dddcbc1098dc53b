"""Configurations and sample tables: round trips, and what damage does to a file."""

from __future__ import annotations

import io
from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import edited, files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from studies import SMOKE

from pipeline.config.reading import ConfigError, dump_config, load_config
from pipeline.config.schema import Config
from pipeline.store.samples import StoreError, read_table, write_table
from pipeline.studies.dispatch import load_file

CONFIGS = SMOKE.parent
READERS = {
    **dict.fromkeys(("smoke", "lenhart"), load_config),
    **dict.fromkeys(("sobol", "comak_montecarlo"), partial(load_file, "study")),
    **dict.fromkeys(
        ("gait2392_walk", "comak_walking", "comak_markers", "grand_challenge_walk"),
        partial(load_file, "walk"),
    ),
}
NUMBERS = st.floats() | st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@reading
def test_damaged_configuration_is_one_or_refused(tmp_path, name, data):
    content = (CONFIGS / f"{name}.toml").read_bytes()
    path = tmp_path / "damaged.toml"
    found = read_or_refuse(READERS[name], path, data.draw(files(content, "=,")), ConfigError)
    if isinstance(found, Config):
        again = tmp_path / "again.toml"
        again.write_text(dump_config(found), encoding="utf-8")
        assert dump_config(load_config(again)) == dump_config(found)


@given(text=st.text(max_size=40) | edited(b"design.candidates=300", ".=").map(bytes.decode))
@reading
def test_any_override_is_taken_or_refused(text):
    try:
        config = load_config(SMOKE, (text,))
    except ConfigError as error:
        message = str(error)
        assert message
    else:
        assert isinstance(config, Config)


def parquet() -> bytes:
    table = pd.DataFrame({"flexion_rad": [0.1, 0.2, 0.3], "status": ["ok", "ok", "failed"]})
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table), stream, write_page_checksum=True)
    return stream.getvalue()


@given(content=files(parquet()))
@reading
def test_damaged_samples_are_a_table_or_refused(tmp_path, content):
    path = tmp_path / "damaged.parquet"
    table = read_or_refuse(lambda file: read_table(file, ("status",)), path, content, StoreError)
    if table is not None:
        assert "status" in table.columns


@given(
    rows=st.lists(st.tuples(NUMBERS, st.integers(-(2**63), 2**63 - 1), TEXTS, st.booleans())),
)
@reading
def test_written_samples_are_read_back_the_same(tmp_path, rows):
    table = pd.DataFrame(rows, columns=["force_y_N", "index", "reason", "first"])
    table = table.astype({"force_y_N": float, "index": "int64", "first": bool, "reason": object})
    path = tmp_path / "samples.parquet"
    write_table(table, path)
    pd.testing.assert_frame_equal(read_table(path), table, check_exact=True, check_dtype=False)
