"""Export to C: a self-contained header and source in C99 that need only the C library's math."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.core.building import COMPILERS, FOLDERS
from foundation.core.library import CORE, Struct
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate

_TEMPLATES = Path(__file__).with_name("templates")
#: Sources of the library that loads need, in the order of their dependencies.
_SOURCES = ("lanes.h", "memory.h", "knee.h", "sums.c", "functions.c", "correlations.c",
            "regressor.c", "line.c", "jets.c", "compartment.c")  # fmt: skip
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
        Path(folder).mkdir(parents=True, exist_ok=True)
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
    paths = {path.name: path for folder in FOLDERS for path in folder.glob("*.[ch]")}
    texts = [paths[name].read_text(encoding="ascii") for name in _SOURCES]
    text = re.sub(r'^#include "\w+\.h"\n', "", "\n".join(texts), flags=re.MULTILINE)
    return "\n".join([f'#include "{prefix}.h"\n', _OWN, text])


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
        definitions += [
            constants(struct, label) for struct, label in zip(structs, names, strict=True)
        ]
        return f"{{{', '.join(f'&{label}' for label in names)}}}"
    values = [_initializer(struct, f"{name}_{k}", definitions) for k, struct in enumerate(structs)]
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


#: Characters in a line of a comment.
_WIDTH = 95
#: Upper bound of the stack of a call without its scratch memory [bytes].
_FRAMES = 8000


def export_knee(knee: ContactSurrogate, prefix: str = "knee", casadi: bool = False) -> CFiles:
    """Return C files of a knee: ``int <prefix>_loads(pose, loads, jacobian, variables)``.

    The function fills the arrays of `ContactSurrogate.loads` for one pose, as the header
    explains. It returns 1 outside the trained domain, regardless of `knee.outside`. The header
    repeats the words of `verdict` in `knee.header`, if there are any.
    ``<prefix>_hessian(pose, hessian)`` fills `ContactLoads.hessian`.

    Parameters
    ----------
    knee : ContactSurrogate
        The knee, or another contact pair, to export.
    prefix : str
        First part of every name in the header; also the name of the files.
    casadi : bool
        Whether to add ``<prefix>_wrench``, which `casadi.external` loads with its derivatives.

    Raises
    ------
    InputError
        If the surrogate is over designs, of which `at` gives one, or no name in C can begin so.
    """
    if knee.parameters:
        raise InputError("knee: expected one design, found many; call `at` with the values of one")
    n, indent = len(knee.by_name), " " * len(f"int {prefix}_loads(")
    declarations = [
        f"int {prefix}_loads(const double pose[6], double loads[{n}][12],\n{indent}"
        f"double jacobian[{n}][6][6], double variables[{n}][6])",
        f"void {prefix}_hessian(const double pose[6], double hessian[{n}][6][6][6])",
    ]
    files = _files(prefix, knee, declarations, casadi)
    if casadi:
        files = files._replace(source=files.source + rendered("casadi.c", prefix=prefix, count=n))
    return files


def _files(
    prefix: str, knee: ContactSurrogate, declarations: Sequence[str], casadi: bool
) -> CFiles:
    """Return C files of the compartments of a surrogate."""
    check_prefix(prefix)
    parts = knee.by_name
    packed = {f"{prefix}_{_stem(name)}": compartment.packed for name, compartment in parts.items()}
    scratch = [_scratch(packed.values(), order) for order in (1, 2)]
    comment = rendered(
        "knee_comment.txt", made_of=_made_of(parts, knee.header), prefix=prefix, casadi=casadi,
        stack=-(-(_FRAMES + 8 * max(scratch)) // 1000),
        smooth=all(compartment.smoothing > 0.0 for compartment in parts.values()),
        others=() if tuple(parts) == COMPARTMENTS else tuple(parts),
    ).rstrip()  # fmt: skip
    comments = [comment, rendered("hessian_comment.txt").rstrip()]
    functions = rendered(
        "knee.c", prefix=prefix, count=len(parts), parts=[f"&{name}" for name in packed],
        declarations=declarations, scratch=scratch,
    )  # fmt: skip
    source = [library_source(prefix), *(constants(struct, name) for name, struct in packed.items())]
    head = header(prefix, list(zip(comments, declarations, strict=True)))
    return CFiles(head, "\n".join([*source, functions]))


def _scratch(parts: Any, order: int) -> int:
    return max(int(CORE.compartment_scratch(compartment.address, order)) for compartment in parts)


def _stem(name: str) -> str:
    """Return the name of a compartment in C."""
    return name if name in COMPARTMENTS else f"part_{name}"


def _made_of(parts: Mapping[str, CompartmentSurrogate], header: Mapping[str, Any]) -> str:
    """Return formulations, families, checksum and verdict of a surrogate for the comment."""
    lines = []
    for name, compartment in parts.items():
        families = sorted({r.family for r in compartment.regressors if r.outputs})
        lines.append(f"{name}: {compartment.formulation}, {' and '.join(families)}")
    digest = str(header.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest):
        lines += ["SHA-256 in the header of the surrogate's file:", digest]
    if verdict := verdict_of(header):
        lines += ["", *textwrap.wrap(verdict, _WIDTH)]
    return "\n".join(lines)


def verdict_of(header: Mapping[str, Any]) -> str:
    """Return the words of `verdict` in the header of a surrogate as ASCII; "" without any."""
    verdict = header.get("verdict", "")
    return comment_text(verdict) if isinstance(verdict, str) else ""


def comment_text(text: str) -> str:
    """Return a text as ASCII on one line that does not end a comment of C."""
    plain = text.encode("ascii", "replace").decode()
    return " ".join(plain.replace("*/", "* /").split())
