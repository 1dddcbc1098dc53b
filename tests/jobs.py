"""Small jobs for workers, which load nothing else for them."""

import os
import signal
from pathlib import Path


def double(number):
    """Return twice a number."""
    return 2 * number


def process_of(number):
    """Return the process that a job is carried out in."""
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
    """Raise an error of the job itself."""
    raise ValueError(f"no answer to {number}")
