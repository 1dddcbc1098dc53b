"""Command `completion`: script for the completion of this command line in a shell."""

from __future__ import annotations

from string import Template
from typing import Literal

from pipeline.cli.app import OTHER, Answer, app, command

#: Installed script, which shells complete.
SCRIPT = "knee-contact"
#: Makes bash complete `python -m pipeline` as the script, without the first words; other uses of
#: Python keep completing file names.
_MODULE = Template("""
_knee_contact_module() {
  if [[ "$${COMP_WORDS[*]:1:2}" == "-m pipeline" && $$COMP_CWORD -gt 2 ]]; then
    COMP_WORDS=("$script" "$${COMP_WORDS[@]:3}")
    COMP_CWORD=$$((COMP_CWORD - 2))
    _knee_contact
  else
    COMPREPLY=()
  fi
}
complete -o filenames -o bashdefault -o default -F _knee_contact_module python python3
""")


@command(OTHER)
def completion(shell: Literal["bash", "zsh", "fish"], /) -> Answer:
    """Print a script that makes a shell complete these commands.

    Parameters
    ----------
    shell : {"bash", "zsh", "fish"}
        Shell that reads the script.

    Examples
    --------
    $ python -m pipeline completion bash > ~/.knee-contact.bash
    $ echo 'source ~/.knee-contact.bash' >> ~/.bashrc
    $ python -m pipeline completion zsh > ~/.zfunc/_knee-contact
    $ python -m pipeline completion fish | source
    """
    script = app.meta.generate_completion(prog_name=SCRIPT, shell=shell)
    if shell == "bash":
        script += _MODULE.substitute(script=SCRIPT)
    return Answer(script, {"shell": shell, "script": script})
