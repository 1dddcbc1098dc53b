"""Results of samples in SQLite: what is known is not evaluated again, whatever a run asks for."""

import sqlite3
import zlib

import numpy as np
import pandas as pd
import pytest
from studies import stored_samples

from pipeline.execution import Execution
from pipeline.store.sample_store import SAMPLES, Evaluation, SampleStore, chunk_size
from pipeline.store.samples import RESULT_COLUMNS, DamagedTableError, candidate_table

COUNT = 12
WAVE = np.float32([0.1, np.nan, 3.0])


class Shown:
    """Stands for a progress bar."""

    unit = "sample"

    def __init__(self):
        self.steps = []

    def update(self, rows):
        self.steps.append(rows)


class Backwards(Execution):
    """Answers the last chunk first, and may be stopped in between."""

    def __init__(self, stop_after=None):
        super().__init__(1)
        self.stop_after, self.seen = stop_after, []

    def results(self, function, jobs, *shared):
        for done, k in enumerate(reversed(range(len(jobs)))):
            if done == self.stop_after:
                raise KeyboardInterrupt
            self.seen += jobs[k][0].index.tolist()
            yield k, function(*shared, *jobs[k])


def lifted(factor, rows):
    """Return samples at another height, with loads that some lack."""
    loads = dict.fromkeys(RESULT_COLUMNS[3:], factor * rows["load_N"] / 3.0)
    found = rows.assign(superior_m=rows["load_N"] * 0.1, status="ok", reason="µ", evaluations=7)
    found = found.assign(**loads, wave_mm=[WAVE] * len(rows)).assign(peak_pressure_Pa=np.nan)
    return found.iloc[::-1]


def drawn(seed):
    rng = np.random.default_rng(seed)
    poses, load = rng.standard_normal((COUNT, 6)), rng.uniform(1.0, 2.0, COUNT)
    return candidate_table(poses, load, "medial")


def store(folder, source="springs", *found):
    folder.mkdir(exist_ok=True)
    evaluation = Evaluation(lifted, (2.0,), source, found or ("superior_m",))
    return SampleStore(folder / SAMPLES, evaluation)


def evaluate(known, rows, size, stop=None):
    execution, shown = Backwards(stop), Shown()
    known.evaluate(known.missing(rows), size, execution, shown)
    return known.with_results(rows), execution.seen, shown.steps


def test_results_are_those_of_the_evaluation_to_the_last_bit(tmp_path):
    rows = drawn(1)
    found, seen, steps = evaluate(store(tmp_path), rows, 5)
    assert seen == [10, 11, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4]
    assert steps == [2, 5, 5]
    expected = lifted(2.0, rows).loc[rows.index]
    pd.testing.assert_frame_equal(
        found.drop(columns="wave_mm"), expected.drop(columns="wave_mm"), check_exact=True
    )
    assert np.array([*found["wave_mm"]], np.float32).tobytes() == np.tile(WAVE, COUNT).tobytes()
    assert stored_samples(tmp_path / SAMPLES) == COUNT


@pytest.mark.parametrize("size", [5, 3, 100])
def test_only_the_missing_rows_are_evaluated_whatever_the_chunk(tmp_path, size):
    rows = drawn(1)
    whole, _, _ = evaluate(store(tmp_path / "whole"), rows, COUNT)
    with pytest.raises(KeyboardInterrupt):
        evaluate(store(tmp_path), rows, 5, stop=2)
    found, seen, _ = evaluate(store(tmp_path), rows, size)
    assert sorted(seen) == [0, 1, 2, 3, 4]
    assert found.equals(whole)
    assert not evaluate(store(tmp_path), rows, size)[1]


def test_samples_of_other_tables_and_configurations_add_up(tmp_path):
    one, two = drawn(1), drawn(2)
    evaluate(store(tmp_path), one, 5)
    both = pd.concat([two.head(3), one.tail(4)], ignore_index=True)
    assert sorted(evaluate(store(tmp_path), both, 5)[1]) == [0, 1, 2]
    assert evaluate(store(tmp_path, "elements"), one, COUNT)[1] == one.index.tolist()
    assert not evaluate(store(tmp_path), one, 5)[1]


@pytest.mark.parametrize("column", ["compartment", "load_N", "flexion_rad", "superior_m", "index"])
def test_a_change_in_the_last_bit_is_another_sample(tmp_path, column):
    """Only the number of a sample, and the height where a search starts, do not count."""
    rows = drawn(1)
    evaluate(store(tmp_path), rows, 5)
    other = rows.copy()
    if column == "compartment":
        other[column] = "lateral"
    else:
        other[column] = np.nextafter(other[column], 9.0) if column != "index" else 7
    known = column in ("superior_m", "index")
    assert len(store(tmp_path).missing(other)) == (0 if known else COUNT)
    # At a given pose, the height counts.
    evaluate(store(tmp_path, "pose", "area_m2"), rows, 5)
    missing = store(tmp_path, "pose", "area_m2").missing(other)
    assert len(missing) == (0 if column == "index" else COUNT)


def truncate(file):
    file.write_bytes(file.read_bytes()[:5000])


def replace_content(file):
    file.write_text("no database " * 1000)


def falsify(file):
    with sqlite3.connect(file) as table:
        table.execute("UPDATE samples SET results = ?", (zlib.compress(b"{}")[:-1] + b"x",))


@pytest.mark.parametrize("damage", [truncate, replace_content, falsify])
def test_damaged_file_is_told_with_the_cure(tmp_path, damage):
    evaluate(store(tmp_path), drawn(1), 5)
    damage(tmp_path / SAMPLES)
    with pytest.raises(DamagedTableError, match=r"sqlite: damaged \(.*\); delete the") as told:
        evaluate(store(tmp_path), drawn(1), 5)
    assert f"--out {tmp_path}`" in str(told.value)


def test_quick_rows_come_in_chunks_of_a_second_for_each_worker():
    assert chunk_size(10_000, 50) == 50
    assert chunk_size(10_000, 50, 300.0, 2) == 300
    assert chunk_size(1_000, 50, 300.0, 2) == 62
