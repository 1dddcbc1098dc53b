"""First configuration of two meshes: guesses from the meshes, and questions for the rest."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from foundation.checks import check_in, check_number
from foundation.errors import InputError
from foundation.surfaces.mesh import SIDES, UNITS
from foundation.surfaces.mesh_io import EXTENSIONS
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.advice import command_line
from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.files import write_text
from pipeline.preparation.init_options import InitOptions
from pipeline.preparation.mesh_guess import (
    Axes,
    Guess,
    guess_axes,
    guess_unit,
    read_raw,
    side_in_name,
)
from pipeline.preparation.starter import PRESETS, starter_sections, starter_text

BODIES = ("femur", "tibia")
#: Options that replace a key of [contact].
_CONTACT_KEYS = ("law", "youngs_modulus_MPa", "poissons_ratio", "thickness_mm")
_T = TypeVar("_T")


class _Guesses(NamedTuple):
    """Mesh files, their units and axes by body, the side, and remarks for the user."""

    files: dict[str, Path]
    units: dict[str, str]
    axes: dict[str, Guess[Axes]]
    side: str | None
    remarks: list[str]


class _Interview(NamedTuple):
    """Asks on the terminal, or takes the defaults."""

    interactive: bool

    def ask(
        self, question: str, option: str, default: str | None, reader: Callable[[str], _T]
    ) -> _T:
        """Return the answer as read; a refused answer is asked for again.

        Raises
        ------
        InputError
            If the input ends, or if there is nobody to ask and no default.
        """
        if not self.interactive:
            if default is None:
                raise InputError(f"{option} is required: {question}")
            return reader(default)
        while True:
            sys.stderr.write(f"{question}{f' [{default}]' if default else ''}: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                raise InputError(
                    "input ended before the last question, so that nothing was written; answer "
                    "all questions, or set the values by options"
                )
            try:
                return reader(line.strip() or default or "")
            except InputError as error:
                sys.stderr.write(f"{error}\n")

    def choose(
        self, question: str, option: str, default: str | None, choices: Collection[str]
    ) -> str:
        """Return one of several answers."""
        text = f"{question} ({', '.join(choices)})"
        return self.ask(text, option, default, lambda answer: check_in("answer", answer, choices))


def write_starter(config: Path, options: InitOptions) -> tuple[str, dict[str, Any]]:
    """Write a first configuration; return the summary for people and for programs.

    Missing values are asked for on the terminal, unless stdin is not a terminal or `options.yes` is
    set.

    Raises
    ------
    InputError
        If the file exists, a mesh cannot be read, or a value is missing or out of its limits.
    """
    if config.exists() and not options.force:
        raise InputError(f"{config}: exists; name another file, or replace it with --force")
    interview = _Interview(sys.stdin.isatty() and not options.yes)
    meshes = {body: _read_mesh(body, getattr(options, body), interview) for body in BODIES}
    guesses = _guess(options, meshes)
    if interview.interactive:
        sys.stderr.writelines(f"{remark}\n" for remark in guesses.remarks)
    content = _answers(config, options, guesses, interview)
    contact = content.pop("contact")
    sections = starter_sections(**content, contact=contact, folder=config.parent)
    text = starter_text(sections, _notes(options, guesses, content["side"]))
    # Options have the limits of the keys of a configuration.
    checked_section(tomllib.loads(text), Config, str(config))
    write_text(config, text)
    lines = [*guesses.remarks]
    if guesses.side is None and content["side"] == "right":
        lines.append('side: right by default; set side = "left" for a left knee')
    lines += [
        f"written: {config} ({content['material']}; comments explain every key)",
        f"next: {command_line('check', config)}",
    ]
    return "\n".join(lines), {"file": str(config), **content, "remarks": guesses.remarks}


def _read_mesh(body: str, file: Path | None, interview: _Interview) -> tuple[Path, TriangleMesh]:
    if file is not None:
        return file, read_raw(file)
    # Default: a file named after the body.
    names = [f"{body}{extension}" for extension in EXTENSIONS]
    default = next((name for name in names if Path(name).is_file()), None)

    def reader(name: str) -> tuple[Path, TriangleMesh]:
        return Path(name), read_raw(Path(name))

    return interview.ask(f"Mesh file of the {body}", f"--{body}", default, reader)


def _guess(options: InitOptions, meshes: dict[str, tuple[Path, TriangleMesh]]) -> _Guesses:
    remarks, units = [], {}
    files = {body: file for body, (file, _) in meshes.items()}
    for body, (file, mesh) in meshes.items():
        unit = guess_unit(mesh)
        units[body] = options.unit or unit.value
        if options.unit is None:
            doubt = "" if unit.certain else ", which is not the size of a knee; check the mesh"
            remarks.append(f"{file}: unit {unit.value}: {unit.reason}{doubt}")
    axes = dict(zip(BODIES, guess_axes(*(mesh for _, mesh in meshes.values())), strict=True))
    for body, guess in axes.items() if options.axes is None else ():
        doubt = "" if guess.certain else "; uncertain, see the comment in the configuration"
        remarks.append(f"{files[body]}: axes {','.join(guess.value)}: {guess.reason}{doubt}")
    sides = {side for file in files.values() if (side := side_in_name(file))}
    side = sides.pop() if len(sides) == 1 else None
    if side is not None and options.side is None:
        remarks.append(f"side: {side}, from the file names")
    return _Guesses(files, units, axes, side, remarks)


def _answers(
    config: Path, options: InitOptions, guesses: _Guesses, interview: _Interview
) -> dict[str, Any]:
    """Return name, side, material, meshes and contact; ask for values without an option."""
    meshes = {}
    for body, file in guesses.files.items():
        unit = options.unit or interview.choose(
            f"Unit of the {body} file", "--unit", guesses.units[body], UNITS
        )
        question = f"File axes of anterior, superior, right, of the {body}"
        axes = (
            _axes(options.axes)
            if options.axes is not None
            else interview.ask(question, "--axes", ",".join(guesses.axes[body].value), _axes)
        )
        beside = Path(os.path.relpath(file, config.parent)).as_posix()
        meshes[body] = {"file": beside, "unit": unit, "axes": list(axes)}
    side = options.side or interview.choose("Side", "--side", guesses.side or "right", SIDES)
    material = options.material or interview.choose(
        "Material of the bearing surface", "--material", None, PRESETS
    )
    default_name = re.sub(r"[^A-Za-z0-9_.-]", "_", config.stem).lstrip(".-") or "mine"
    name = options.name or interview.ask("Name of the run", "--name", default_name, str)
    values = {key: getattr(options, key) for key in _CONTACT_KEYS}
    contact = {key: value for key, value in values.items() if value is not None}
    if interview.interactive and options.thickness_mm is None:
        usual = str(PRESETS[material]["contact"]["thickness_mm"])
        question = "Thickness of the layer [mm]"
        contact["thickness_mm"] = interview.ask(question, "--thickness-mm", usual, _thickness)
    sections = {"side": side, "meshes": meshes, "contact": contact}
    return {"name": name, "material": material, **sections}


def _axes(text: str) -> tuple[str, ...]:
    axes = tuple(part.strip() for part in text.split(","))
    if sorted(axis.removeprefix("-") for axis in axes) != ["x", "y", "z"]:
        raise InputError(
            f"--axes: expected x, y and z once each, with signs, such as -x,y,-z; found {text!r}"
        )
    return axes


def _thickness(text: str) -> float:
    try:
        return check_number("thickness [mm]", float(text), above=0.0)
    except ValueError:
        raise InputError(f"expected a thickness above 0 mm such as 6.5, found {text!r}") from None


def _notes(options: InitOptions, guesses: _Guesses, side: str) -> dict[str, str]:
    """Return the remarks that the configuration shows above its keys."""
    notes = {
        "knee.split_lateral_mm": (
            "No ridge found between the plateaus; using mid-width, please verify."
        )
    }
    if guesses.side is None:
        notes["knee.side"] = (
            f"File names do not state the side; verify that the knee is a {side} one."
        )
    for body, guess in guesses.axes.items() if options.axes is None else ():
        notes[f"knee.{body}.axes"] = (
            f"Guessed {','.join(guess.value)} ({guess.reason}). Please verify in a mesh viewer: "
            "the first axis must point anteriorly (trochlea, kneecap), the second superiorly."
        )
    return notes
