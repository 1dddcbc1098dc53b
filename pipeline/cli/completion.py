"""Command `completion`: script for the completion of this command line in a shell."""

from __future__ import annotations

from typing import Literal

from pipeline.advice import PROGRAM
from pipeline.cli.app import OTHER, Answer, app, command


@command(OTHER)
def completion(shell: Literal["bash", "zsh", "fish"], /) -> Answer:
    """Print a script that makes a shell complete these commands.

    Parameters
    ----------
    shell : {"bash", "zsh", "fish"}
        Shell that reads the script.

    Examples
    --------
    $ knee-contact completion bash > ~/.knee-contact.bash
    $ echo 'source ~/.knee-contact.bash' >> ~/.bashrc
    $ knee-contact completion zsh > ~/.zfunc/_knee-contact
    $ knee-contact completion fish | source
    """
    script = app.meta.generate_completion(prog_name=PROGRAM, shell=shell)
    return Answer(script, {"shell": shell, "script": script})
