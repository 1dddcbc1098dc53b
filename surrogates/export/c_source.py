"""Text of exported C: the library's sources, and the structs of a surrogate as constants."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from foundation.base.errors import InputError
from foundation.core.building import COMPILERS, FOLDERS
from foundation.core.library import Struct

_TEMPLATES = Path(__file__).with_name("templates")
#: Sources of the library that loads need, in the order of their dependencies.
_SOURCES = ("lanes.h", "memory.h", "knee.h", "sums.c", "functions.c", "regressor.c", "line.c",
            "jets.c", "compartment.c")  # fmt: skip
#: In the exported file every function of the library is its own.
_OWN = """\
#if defined(__GNUC__)
#define KNEE_API static __attribute__((unused))
#else
#define KNEE_API static
#endif
"""


def c_compiler() -> str | None:
    """Return the path of the system's C compiler, the first of `COMPILERS`, or None."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


class CFiles(NamedTuple):
    """Text of a header and of the source that includes it."""

    header: str
    source: str

    def write(self, folder: Path | str, name: str) -> tuple[Path, Path]:
        """Write ``<name>.h``, ``<name>.c``, which includes ``<prefix>.h``; return their paths."""
        paths = Path(folder) / f"{name}.h", Path(folder) / f"{name}.c"
        for path, text in zip(paths, self, strict=True):
            path.write_text(text, encoding="ascii", newline="\n")
        return paths


def check_prefix(prefix: str) -> None:
    """Raise an InputError unless the prefix can begin the names of a C library."""
    if not (isinstance(prefix, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", prefix)):
        raise InputError(
            "prefix: expected letters, digits and underscores, a letter first, at most 100 in all, "
            f"found {prefix!r}"
        )


def header(prefix: str, functions: Iterable[tuple[str, str]]) -> str:
    """Return the text of a header of functions, each a comment and a declaration."""
    return rendered("header.h", guard=f"{prefix.upper()}_H", functions=functions)


def rendered(name: str, **values: Any) -> str:
    """Return the text of the Jinja template `name`, filled with values."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template(f"{name}.jinja").render(values)


def template(prefix: str, name: str) -> str:
    """Return a template of C, whose names begin with ``surrogate``, under another prefix."""
    text = (_TEMPLATES / f"{name}.c").read_text(encoding="ascii")
    upper = re.sub(r"\bSURROGATE(?=_)", prefix.upper(), text)
    return re.sub(r"\bsurrogate(?=_)", prefix, upper)


def library_source(prefix: str) -> str:
    """Return the beginning of a source: its header, and the library's functions."""
    found = {path.name: path for folder in FOLDERS for path in folder.glob("*.[ch]")}
    texts = [found[name].read_text(encoding="ascii") for name in _SOURCES]
    own = re.sub(r'^#include "\w+\.h"\n', "", "\n".join(texts), flags=re.MULTILINE)
    return "\n".join([f'#include "{prefix}.h"\n', _OWN, own])


def constants(struct: Struct, name: str) -> str:
    """Return the definition of a struct, and before it of all that its pointers refer to."""
    definitions: list[str] = []
    fields = _initializer(struct, name, definitions)
    return "\n".join([*definitions, f"static const {struct.name} {name} = {fields};\n"])


def _initializer(struct: Struct, name: str, definitions: list[str]) -> str:
    """Return the value of a struct; what pointers refer to is added to the definitions."""
    lines = []
    for field, kind in struct.value._fields_:
        value, several = struct.fields[field], hasattr(kind, "_length_")
        stem = f"{name}_{field}"
        if isinstance(value, Struct) and kind is type(value.value):
            text = _initializer(value, stem, definitions)
        elif isinstance(value, Struct):
            definitions.append(constants(value, stem))
            text = f"&{stem}"
        elif isinstance(value, np.ndarray) and several:
            text = f"{{{', '.join(map(number, value))}}}"
        elif isinstance(value, np.ndarray):
            definitions += [array(stem, value)] if value.size else []
            text = stem if value.size else "0"
        elif isinstance(value, Sequence):
            text = _row(value, stem, definitions, pointers=several)
        else:
            text = (
                "0"
                if value is None
                else number(value)
                if kind.__name__ == "c_double"
                else (str(int(value)))
            )
        lines.append(f"    .{field} = {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _row(structs: Sequence[Struct], name: str, definitions: list[str], pointers: bool) -> str:
    """Return pointers to structs as the value of a field, or the name of a row of structs."""
    if pointers:
        names = [f"{name}_{k}" for k in range(len(structs))]
        definitions += [constants(own, each) for own, each in zip(structs, names, strict=True)]
        return f"{{{', '.join(f'&{each}' for each in names)}}}"
    values = [_initializer(own, f"{name}_{k}", definitions) for k, own in enumerate(structs)]
    body = ",\n".join(values)
    definitions.append(f"static const {structs[0].name} {name}[{len(structs)}] = {{{body}}};\n")
    return name


def array(name: str, values: NDArray[Any]) -> str:
    """Return the C definition of an array (N, ...) [any unit] of double or int, N >= 1."""
    kind = "double" if values.dtype.kind == "f" else "int"
    listed = [number(v) if kind == "double" else str(int(v)) for v in values.ravel().tolist()]
    rows = [", ".join(listed[i : i + 4]) for i in range(0, len(listed), 4)]
    body = ",\n    ".join(rows)
    return f"static const {kind} {name}[{len(listed)}] = {{\n    {body}\n}};\n"


def number(value: float) -> str:
    """Return the shortest C constant that equals a number exactly."""
    return repr(float(value))
