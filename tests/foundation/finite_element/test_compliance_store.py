"""Compliances on disk: written once, whole or not at all."""

import numpy as np
import pytest
from layers import plate_contact

from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.finite_element import compliance_store
from foundation.finite_element.compliance_store import ComplianceStore

POSE = Pose(superior=0.0453, lateral=20e-3)
DIGEST = "digest"


class Body:
    """Stands for a body; counts its condensations."""

    def __init__(self, monkeypatch):
        self.count = 0
        monkeypatch.setattr(compliance_store, "compliance", self.compliance)

    def compliance(self, body, solver):
        self.count += 1
        return np.arange(9.0).reshape(3, 3)

    def __call__(self):
        return self


def stored(folder, body):
    return ComplianceStore(folder, "substructures", "float64").get(DIGEST, 3, body)


def test_condensed_once_and_read_by_others(tmp_path, monkeypatch):
    body = Body(monkeypatch)
    first, second = stored(tmp_path / "new", body), stored(tmp_path / "new", body)
    assert body.count == 1
    assert np.array_equal(first, second)
    assert len([*(tmp_path / "new").iterdir()]) == 1


@pytest.mark.parametrize("keep", [0, 5, 100, 150])
def test_a_truncated_file_is_computed_again(tmp_path, monkeypatch, keep):
    body = Body(monkeypatch)
    expected = stored(tmp_path, body).copy()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:keep])
    assert not ComplianceStore(tmp_path, "substructures", "float64").is_kept(DIGEST, 3)
    assert np.array_equal(stored(tmp_path, body), expected)
    assert body.count == 2
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "other",
    [np.eye(2), np.eye(3, dtype=np.float32), np.asfortranarray(np.arange(9.0).reshape(3, 3))],
)
def test_a_file_of_another_array_is_computed_again(tmp_path, monkeypatch, other):
    body = Body(monkeypatch)
    expected = stored(tmp_path, body).copy()
    (path,) = tmp_path.iterdir()
    path.unlink()
    np.save(path, other)
    assert not ComplianceStore(tmp_path, "substructures", "float64").is_kept(DIGEST, 3)
    assert np.array_equal(stored(tmp_path, body), expected)
    assert body.count == 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "condensed"
    blocked.write_text("a file, not a folder")
    with pytest.raises(InputError, match=r"condensed/digest.*npy: .* cannot be written \(.+\); "):
        stored(blocked, Body(monkeypatch))


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    body = Body(monkeypatch)

    def interrupted(file, array, **_):
        file.write(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compliance_store.np, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stored(tmp_path, body)
    assert not [*tmp_path.iterdir()]
    assert stored(tmp_path, body).shape == (3, 3)


@pytest.mark.slow
def test_cached_and_fresh_compliance_give_the_same_loads(tmp_path):
    fresh = plate_contact()
    plate_contact(folder=tmp_path).prepare()
    cached = plate_contact(folder=tmp_path)
    said = []
    cached.prepare(said.append)
    assert said == []
    expected = fresh.evaluate(POSE).total.array
    assert np.array_equal(cached.evaluate(POSE).total.array, expected)
    fresh.prepare(said.append)
    assert len(said) == 1
    assert said[0].startswith("condensing ")
