"""Text of exported C: parts of the template, tables of regressors, headers.

In the template (`surrogates/export/templates`) every name begins with ``surrogate``, which the
export replaces by its prefix. Code for some surrogates only stands between ``/* if feature ... */``
and ``/* end */``, also within one another.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.compiled import box, compartments, knee, line
from surrogates.compiled.packing import spline_pieces
from surrogates.families.regressor import Regressor

_TEMPLATES = Path(__file__).with_name("templates")
#: Parts of the template for a regressor, and all parts, in the order of their dependencies.
REGRESSOR_PARTS = ("regressor", "points", "networks", "splines", "evaluation")
PARTS = (
    *REGRESSOR_PARTS, "line", "hessian", "condyle", "smoothing", "series", "compartment", "loads",
    "turned", "second", "designs",
)  # fmt: skip
#: Parts that one feature alone needs.
_ONLY_FOR = {
    "line": "inverted", "splines": "splines", "designs": "designs",
    "hessian": "single", "series": "single", "turned": "single", "second": "single",
}  # fmt: skip
#: Constants of the compiled evaluation that the template shares, by their names there.
_SHARED = {
    "REACH": box.REACH,
    "FOLLOWED": box.FOLLOWED,
    "FARTHEST": box.FARTHEST,
    "MOST_LOAD": compartments.MOST_LOAD,
    "MOST_STEPS": compartments.MOST_STEPS,
    "LAST_STEP": compartments.LAST_STEP,
    "LEAST_SLOPE": compartments.LEAST_SLOPE,
    "LEAST_FALL": compartments.LEAST_FALL,
    "LINE_STEPS": line.MOST_STEPS,
    "LINE_NEWTON_STEPS": line.NEWTON_STEPS,
    "LINE_LAST_STEP": line.LAST_STEP,
    "LINE_LAST_PRODUCT": line.LAST_PRODUCT,
    "TOLERANCE": knee.TOLERANCE,
}
#: Number of points that the template evaluates together.
LANES = 32
#: Lengths of a row of the template: a value behind its derivatives by the inputs. Units of networks
#: are filled up to whole rows.
_ROWS = (8, 16)
#: A section without sections within it.
_SECTION = re.compile(
    r"^ */\* if ([a-z ]+) \*/\n((?:(?! */\* if ).*\n)*?) */\* end \*/\n", re.MULTILINE
)
#: Upper bound of the stack of a call without the arrays that grow with the surrogate [bytes].
_FRAMES = 16000
#: Pairs of inputs for which the template keeps second derivatives.
_PAIRS = 28


#: Compilers in the order of preference.
COMPILERS = ("cc", "gcc", "clang")


def c_compiler() -> str | None:
    """Return the path of the system's C compiler, the first of `COMPILERS`, or None."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


class CFiles(NamedTuple):
    """Text of a header and of the source that includes it."""

    header: str
    source: str

    def write(self, folder: Path | str, name: str) -> tuple[Path, Path]:
        """Write ``<name>.h`` and ``<name>.c`` into a folder; return their paths.

        The source includes the header as ``<prefix>.h``.
        """
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


def features(regressors: Iterable[Regressor]) -> set[str]:
    """Return the features of the template that regressors need: "points", "networks", "splines"."""
    every = list(regressors)
    counts = {
        "points": [len(r.points) for r in every],
        "networks": [len(r.inner) for r in every],
        "splines": [r.pieces for r in every],
    }
    return {feature for feature, numbers in counts.items() if any(numbers)}


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


def row_of(regressors: Iterable[Regressor]) -> int:
    """Return the length of the template's rows for regressors."""
    most = max(r.inputs for r in regressors)
    return next(row for row in _ROWS if most < row)


def preamble(prefix: str, regressors: Sequence[Regressor], parameters: int = 0) -> str:
    """Return the beginning of a source: its includes, and the sizes of scratch arrays.

    With `parameters` of designs, the regressors of a compartment have 6 + P inputs.
    """
    own = {"INPUTS": 6 + parameters, "STEEP": 12 if parameters else 6}
    sizes = [f"    {prefix.upper()}_{k} = {n}" for k, n in (_sizes(regressors) | own).items()]
    lines = [f'#include "{prefix}.h"', "", "#include <math.h>", "", "enum {"]
    return "\n".join([*lines, ",\n".join(sizes), "};", ""])


def shared_constants(prefix: str) -> str:
    """Return the constants that the template shares with the compiled evaluation."""
    lines = [f"#define {prefix.upper()}_{name} {value!r}\n" for name, value in _SHARED.items()]
    return "".join(lines)


def _sizes(regressors: Sequence[Regressor]) -> dict[str, int]:
    row = row_of(regressors)
    sizes = {
        "OUTPUTS": max(r.outputs for r in regressors),
        "TERMS": max(len(r.exponents) for r in regressors),
        "DEGREES": max(int(r.exponents.max()) for r in regressors) + 1,
        "POINTS": max(-(-len(r.points) // LANES) * LANES for r in regressors),
        "NETS": max(len(r.inner) for r in regressors),
        "ROW": row,
        "UNITS": max(-(-r.inner.shape[2] // row) * row for r in regressors),
        "BENT": min(6, max(r.outputs for r in regressors)),
    }
    # An array of C has at least one element.
    return {name: max(size, 1) for name, size in sizes.items()}


def stack(regressors: Sequence[Regressor], used: Collection[str]) -> int:
    """Return an upper bound of the stack of a call of a knee [kB], with doubles of 8 bytes."""
    size = _sizes(regressors)
    row = size["ROW"]
    numbers = (3 * row - 2) * size["DEGREES"] + row * (size["OUTPUTS"] + size["TERMS"])
    if "networks" in used:
        numbers += (size["NETS"] + 3 * row + 6) * size["UNITS"]
    if "points" in used:
        numbers += size["POINTS"] + LANES * 8 * size["OUTPUTS"]
        numbers += LANES * _PAIRS * size["BENT"]
    if "splines" in used:
        numbers += 3 * size["OUTPUTS"] * (size["TERMS"] + row)
    # compilers keep the arrays of functions that one function calls side by side
    return -(-(_FRAMES + 2 * 8 * numbers) // 1000)


def code(prefix: str, parts: Iterable[str], used: Collection[str]) -> str:
    """Return parts of the template (`PARTS`) with the used features, under another prefix."""
    texts = [(_TEMPLATES / f"{part}.c").read_text(encoding="ascii") for part in parts]

    def chosen(section: re.Match[str]) -> str:
        return section[2] if set(section[1].split()) & set(used) else ""

    text, found = "\n".join(texts), 1
    while found:
        text, found = _SECTION.subn(chosen, text)
    upper = re.sub(r"\bSURROGATE(?=_)", prefix.upper(), text)
    return re.sub(r"\bsurrogate(?=_)", prefix, upper)


def parts_of(used: Collection[str], parts: Iterable[str] = PARTS) -> list[str]:
    """Return those of some parts of the template that a source with the used features needs."""
    return [part for part in parts if _ONLY_FOR.get(part, "") in {"", *used}]


def tables(
    prefix: str, name: str, regressor: Regressor, used: Collection[str], row: int = _ROWS[0]
) -> str:
    """Return the arrays of a regressor and the regressor ``<prefix>_<name>`` as C constants.

    `row` is the length of the rows of the whole source.
    """
    r, stem = regressor, f"{prefix}_{name}"
    n, (nets, _, h) = len(r.points), r.inner.shape
    texts: list[str] = []
    point_weights = slice(r.splines * len(r.exponents), r.splines * len(r.exponents) + n)
    weights = np.delete(r.weights, point_weights, axis=1)
    fields = [str(r.inputs), str(r.outputs), str(len(r.exponents)), str(weights.shape[1])]
    fields.append(number(r.wave))

    def put(counts: Iterable[int], arrays: dict[str, FloatArray | NDArray[np.int64]]) -> None:
        fields.extend(str(count) for count in counts)
        for key, values in arrays.items():
            fields.append(f"{stem}_{key}" if values.size else "0")
            texts.extend([array(f"{stem}_{key}", values)] if values.size else [])

    put((), {"x_offset": r.x_offset, "x_scale": r.x_scale, "y_offset": r.y_offset})
    put((), {"y_scale": r.y_scale, "factors": r.terms})
    put((), {"weights": weights})
    if "points" in used:
        places = r.points.copy()
        places[:, 0] += r.points @ r.shear
        put((-(-n // LANES),), {"places": _in_groups(places / r.lengths)})
        put((), {"point_weights": _in_groups(r.weights[:, point_weights].T)})
        put((), {"rates": 1.0 / r.lengths, "kinds": r.kinds, "shear": r.shear})
    if "networks" in used:
        put((nets, h, -(-h // row) * row), {"inner": _filled(r.inner, row)})
        put((), {"inner_bias": _filled(r.inner_bias, row), "hidden": _filled(r.hidden, row)})
        put((), {"hidden_bias": _filled(r.hidden_bias, row)})
    if "splines" in used:
        ends, powers = spline_pieces(r.knots)
        along = np.eye(r.inputs)[0] + r.shear
        put((r.pieces,), {"along": along, "knots": ends, "splines": powers})
    listed = ",\n    ".join(fields)
    return "\n".join([*texts, f"static const {prefix}_regressor {stem} = {{\n    {listed}\n}};\n"])


def _filled(weights: FloatArray, row: int) -> FloatArray:
    """Return weights (..., h), the last axis filled up to whole rows with zeros."""
    more = -weights.shape[-1] % row
    return np.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, more)])


def _in_groups(rows: FloatArray) -> FloatArray:
    """Return rows (n, m) of points as (groups, m, LANES), padded with zeros."""
    n, m = rows.shape
    filled = np.zeros((-(-n // LANES) * LANES, m))
    filled[:n] = rows
    return filled.reshape(-1, LANES, m).transpose(0, 2, 1)


def array(name: str, values: FloatArray | NDArray[np.int64]) -> str:
    """Return the C definition of an array (N, ...) [any unit] of double or int, N >= 1."""
    kind = "int" if values.dtype.kind == "i" else "double"
    listed = [str(int(v)) if kind == "int" else number(float(v)) for v in values.ravel()]
    rows = [", ".join(listed[i : i + 4]) for i in range(0, len(listed), 4)]
    body = ",\n    ".join(rows)
    return f"static const {kind} {name}[{len(listed)}] = {{\n    {body}\n}};\n"


def number(value: float) -> str:
    """Return the shortest C constant that equals a number exactly."""
    return repr(float(value))
