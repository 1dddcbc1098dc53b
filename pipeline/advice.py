"""Commands of this program in messages."""

from __future__ import annotations

import shlex
from pathlib import Path


def command_line(*words: str | Path) -> str:
    """Return a command of this program, quoted for a shell."""
    return f"python -m pipeline {shlex.join(map(str, words))}"
