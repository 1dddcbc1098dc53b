"""`completion`: what a shell needs to complete this command line (shtab)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from string import Template

import shtab

from pipeline.cli.command import Answer, Command

SHELLS = ("bash", "zsh", "tcsh")
#: The installed script, which a shell completes by itself.
PROGRAM = "knee-contact"
#: Lets bash complete `python -m pipeline` too, as the script, the first words left out; other uses
#: of Python complete file names, as they do without it.
_MODULE = Template("""
_knee_contact_module() {
  if [[ "$${COMP_WORDS[*]:1:2}" == "-m pipeline" && $$COMP_CWORD -gt 2 ]]; then
    COMP_WORDS=("$program" "$${COMP_WORDS[@]:3}")
    COMP_CWORD=$$((COMP_CWORD - 2))
    $function
  else
    COMPREPLY=()
  fi
}
complete -o filenames -o bashdefault -o default -F _knee_contact_module python python3
""")


def _add(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, help="which shell")


def _completion(options: argparse.Namespace) -> Answer:
    # Imported here: the parser is made of all commands, this one among them.
    from pipeline.cli.main import build_parser

    text = completion_script(build_parser(PROGRAM), options.shell)
    return Answer(text, {"shell": options.shell, "script": text})


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return what a shell reads to complete the command line of a parser."""
    kinds = {"file": shtab.FILE, "directory": shtab.DIRECTORY, "toml": shtab.glob("*.toml")}
    _set_kinds(parser, kinds)
    text = shtab.complete(parser, shell=shell)
    if shell != "bash":
        return text
    prefix = "_shtab_" + PROGRAM.replace("-", "_")
    return text + _MODULE.substitute(program=PROGRAM, function=prefix)


def _set_kinds(parser: argparse.ArgumentParser, kinds: Mapping[str, object]) -> None:
    """Put shtab's own completers where the parser names them, in all commands."""
    for action in parser._actions:
        kind = getattr(action, "complete", None)
        if isinstance(kind, str):
            action.complete = kinds[kind]  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _set_kinds(inner, kinds)


COMMAND = Command(
    "completion",
    "print what your shell needs to complete these commands",
    _add,
    _completion,
    (
        "python -m pipeline completion bash > ~/.knee-contact.bash",
        "echo 'source ~/.knee-contact.bash' >> ~/.bashrc",
        "python -m pipeline completion zsh > ~/.zfunc/_knee-contact",
    ),
)
