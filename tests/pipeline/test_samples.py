"""Sample tables on disk, and the store of finished chunks."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from pipeline.samples import (
    CANDIDATE_COLUMNS,
    RESULT_COLUMNS,
    ChunkStore,
    StoreError,
    digest,
    loads_of,
    poses_of,
    read_table,
    usable,
    write_table,
)


def rows(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, len(CANDIDATE_COLUMNS))))
    table.columns = pd.Index(CANDIDATE_COLUMNS)
    return table.assign(compartment="medial", index=np.arange(count))


class Evaluator:
    """Answers rows in reverse order of the chunks, and counts; may be stopped in between."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.seen: list[int] = []
        self.sizes: list[int] = []
        self.stop_after = stop_after

    def __call__(self, chunks: list[pd.DataFrame]) -> Iterator[tuple[int, pd.DataFrame]]:
        for done, k in enumerate(reversed(range(len(chunks)))):
            if done == self.stop_after:
                raise KeyboardInterrupt
            self.seen += chunks[k]["index"].tolist()
            self.sizes.append(len(chunks[k]))
            answers = dict.fromkeys(RESULT_COLUMNS[3:], chunks[k]["load_N"] ** 2)
            yield k, chunks[k].assign(status="ok", reason="", evaluations=1, **answers)


def evaluate(store: ChunkStore, table: pd.DataFrame, size: int, evaluator: Evaluator):
    told: list[int] = []
    return store.evaluate(table, size, evaluator, told.append), told


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


def test_failed_write_leaves_the_old_table(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_table(rows(5), path)

    def half_written(table, file, **_):
        file.write_bytes(b"PAR1")
        raise OSError("disk full")

    monkeypatch.setattr("pipeline.samples.pq.write_table", half_written)
    with pytest.raises(OSError, match="disk full"):
        write_table(rows(6), path)
    assert len(read_table(path)) == 5


@pytest.mark.parametrize("keep", [0, 4, 0.5, -1])
def test_truncated_table_is_named(tmp_path, keep):
    path = tmp_path / "t.parquet"
    write_table(rows(50), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else keep])
    with pytest.raises(StoreError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: expected a whole table of samples, found")
    assert "delete it" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_altered_value_is_found_by_the_checksum(tmp_path):
    path = tmp_path / "t.parquet"
    table = rows(50)
    write_table(table, path)
    content = path.read_bytes()
    # Random numbers cannot be compressed: they stand in the file as they are.
    place = content.index(table["load_N"].iloc[33].tobytes()) + 3
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(StoreError, match=r"t\.parquet"):
        read_table(path)


def test_missing_table_and_missing_column_are_named(tmp_path):
    path = tmp_path / "t.parquet"
    with pytest.raises(StoreError, match=r"t\.parquet: no such file"):
        read_table(path)
    write_table(rows(3), path)
    with pytest.raises(StoreError, match=r"t\.parquet.*lacks the columns status"):
        read_table(path, ("load_N", "status"))


def test_views_of_a_table():
    table = rows(4).assign(**dict.fromkeys(RESULT_COLUMNS, 1.0)).assign(status="ok")
    table.loc[1, "status"] = "failed"
    table.loc[2, "compartment"] = "lateral"
    assert usable(table, "medial")["index"].tolist() == [0, 3]
    assert usable(table, "lateral")["index"].tolist() == [2]
    assert poses_of(table).shape == (4, 6)
    assert loads_of(table).shape == (4, 12)
    assert poses_of(table)[2, 4] == table["superior_m"].iloc[2]


def test_digest_changes_with_any_value_name_or_order():
    table = rows(6)
    seen = {digest(table)}
    for column in table.columns:
        changed = table.copy()
        value = changed.loc[3, column]
        changed.loc[3, column] = (
            "lateral" if column == "compartment" else type(value)(np.nextafter(value, 99))
            if column != "index" else 77
        )  # fmt: skip
        seen.add(digest(changed))
    seen.add(digest(table.iloc[::-1]))
    seen.add(digest(table.rename(columns={"load_N": "load"})))
    seen.add(digest(table.iloc[:5]))
    assert len(seen) == len(table.columns) + 4
    assert digest(table.copy()) == digest(table)


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


def test_gaps_between_stored_chunks_are_filled(tmp_path):
    table = rows(30)
    store = ChunkStore(tmp_path / "chunks")
    whole, _ = evaluate(store, table, 5, Evaluator())
    chunks = sorted(store.folder.iterdir())
    for k in (0, 2, 3):
        chunks[k].unlink()
    evaluator = Evaluator()
    result, _ = evaluate(store, table, 7, evaluator)
    assert sorted(evaluator.seen) == [*range(5), *range(10, 20)]
    assert result.equals(whole)


def test_chunk_of_other_rows_is_never_taken(tmp_path):
    store = ChunkStore(tmp_path / "chunks")
    evaluate(store, rows(20, seed=0), 5, Evaluator())
    evaluator = Evaluator()
    other = rows(20, seed=1)
    result, _ = evaluate(store, other, 5, evaluator)
    assert sorted(evaluator.seen) == list(range(20))
    np.testing.assert_array_equal(result["force_y_N"], other["load_N"] ** 2)


def test_damaged_chunk_is_computed_again_and_the_others_are_kept(tmp_path):
    table = rows(20)
    store = ChunkStore(tmp_path / "chunks")
    whole, _ = evaluate(store, table, 5, Evaluator())
    damaged = sorted(store.folder.iterdir())[1]
    damaged.write_bytes(damaged.read_bytes()[:100])
    evaluator = Evaluator()
    result, _ = evaluate(store, table, 5, evaluator)
    assert evaluator.seen == [5, 6, 7, 8, 9]
    assert result.equals(whole)


def test_empty_table_has_the_columns_of_a_result(tmp_path):
    evaluator = Evaluator()
    result, _ = evaluate(ChunkStore(tmp_path / "chunks"), rows(0), 5, evaluator)
    assert len(result) == 0
    assert set(RESULT_COLUMNS) <= set(result.columns)
    assert not evaluator.seen


def test_clear_removes_the_chunks(tmp_path):
    store = ChunkStore(tmp_path / "chunks")
    store.clear()
    evaluate(store, rows(20), 5, Evaluator())
    assert store.folder.is_dir()
    store.clear()
    assert not store.folder.exists()
