"""Stored samples seen from outside, and versions of the JSON documents."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import edited, files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from studies import SMOKE

from pipeline.cli.main import main
from pipeline.config.reading import ConfigError, dump_config, load_config
from pipeline.config.schema import Config
from pipeline.files import DOCUMENT_VERSION, check_version
from pipeline.originals.pose_load_table import read_pose_loads
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    LOAD_COLUMNS,
    POSE_COLUMNS,
    StoreError,
    digest,
    in_people_units,
    read_table,
    unit_of,
    write_table,
)
from pipeline.studies.dispatch import load_study


def test_units_of_people_and_back():
    assert unit_of("anterior_mm") == ("anterior", "m", 1e-3)
    assert unit_of("force_x_N") == ("force_x", "N", 1.0)
    assert unit_of("status") is None
    assert unit_of("wear_per_Pa") is None
    columns = ["flexion_rad", "area_m2", "load_N", "n", "flexion_rate_rad_per_s"]
    shown = in_people_units(pd.DataFrame([[np.pi, 2e-4, 3.0, 1, np.pi]], columns=columns))
    assert list(shown) == ["flexion_deg", "area_mm2", "load_N", "n", "flexion_rate_deg_per_s"]
    np.testing.assert_allclose(shown.iloc[0], [180.0, 200.0, 3.0, 1, 180.0], rtol=1e-15)


def test_exported_csv_is_a_table_of_poses_and_loads(tiny_run, tmp_path, capsys):
    out = tmp_path / "first.csv"
    command = ["tables", str(tiny_run), "--table", "first"]
    assert main([*command, "--units", "people", "--out", str(out)]) == 0
    first, verdict, *_ = capsys.readouterr().out.splitlines()
    assert first == str(out)
    about = "surrogate against contact model: loads and motion:"
    assert verdict.startswith(f"verdict of {tiny_run}: {about}")
    table = read_table(tiny_run / "samples" / "first.parquet")
    found = read_pose_loads(out)
    columns = [*POSE_COLUMNS, *LOAD_COLUMNS]
    np.testing.assert_allclose(found.rows[columns], table[columns], rtol=1e-13, atol=1e-18)
    assert found.ignored == ()


@pytest.mark.parametrize("version", [0, DOCUMENT_VERSION + 1, "1", None, 1.5])
def test_other_versions_are_refused(version):
    with pytest.raises(ValueError, match=rf"expected version 1, found {version!r}; read"):
        check_version({"version": version})


CONFIGS = SMOKE.parent
CONFIGURATIONS = (
    *("smoke", "lenhart", "sobol", "gait2392_walk", "comak_walking"),
    *("comak_markers", "grand_challenge_walk"),
)
NUMBERS = st.floats() | st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@given(data=st.data())
@reading
def test_damaged_configuration_is_one_or_refused(tmp_path, name, data):
    content = (CONFIGS / f"{name}.toml").read_bytes()
    path = tmp_path / "damaged.toml"
    found = read_or_refuse(load_study, path, data.draw(files(content, "=,")), ConfigError)
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


def parquet():
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


def test_digest_is_the_one_that_the_documentation_describes(tmp_path):
    """Anyone can compute it: names, types, little-endian numbers, texts ended by zeros."""
    table = pd.DataFrame({"a_N": [1.5, np.nan], "n": [1, 2], "t": ["x", ""], "b": [True, False]})
    assert digest(table) == digest(table.copy())
    others = (table.rename(columns={"n": "m"}), table.assign(t=["x", "y"]), table.iloc[::-1])
    assert len({digest(table), *map(digest, others)}) == 4
