"""Compilation that is told, and files that are replaced whole or not at all."""

import logging
import time

import numba
import pytest
from numba.core import event

from foundation.base.compiling import TIMER, CompilationTimer
from foundation.base.files import replacing


def test_long_compilation_is_told_once(caplog):
    timer = CompilationTimer(notable=0.0)
    with event.install_listener("numba:compile", timer):
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
        time.sleep(0.05)  # the clock is another thread's
    (record,) = [each for each in caplog.records if each.name == "foundation.base.compiling"]
    assert record.levelno == logging.WARNING
    assert record.message.startswith("compiling the kernels")
    assert timer.duration > 0.0


def test_the_library_listens():
    assert isinstance(TIMER, CompilationTimer)
    before = TIMER.duration if TIMER.done else 0.0
    numba.njit(lambda x: x + 3)(1)
    assert TIMER.duration > before


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

    def fail() -> None:
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
