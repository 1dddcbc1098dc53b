"""Commands of this program in messages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

#: The program that the package installs.
PROGRAM = "knee-contact"
#: Stands for the run directory in the commands of a report, which may be moved.
FOLDER = "RUN_FOLDER"
#: Stands for the configuration in the commands of messages of checks, which know keys alone.
CONFIG = "CONFIG"


def command_line(*words: str | Path) -> str:
    """Return a command of this program, quoted for a shell."""
    return f"{PROGRAM} {shlex.join(map(str, words))}"


def of_configuration(text: str, file: Path) -> str:
    """Return a text whose commands name a configuration, quoted for a shell."""
    name = shlex.quote(str(file))
    # A function, since a replacement text would have its backslashes interpreted.
    return re.sub(rf"({PROGRAM} [\w-]+ ){CONFIG}\b", lambda match: match[1] + name, text)


def in_folder(text: str, folder: Path) -> str:
    """Return a text whose commands name a run directory, quoted for a shell."""
    return text.replace(FOLDER, shlex.quote(str(folder)))
