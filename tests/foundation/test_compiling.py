"""Users of the library are told when kernels are compiled for long."""

import logging
import time

import numba
from numba.core import event

from foundation.base.compiling import TIMER, CompilationTimer


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


def test_short_compilation_is_not_told(caplog):
    with event.install_listener("numba:compile", CompilationTimer()):
        numba.njit(lambda x: x + 4)(1)
    assert not caplog.records
