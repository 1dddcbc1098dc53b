"""Surrogate files: any bytes are refused by name, the saved ones answer to the last bit.

Damage inside a file: `test_load_fuzz`.
"""

from __future__ import annotations

import manufactured
import numpy as np
import pytest
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st

from foundation.pose import Pose
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.knee import KneeSurrogate

POSE = Pose(0.3, 0.0, 0.0, 0.0, 0.03, 0.0)


@pytest.fixture(scope="module")
def knee():
    trained = manufactured.train(manufactured.truth(), joint=True).surrogate
    found = KneeSurrogate(trained, trained)
    found.loads(POSE)  # compiles, which is not to count in the time of an example
    return found


@pytest.fixture(scope="module")
def content(knee, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "knee.npz"
    save(knee, path)
    return path.read_bytes()


@given(data=st.data())
@reading
def test_damaged_file_is_refused_or_answers_the_same(knee, content, tmp_path, data):
    path = tmp_path / "damaged.npz"
    found = read_or_refuse(load, path, data.draw(files(content)), SurrogateFileError)
    if found is not None:
        np.testing.assert_array_equal(found.loads(POSE).wrench, knee.loads(POSE).wrench)


@given(words=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
@reading
def test_header_of_the_user_comes_back(knee, tmp_path, words):
    path = tmp_path / "told.npz"
    save(KneeSurrogate(knee.medial, knee.lateral, {"provenance": words}), path)
    assert load(path).header["provenance"] == words
