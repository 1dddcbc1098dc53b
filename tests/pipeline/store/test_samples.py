"""Sample tables on disk, the store of finished chunks, and known results of earlier samples."""

import hashlib
import shutil
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from foundation.base.loads import LOAD_COLUMNS
from pipeline.store.earlier_samples import EarlierSamples
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    ChunkStore,
    StoreError,
    candidate_table,
    digest,
    read_table,
    write_table,
)


def rows(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, len(CANDIDATE_COLUMNS))))
    table.columns = pd.Index(CANDIDATE_COLUMNS)
    return table.assign(compartment="medial", index=np.arange(count))


class Evaluator:
    """Stands for an execution: answers the last chunk first, and may be stopped in between."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.seen: list[int] = []
        self.sizes: list[int] = []
        self.stop_after = stop_after

    def results(self, function, jobs) -> Iterator[tuple[int, pd.DataFrame]]:
        for done, k in enumerate(reversed(range(len(jobs)))):
            if done == self.stop_after:
                raise KeyboardInterrupt
            (rows,) = jobs[k]
            self.seen += rows["index"].tolist()
            self.sizes.append(len(rows))
            yield k, function(rows)


def squared(rows: pd.DataFrame) -> pd.DataFrame:
    answers = dict.fromkeys(RESULT_COLUMNS[3:], rows["load_N"] ** 2)
    return rows.assign(status="ok", reason="", evaluations=1, **answers)


class Bar:
    """Stands for a progress bar."""

    unit, desc = "sample", "first"

    def __init__(self) -> None:
        self.steps: list[int] = []

    def update(self, rows: int) -> None:
        self.steps.append(rows)


def evaluate(store: ChunkStore, table: pd.DataFrame, size: int, evaluator: Evaluator):
    shown = Bar()
    return store.evaluate(table, size, evaluator, squared, (), shown), shown.steps


def interrupt(store: ChunkStore, table: pd.DataFrame, size: int, after: int) -> list[int]:
    stopped = Evaluator(stop_after=after)
    with pytest.raises(KeyboardInterrupt):
        evaluate(store, table, size, stopped)
    return stopped.seen


def test_table_round_trips_bit_for_bit(tmp_path):
    table = rows(5).assign(reason=["", "a", "", "é", "b"])
    table.loc[2, "load_N"] = np.nan
    write_table(table, tmp_path / "deep" / "t.parquet")
    assert read_table(tmp_path / "deep" / "t.parquet").equals(table)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["t.parquet"]


def test_store_keeps_order_and_rows(tmp_path):
    table = rows(23)
    evaluator = Evaluator()
    result, told = evaluate(ChunkStore(tmp_path / "chunks"), table, 5, evaluator)
    assert result["index"].tolist() == table["index"].tolist()
    np.testing.assert_array_equal(result["force_y_N"], table["load_N"] ** 2)
    assert evaluator.sizes == [3, 5, 5, 5, 5]
    assert told == [0, 3, 5, 5, 5, 5]


@pytest.mark.parametrize("size", [5, 3, 8, 100])
def test_resumed_store_computes_only_the_missing_rows_whatever_the_chunk(tmp_path, size):
    table = rows(23)
    store = ChunkStore(tmp_path / "chunks")
    before = interrupt(store, table, 5, after=2)
    evaluator = Evaluator()
    result, told = evaluate(store, table, size, evaluator)
    assert sorted(before + evaluator.seen) == table["index"].tolist()
    assert max(evaluator.sizes) <= size
    assert told[0] == len(before) == 8
    whole, _ = evaluate(ChunkStore(tmp_path / "other"), table, 23, Evaluator())
    assert result.equals(whole)


def stored(path) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in pq.read_schema(path).metadata.items()}


def test_digest_is_the_one_that_the_documentation_describes(tmp_path):
    """Anyone can compute it: names, types, little-endian numbers, texts ended by zeros."""
    table = pd.DataFrame({"a_N": [1.5, np.nan], "n": [1, 2], "t": ["x", ""], "b": [True, False]})
    content = hashlib.sha256()
    content.update(b"a_N\0double\0" + np.array([1.5, np.nan], "<f8").tobytes())
    content.update(b"n\0int64\0" + np.array([1, 2], "<i8").tobytes())
    content.update(b"t\0string\0" + b"x\0\0")
    content.update(b"b\0bool\0" + bytes([1, 0]))
    assert digest(table) == content.hexdigest()
    assert digest(table.astype({"n": "int32"})) != digest(table)
    write_table(table, tmp_path / "t.parquet")
    assert stored(tmp_path / "t.parquet")["sha256"] == content.hexdigest()


def rewritten(path, change, **told) -> None:
    """Write a table's file again with another content or other metadata, as a stranger might."""
    table = pq.read_table(path)
    table = change(table)
    changed = {key.encode(): value.encode() for key, value in told.items()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **changed})
    pq.write_table(table, path)


def test_changed_content_under_the_old_checksum_is_found(tmp_path):
    """A valid Parquet file, its page checksums right, but another content."""
    path = tmp_path / "t.parquet"
    write_table(rows(5), path)
    rewritten(path, lambda table: table.slice(0, 4))
    with pytest.raises(StoreError, match="its content does not match its checksum"):
        read_table(path)


def test_table_of_another_version_or_of_others_is_told_apart(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(rows(5), path)
    rewritten(path, lambda table: table, version="3")
    with pytest.raises(StoreError, match=r"expected a table of version 2, found '3'"):
        read_table(path)
    rewritten(path, lambda table: table, version="2", format="something else")
    with pytest.raises(StoreError, match=r"expected the format 'knee-contact samples', found"):
        read_table(path)


def resumed(store, table):
    evaluator = Evaluator()
    result, _ = evaluate(store, table, 5, evaluator)
    return result, sorted(evaluator.seen)


def falsify(parts):
    column = pq.read_schema(parts[2]).get_field_index("force_y_N")

    def falsified(content):
        values = [0.0] * len(content)
        return content.set_column(column, content.schema.field(column), [values])

    rewritten(parts[2], falsified)


def confuse_names(parts):
    shutil.copy(parts[0], parts[3])
    for name in ("0000099", "copy"):
        shutil.copy(parts[1], parts[1].with_stem(parts[1].stem[:-7] + name))


def put_in_another_table(parts):
    """Under the name of one of this table."""
    foreign = ChunkStore(parts[0].parents[1] / "foreign")
    evaluate(foreign, rows(20, seed=1), 5, Evaluator())
    shutil.copy(sorted(foreign.folder.iterdir())[2], parts[2])


def end_within_writing(parts):
    parts[1].rename(parts[1].with_suffix(".partial"))


def truncate(parts):
    parts[1].write_bytes(parts[1].read_bytes()[:100])


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        *((falsify, 2), (confuse_names, 3), (put_in_another_table, 2)),
        *((end_within_writing, 1), (truncate, 1)),
    ],
)
def test_part_that_is_not_what_it_should_be_is_computed_again(tmp_path, change, missing):
    table, store = rows(20), ChunkStore(tmp_path / "chunks")
    whole, _ = evaluate(store, table, 5, Evaluator())
    change(sorted(store.folder.iterdir()))
    result, seen = resumed(store, table)
    assert seen == list(range(5 * missing, 5 * missing + 5))
    assert result.equals(whole)


def test_parts_that_overlap_are_taken_once(tmp_path):
    """Two runs of different chunk sizes that wrote into one folder."""
    table, store = rows(20), ChunkStore(tmp_path / "chunks")
    whole, _ = evaluate(store, table, 5, Evaluator())
    other = ChunkStore(tmp_path / "other")
    evaluate(other, table, 8, Evaluator())
    for part in other.folder.iterdir():
        if not (store.folder / part.name).exists():
            shutil.copy(part, store.folder / part.name)
    result, seen = resumed(store, table)
    assert not seen
    assert result.equals(whole)
    (store.folder / sorted(p.name for p in store.folder.iterdir())[0]).unlink()
    result, _ = resumed(store, table)
    assert result.equals(whole)


COUNT = 8


def drawn(seed: int) -> pd.DataFrame:
    """Return candidates of both compartments, two rows of a pose after each other."""
    rng = np.random.default_rng(seed)
    poses, load = rng.standard_normal((COUNT, 6)), rng.uniform(1.0, 2.0, 2 * COUNT)
    parts = [
        candidate_table(poses, load[k::2], name) for k, name in enumerate(("medial", "lateral"))
    ]
    return pd.concat(parts).sort_values("index", kind="stable", ignore_index=True)


def evaluated(table: pd.DataFrame, *found: str) -> pd.DataFrame:
    """Return candidates with results, and with the coordinates that an evaluation finds changed."""
    loads = {name: np.arange(len(table)) + 0.1 * k for k, name in enumerate(LOAD_COLUMNS)}
    moved = {name: table[name] + 0.25 for name in found}
    return table.assign(**moved, status="ok", reason="", evaluations=7, **loads)


@pytest.fixture
def earlier(tmp_path):
    return EarlierSamples(tmp_path / "earlier")


@pytest.mark.parametrize(
    ("name", "follow", "found"),
    [
        ("first", "load", ["superior_m"]),
        ("kept-2", "load", ["superior_m"]),
        ("kept-2", "pose", []),
        ("gait", "load", []),
        ("reference-touch", "load", ["superior_m"]),
        ("knee", "load", ["superior_m", "adduction_rad"]),
        ("knee-heldout", "pose", ["superior_m", "adduction_rad"]),
    ],
)
def test_known_results_are_those_that_were_stored(tmp_path, earlier, name, follow, found):
    asked = drawn(1)
    done = evaluated(asked, *found)
    write_table(done.iloc[4:], tmp_path / f"{name}.parquet")
    earlier.add(tmp_path, follow)
    known = earlier.results(name, asked, follow)
    assert known.index.tolist() == list(range(4, 2 * COUNT))
    pd.testing.assert_frame_equal(known, done.iloc[4:], check_dtype=True)


def test_evaluations_of_another_kind_are_not_known(tmp_path, earlier):
    asked = drawn(1)
    write_table(evaluated(asked, "superior_m"), tmp_path / "kept-1.parquet")
    earlier.add(tmp_path, "load")
    assert len(earlier.results("first", asked, "load")) == 2 * COUNT
    for name, follow in (("kept-1", "pose"), ("gait", "load"), ("knee", "load")):
        assert earlier.results(name, asked, follow).empty


@pytest.mark.parametrize("column", ["compartment", "load_N", *POSE_COLUMNS])
def test_a_change_in_the_last_bit_is_another_sample(tmp_path, earlier, column):
    asked = drawn(1)
    write_table(evaluated(asked, "superior_m"), tmp_path / "first.parquet")
    earlier.add(tmp_path, "load")
    other = asked.copy()
    if column == "compartment":
        other[column] = other[column].map({"medial": "lateral", "lateral": "medial"})
    else:
        other[column] = np.nextafter(other[column], 9.0)
    # The height is where the search starts, and the index is but a name.
    wanted = 2 * COUNT if column == "superior_m" else 0
    assert len(earlier.results("heldout", other.assign(index=0), "load")) == wanted


def test_sample_of_the_whole_knee_has_both_loads(tmp_path, earlier):
    asked = drawn(1)
    write_table(evaluated(asked), tmp_path / "knee.parquet")
    earlier.add(tmp_path, "load")
    other = asked.copy()
    other.loc[3, "load_N"] += 0.5
    assert earlier.results("knee", other, "load").index.tolist() == [0, 1, *range(4, 2 * COUNT)]


def test_samples_add_up_and_no_other_table_counts(tmp_path, earlier):
    one, two = drawn(1), drawn(2)
    write_table(evaluated(one, "superior_m"), tmp_path / "first.parquet")
    earlier.add(tmp_path, "load")
    earlier.add(tmp_path, "load")  # as after a kill: the same samples again
    (tmp_path / "first.parquet").unlink()
    chunks = tmp_path / "chunks-domain"
    chunks.mkdir()
    write_table(evaluated(two, "superior_m").iloc[:5], chunks / "0123-0000000.parquet")
    (chunks / "0123-0000005.parquet").write_bytes(b"damaged")
    write_table(evaluated(two, "superior_m"), tmp_path / "screened.parquet")
    earlier.add(tmp_path, "load")
    assert len(earlier.results("first", one, "load")) == 2 * COUNT
    assert len(earlier.results("heldout", two, "load")) == 5
    stored = pd.read_parquet(earlier.folder / "load.parquet")
    assert len(stored) == 2 * COUNT + 5
    assert set(CANDIDATE_COLUMNS) <= set(stored.columns)
