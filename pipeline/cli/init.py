"""`init`: a commented configuration of the user's own two meshes."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from foundation.errors import InputError
from foundation.surfaces.mesh import SIDES, UNITS
from foundation.surfaces.mesh_io import EXTENSIONS
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.advice import command_line
from pipeline.cli.command import Answer, Command
from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.files import write_text
from pipeline.preparation.mesh_guess import (
    AxesGuess,
    guess_axes,
    guess_unit,
    read_raw,
    side_in_name,
)
from pipeline.preparation.starter import PRESETS, Starter, missing_split, path_beside, starter_text

BODIES = ("femur", "tibia")
_T = TypeVar("_T")
_LAWS = ("linear", "logarithmic", "modified")
#: Flags that replace a key of [contact].
_CONTACT = {
    "law": "law",
    "modulus_MPa": "youngs_modulus_MPa",
    "poissons_ratio": "poissons_ratio",
    "thickness_mm": "thickness_mm",
}


def _add(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "config", type=Path, nargs="?", default=Path("mine.toml"),
        help="configuration to write (default: mine.toml)",
    )  # fmt: skip
    for body in BODIES:
        command.add_argument(
            f"--{body}", type=Path, metavar="FILE",
            help=f"mesh of the {body}'s bearing surface ({', '.join(EXTENSIONS)})",
        )  # fmt: skip
    command.add_argument("--material", choices=tuple(PRESETS), help="of the bearing surface")
    command.add_argument("--unit", choices=tuple(UNITS), help="of both files (default: guessed)")
    command.add_argument(
        "--axes", metavar="A,S,R",
        help="signed file axes of anterior, superior and the body's right, for both files: "
        "x,y,z or --axes=-x,y,-z (default: guessed)",
    )  # fmt: skip
    command.add_argument("--side", choices=SIDES, help="which knee (default: by the files' names)")
    command.add_argument("--name", help="name of the run (default: that of the configuration)")
    command.add_argument("--law", choices=_LAWS, help="spring law (default: linear)")
    command.add_argument(
        "--modulus-MPa", type=float, metavar="E", help="Young's modulus (default: the material's)"
    )
    command.add_argument(
        "--poissons-ratio", type=float, metavar="NU", help="Poisson's ratio (the material's)"
    )
    command.add_argument(
        "--thickness-mm", type=float, metavar="H", help="thickness of the layer (the material's)"
    )
    command.add_argument("--yes", action="store_true", help="ask nothing, take every guess")
    command.add_argument("--force", action="store_true", help="replace an existing file")


def _init(options: argparse.Namespace) -> Answer:
    if options.config.exists() and not options.force:
        raise InputError(
            f"{options.config}: exists already; name another file, or give --force to replace it"
        )
    asker = _Asker(asks=sys.stdin.isatty() and not options.yes)
    meshes = _read_meshes(options, asker)
    guessed = _guessed(options, meshes)
    starter = _starter(options, asker, guessed)
    text = starter_text(starter)
    # What the flags gave is held to the same limits as any configuration.
    checked_section(tomllib.loads(text), Config, str(options.config))
    write_text(options.config, text)
    return _told(options.config, starter, guessed)


class _Asker(NamedTuple):
    """Asks on the terminal, or takes the default where it must not."""

    asks: bool

    def __call__(
        self, question: str, flag: str, default: str | None, allowed: Collection[str] = ()
    ) -> str:
        """Return an answer; the default if it is empty.

        Raises
        ------
        InputError
            If there is neither an answer nor a default.
        """
        if not self.asks:
            if default is None:
                raise InputError(f"{flag} is needed: {question.lower()}")
            return default
        choices = f" ({', '.join(allowed)})" if allowed else ""
        while True:
            sys.stderr.write(f"{question}{choices}{f' [{default}]' if default else ''}: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                raise InputError("the answers ended early, so nothing was written; give flags")
            answer = line.strip() or (default or "")
            if answer and (not allowed or answer in allowed):
                return answer

    def read(
        self, question: str, flag: str, default: str | None, reader: Callable[[str], _T]
    ) -> _T:
        """Return what a reader makes of an answer; one that it refuses is asked for again."""
        while True:
            answer = self(question, flag, default)
            try:
                return reader(answer)
            except InputError as error:
                if not self.asks:
                    raise
                sys.stderr.write(f"{error}\n")


class _Guessed(NamedTuple):
    """What the meshes tell."""

    files: dict[str, Path]
    units: dict[str, str]
    axes: dict[str, AxesGuess]
    side: str | None
    remarks: list[str]


def _read_meshes(
    options: argparse.Namespace, asker: _Asker
) -> dict[str, tuple[Path, TriangleMesh]]:
    found = {}
    for body in BODIES:
        given = getattr(options, body)
        if given is not None:
            found[body] = given, read_raw(given)
            continue
        # A file named after the body is the likely one.
        beside = [Path(body + extension) for extension in EXTENSIONS]
        likely = next((str(file) for file in beside if file.is_file()), None)
        found[body] = asker.read(f"Mesh file of the {body}", f"--{body}", likely, _mesh_of)
    return found


def _mesh_of(answer: str) -> tuple[Path, TriangleMesh]:
    return Path(answer), read_raw(Path(answer))


def _guessed(options: argparse.Namespace, meshes: dict[str, tuple[Path, TriangleMesh]]) -> _Guessed:
    remarks, units = [], {}
    for body, (file, mesh) in meshes.items():
        unit = guess_unit(mesh)
        units[body] = options.unit or unit.value
        if options.unit is None and unit.certain:
            remarks.append(f"{file}: in {unit.value}: {unit.reason}")
        elif options.unit is None:
            remarks.append(f"{file}: taken as {unit.value}, but {unit.reason}: is it a knee?")
    given = options.axes
    if given is None:
        axes = dict(zip(BODIES, guess_axes(*(mesh for _, mesh in meshes.values())), strict=True))
        for body, guess in axes.items():
            doubt = "" if guess.certain else "; not certain: see the comment in the file"
            remarks.append(f"{meshes[body][0]}: axes {','.join(guess.axes)}: {guess.reason}{doubt}")
    else:
        axes = dict.fromkeys(BODIES, AxesGuess(_three(given), True, "given as --axes"))
    sides = {side for file, _ in meshes.values() if (side := side_in_name(file))}
    named = sides.pop() if len(sides) == 1 else None
    if named is not None and options.side is None:
        remarks.append(f"side: {named}, as the files are named")
    return _Guessed({b: f for b, (f, _) in meshes.items()}, units, axes, named, remarks)


def _starter(options: argparse.Namespace, asker: _Asker, guessed: _Guessed) -> Starter:
    """Return what is written, after asking for what no flag gives."""
    for line in guessed.remarks if asker.asks else ():
        sys.stderr.write(line + "\n")
    meshes = {body: _mesh(options, asker, guessed, body) for body in BODIES}
    side = options.side or asker("Which knee", "--side", guessed.side or "right", SIDES)
    material = options.material or asker(
        "Material of the bearing surface", "--material", None, PRESETS
    )
    name = options.name or asker("Name of the run", "--name", _plain(options.config.stem))
    given = {key: getattr(options, flag) for flag, key in _CONTACT.items()}
    contact = {key: value for key, value in given.items() if value is not None}
    if asker.asks and options.thickness_mm is None:
        usual = str(PRESETS[material]["contact"]["thickness_mm"])
        question = "Thickness of the layer in mm"
        contact["thickness_mm"] = asker.read(question, "--thickness-mm", usual, _thickness)
    split = missing_split(meshes["tibia"], options.config.parent, side)
    return Starter(name, meshes, side, material, contact, split, _notes(guessed, side))


def _mesh(
    options: argparse.Namespace, asker: _Asker, guessed: _Guessed, body: str
) -> dict[str, Any]:
    """Return the section of a mesh."""
    unit, axes = guessed.units[body], guessed.axes[body].axes
    if options.unit is None:
        unit = asker(f"Unit of the {body}'s file", "--unit", unit, UNITS)
    if options.axes is None:
        question = f"File axes of anterior, superior, right, of the {body}"
        axes = asker.read(question, "--axes", ",".join(axes), _three)
    file = path_beside(guessed.files[body], options.config)
    return {"file": file, "unit": unit, "axes": list(axes)}


def _three(text: str) -> tuple[str, str, str]:
    parts = [part.strip() for part in text.split(",")]
    if sorted(part.removeprefix("-") for part in parts) != ["x", "y", "z"]:
        raise InputError(
            f"--axes: expected three axes such as -x,y,-z, x, y and z once each, found {text!r}"
        )
    return parts[0], parts[1], parts[2]


def _thickness(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0.0:
        raise InputError(f"expected a thickness in mm above 0 such as 6.5, found {text!r}")
    return found


def _plain(text: str) -> str:
    """Return a name that a run may have."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip(".-") or "mine"


def _notes(guessed: _Guessed, side: str) -> dict[str, str]:
    notes = {}
    for body, guess in guessed.axes.items():
        notes[f"knee.{body}.axes"] = (
            f"Guessed {','.join(guess.axes)} ({guess.reason}). To be sure, look at the mesh in a "
            "viewer: the first axis must point to the front (trochlea, kneecap), the second up the "
            "leg."
        )
    if guessed.side is None:
        notes["knee.side"] = f"No file name tells the side: is it a {side} knee?"
    notes["knee.split_lateral_mm"] = (
        "No ridge parts the plateaus of this mesh: its middle, to be looked at."
    )
    return notes


def _told(config: Path, starter: Starter, guessed: _Guessed) -> Answer:
    lines = [*guessed.remarks]
    if guessed.side is None and starter.side == "right":
        lines.append('side: taken as right; a left knee needs side = "left"')
    lines += [
        f"written: {config} ({starter.material}; every key is explained in it)",
        f"next: {command_line('check', config)}",
    ]
    content = {
        "file": str(config),
        "name": starter.name,
        "material": starter.material,
        "side": starter.side,
        "meshes": starter.meshes,
        "remarks": guessed.remarks,
    }
    return Answer("\n".join(lines), content)


COMMAND = Command(
    "init",
    "write a commented configuration for your own two meshes",
    _add,
    _init,
    (
        "python -m pipeline init",
        "python -m pipeline init mine.toml --femur femur.stl --tibia tibia.stl "
        "--material cartilage --yes",
        "python -m pipeline init left.toml --femur f.ply --tibia t.ply --unit mm --axes=-x,y,-z "
        "--side left --material polyethylene --thickness-mm 9 --yes",
    ),
)
