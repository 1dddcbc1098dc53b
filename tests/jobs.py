"""Small jobs for workers, which load nothing else for them."""

import os
import signal
from pathlib import Path


def double(number):
    return 2 * number


def process_of(number):
    del number
    return os.getpid()


def die_once(mark, number):
    """Return twice a number; the first process to come to number 2 dies of it."""
    if number == 2:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def refuse(number):
    raise ValueError(f"no answer to {number}")
