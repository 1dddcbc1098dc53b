"""Commands in messages, as a shell takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

_PROGRAM = "python -m pipeline"


def command_line(*words: str | Path) -> str:
    """Return a command of this program whose words a shell reads as they are, spaces included."""
    return f"{_PROGRAM} {shlex.join(map(str, words))}"
