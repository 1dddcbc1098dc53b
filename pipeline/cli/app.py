"""The application, the options that several commands share, and the answers of commands."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import App, Group, Parameter
from cyclopts.help import DefaultFormatter, PanelSpec
from rich.box import SIMPLE

from pipeline.advice import PROGRAM

if TYPE_CHECKING:
    from pipeline.studies.conduct import Conducted

PREPARE = Group("Prepare a study", sort_key=1)
TRAIN = Group("Train a surrogate", sort_key=2)
USE = Group("Use a surrogate", sort_key=3)
COMMON = Group("Options of every command", sort_key=5)

_OVERVIEW = f"""\
Knee-contact surrogates: from two meshes to a gait simulation.

The usual path, from two meshes to a report:
  {PROGRAM} init mine.toml    write a commented configuration
  {PROGRAM} check mine.toml   report errors and the expected time
  {PROGRAM} run mine.toml     make the surrogate and its report

Without meshes, `{PROGRAM} run` does the same for the built-in implant."""


def _default_text(value: Any) -> str | None:
    """Return the default of an option as the help shows it, None for no remark."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value else None


app = App(
    name=PROGRAM,
    help=_OVERVIEW,
    help_epilogue=f"Examples:\n  {PROGRAM} run smoke\n  {PROGRAM} run --help",
    help_format="plaintext",
    help_formatter=DefaultFormatter(panel_spec=PanelSpec(box=SIMPLE, padding=(0, 0, 0, 4))),
    version=f"knee-contact {version('knee-contact')}",
    version_flags=("--version", "-V"),
    suppress_keyboard_interrupt=False,
    group_parameters=Group("Options", sort_key=4),
    default_parameter=Parameter(negative=(), show_default=_default_text),
)
app.meta.group_parameters = COMMON
app.meta.default_parameter = app.default_parameter
for flag in ("--help", "--version"):
    app[flag].group = (COMMON,)

Config = Annotated[Path, Parameter(help="TOML file, or name of a shipped configuration.")]
Overrides = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        metavar="SECTION.KEY=VALUE",
        consume_multiple=False,
        help="Replace a value of the configuration; repeat the option for more values.",
    ),
]
OutFolder = Annotated[Path | None, Parameter(help="Folder to write (default: runs/<name>).")]
Force = Annotated[bool, Parameter(help="Replace results of another configuration in the folder.")]
ForceFiles = Annotated[bool, Parameter(help="Replace existing files of other contents.")]
RunFolder = Annotated[Path, Parameter(help="Run directory.")]
SurrogateSource = Annotated[Path, Parameter(help="Run directory, or .npz file of a surrogate.")]


_ORDER = count()


class Answer(NamedTuple):
    """Answer of a command: for people, and for programs (`--json`) as objects, lists and values.

    The exit status is 2 if the answer reports bad input.
    """

    text: str
    content: Any
    status: int = 0


Command = Callable[..., Answer]


def command(group: Group, *, files: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that registers a function as a command, in a help group.

    A command that writes `files` has the option --force, without which it replaces no files of
    other contents.
    """

    def register(function: Command) -> Command:
        if files:
            function = _with_force(function)
        _, _, examples = (inspect.getdoc(function) or "").partition("Examples\n--------\n")
        epilogue = "Examples:\n" + textwrap.indent(examples.replace("$ ", ""), "  ")
        app.command(function, group=group, help_epilogue=epilogue, sort_key=next(_ORDER))
        return function

    return register


def _with_force(function: Command) -> Command:
    """Return a command with the option --force, which writes all its files at its end or none."""

    @wraps(function)
    def carry_out(*args: Any, force: bool = False, **kwargs: Any) -> Answer:
        from pipeline.files import replacing_together

        with replacing_together(others=force):
            return function(*args, **kwargs)

    original = inspect.signature(function, eval_str=True)
    force = inspect.Parameter(
        "force", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=ForceFiles
    )
    signature = original.replace(parameters=[*original.parameters.values(), force])
    carry_out.__signature__ = signature  # type: ignore[attr-defined]
    return carry_out


def answer_of(conducted: Conducted) -> Answer:
    """Return the answer of a command that carried out a configuration."""
    return Answer(conducted.text, conducted.document)
