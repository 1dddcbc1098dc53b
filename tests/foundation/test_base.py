"""Files that are replaced whole or not at all."""

import pytest

from foundation.base.files import replacing


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_caller_may_replace_the_file_later(tmp_path):
    path, later = tmp_path / "a.txt", {}
    with replacing(path, later) as partial:
        partial.write_text("new")
    assert not path.exists()
    assert later == {path: partial}
    assert partial.read_text() == "new"
