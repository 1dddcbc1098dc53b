"""Known results of earlier samples: which are found, and that they are the stored ones."""

import numpy as np
import pandas as pd
import pytest

from foundation.base.loads import LOAD_COLUMNS
from pipeline.store.earlier_samples import EarlierSamples
from pipeline.store.samples import CANDIDATE_COLUMNS, POSE_COLUMNS, candidate_table, write_table

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
