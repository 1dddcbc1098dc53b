"""Export to C: a self-contained header and source in C99 that need only the C library's math.

The source consists, in this order, of the `preamble`, the `code` of the required parts of the
template (`surrogates/export/templates`), the `tables` of every regressor, and the exported
functions. In the template, every name begins with ``surrogate``, which the export replaces by its
prefix. Code for some surrogates only stands between ``/* if feature ... */`` and ``/* end */``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import PARTS as REGRESSORS
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.pair import PairSurrogate

_TEMPLATES = Path(__file__).with_name("templates")
#: Parts of the template, in the order of their dependencies.
PARTS = (
    "regressor", "line", "hessian", "condyle", "smoothing", "series", "compartment", "loads",
    "turned", "second", "energy",
)  # fmt: skip
#: Number of points that the template evaluates together.
LANES = 8
#: Features of the template that formulations need, by their code in the compiled evaluation.
FORMULATION_FEATURES = ("inverted", "energy", "root", "stiffness", "power")
_SECTION = re.compile(r"^ */\* if ([a-z ]+) \*/\n(.*?)^ */\* end \*/\n", re.MULTILINE | re.DOTALL)
#: Upper bound of the stack of a call without the arrays that grow with the surrogate [bytes].
_FRAMES = 6000


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


def export_regressor(regressor: Regressor, prefix: str) -> CFiles:
    """Return C files of one regressor: ``void <prefix>_evaluate(x, value, jacobian)``.

    `prefix` is the first part of every name in the header, and the name of the files. Raises
    `InputError` if it is not a C identifier or the regressor has no outputs.
    """
    check_prefix(prefix)
    if not regressor.outputs:
        raise InputError("regressor: expected at least one output, found none")
    d, k = regressor.inputs, regressor.outputs
    arguments = f"const double x[{d}], double value[{k}], double jacobian[{k * d}]"
    declaration = f"void {prefix}_evaluate({arguments})"
    comment = f"Fill the {k} outputs and their derivatives, {k} rows of {d}, at an input."
    body = f"""{declaration}
{{
    {prefix}_evaluate_regressor(&{prefix}_it, {k}, x, value, jacobian);
}}
"""
    used = features([regressor])
    source = [
        preamble(prefix, [regressor]),
        code(prefix, ["regressor"], used),
        tables(prefix, "it", regressor, used),
        body,
    ]
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


def export_knee(
    knee: KneeSurrogate | PairSurrogate, prefix: str = "knee", casadi: bool = False
) -> CFiles:
    """Return C files of a knee: ``int <prefix>_loads(pose, loads, jacobian, variables)``.

    The function fills the arrays of `KneeSurrogate.evaluate_batch` for one pose, as the header
    explains. It returns 1 outside the trained domain, regardless of `knee.outside`. Unless a
    formulation is "energy", ``<prefix>_hessian(pose, hessian)`` fills `KneeSurrogate.hessian`.

    Parameters
    ----------
    knee : KneeSurrogate or PairSurrogate
        The knee, or another contact pair, to export.
    prefix : str
        First part of every name in the header; also the name of the files.
    casadi : bool
        Whether to add ``<prefix>_wrench``, which `casadi.external` loads with its derivatives.

    Raises
    ------
    InputError
        If the prefix is not a C identifier.
    """
    check_prefix(prefix)
    compartments = {_stem(name): knee.compartment(name) for name in knee.compartments}
    regressors = [
        r for c in compartments.values() for r in (*c.regressors, c.domain.regressor) if r.outputs
    ]
    used = features(regressors) | {FORMULATION_FEATURES[c.code] for c in compartments.values()}
    if "energy" not in used:
        used.add("second")
    source = [preamble(prefix, regressors), code(prefix, _parts(used), used)]
    for name, compartment in compartments.items():
        source += _compartment_tables(prefix, name, compartment, used)
    functions = [_loads_function(prefix, list(compartments))]
    if "second" in used:
        functions.append(_hessian_function(prefix, list(compartments)))
    source += [f"{declaration}\n{body}" for declaration, body in functions]
    second = "second" in used
    if casadi:
        source.append(
            rendered("casadi.c", prefix=prefix, count=len(compartments), second=second)
        )  # fmt: skip
    comment = rendered(
        "knee_comment.txt", made_of=_made_of(knee), stack=_stack(regressors, used),
        smooth=all(c.smoothing > 0.0 for c in compartments.values()), second=second,
        casadi=casadi, prefix=prefix,
        others=() if knee.compartments == COMPARTMENTS else knee.compartments,
    ).rstrip()  # fmt: skip
    declarations = [declaration for declaration, _ in functions]
    comments = [comment, rendered("hessian_comment.txt").rstrip()]
    return CFiles(header(prefix, zip(comments, declarations)), "\n".join(source))


def _loads_function(prefix: str, names: Sequence[str]) -> tuple[str, str]:
    """Return declaration and body of ``<prefix>_loads`` of compartments by their names in C."""
    count = len(names)
    declaration = (
        f"int {prefix}_loads(const double pose[6], double loads[{count}][12],\n"
        f"{' ' * len(f'int {prefix}_loads(')}double jacobian[{count}][6][6], "
        f"double variables[{count}][6])"
    )
    lines = ["{"]
    for i, name in enumerate(names):
        filled = f"pose, loads[{i}], jacobian[{i}], variables[{i}]"
        lines.append(
            f"    const int {name} = {prefix}_compartment_loads(&{prefix}_{name}, {filled});"
        )
    return declaration, "\n".join([*lines, f"    return !({' && '.join(names)});", "}", ""])


def _hessian_function(prefix: str, names: Sequence[str]) -> tuple[str, str]:
    """Return declaration and body of ``<prefix>_hessian`` of compartments by their names in C."""
    declaration = (
        f"void {prefix}_hessian(const double pose[6], double hessian[{len(names)}][6][6][6])"
    )
    calls = [
        f"    {prefix}_compartment_hessian(&{prefix}_{name}, pose, hessian[{i}]);"
        for i, name in enumerate(names)
    ]
    return declaration, "\n".join(["{", *calls, "}", ""])


def _stem(name: str) -> str:
    """Return the name of a compartment in C, which is no keyword and no name of the template."""
    return name if name in COMPARTMENTS else f"part_{name}"


def check_prefix(prefix: str) -> None:
    """Raise an InputError unless the prefix can begin the names of a C library."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        raise InputError(
            f"prefix: expected letters, digits and underscores, a letter first, found {prefix!r}"
        )


def features(regressors: Iterable[Regressor]) -> set[str]:
    """Return the features of the template that regressors need: "points", "networks"."""
    every = list(regressors)
    points = {"points"} if any(len(r.points) for r in every) else set()
    return points | ({"networks"} if any(len(r.inner) for r in every) else set())


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


def preamble(prefix: str, regressors: Sequence[Regressor]) -> str:
    """Return the beginning of a source: its includes, and the sizes of scratch arrays."""
    sizes = [f"    {prefix.upper()}_{name} = {size}" for name, size in _sizes(regressors).items()]
    lines = [f'#include "{prefix}.h"', "", "#include <math.h>", "", "enum {"]
    return "\n".join([*lines, ",\n".join(sizes), "};", ""])


def _sizes(regressors: Sequence[Regressor]) -> dict[str, int]:
    sizes = {
        "OUTPUTS": max(r.outputs for r in regressors),
        "DEGREES": max(int(r.exponents.max()) for r in regressors) + 1,
        "POINTS": max(-(-len(r.points) // LANES) * LANES for r in regressors),
        "NETS": max(len(r.inner) for r in regressors),
        "UNITS": max(r.inner.shape[2] for r in regressors),
        "BENT": min(6, max(r.outputs for r in regressors)),
    }
    # An array of C has at least one element.
    return {name: max(size, 1) for name, size in sizes.items()}


def _stack(regressors: Sequence[Regressor], used: Collection[str]) -> int:
    """Return an upper bound of the stack of a call [kB], with doubles of 8 bytes."""
    size = _sizes(regressors)
    numbers = 22 * size["DEGREES"] + 8 * size["OUTPUTS"]
    if "networks" in used:
        numbers += (size["NETS"] + 11) * size["UNITS"]
    if "points" in used:
        numbers += size["POINTS"] + LANES * 8 * size["OUTPUTS"]
    return -(-(_FRAMES + 8 * numbers) // 1000)


def code(prefix: str, parts: Iterable[str], used: Collection[str]) -> str:
    """Return parts of the template (`PARTS`) with the used features, under another prefix."""
    texts = [(_TEMPLATES / f"{part}.c").read_text(encoding="ascii") for part in parts]

    def chosen(section: re.Match[str]) -> str:
        return section[2] if set(section[1].split()) & set(used) else ""

    text = _SECTION.sub(chosen, "\n".join(texts))
    upper = re.sub(r"\bSURROGATE(?=_)", prefix.upper(), text)
    return re.sub(r"\bsurrogate(?=_)", prefix, upper)


def _parts(used: Collection[str]) -> list[str]:
    needs = {
        "line": {"inverted", "energy"},
        "hessian": {"second", "energy"},
        "series": {"second"},
        "turned": {"second", "energy"},
        "second": {"second"},
        "energy": {"energy"},
    }
    return [part for part in PARTS if needs.get(part, set(used)) & set(used)]


def tables(prefix: str, name: str, regressor: Regressor, used: Collection[str]) -> str:
    """Return the arrays of a regressor and the regressor ``<prefix>_<name>`` as C constants."""
    r, stem = regressor, f"{prefix}_{name}"
    terms, n, (nets, _, h) = len(r.exponents), len(r.points), r.inner.shape
    texts: list[str] = []
    fields = [str(r.inputs), str(r.outputs), str(terms), number(r.wave)]

    def put(counts: Iterable[int], arrays: dict[str, FloatArray | NDArray[np.int64]]) -> None:
        fields.extend(str(count) for count in counts)
        for key, values in arrays.items():
            fields.append(f"{stem}_{key}" if values.size else "0")
            texts.extend([array(f"{stem}_{key}", values)] if values.size else [])

    put((), {"x_offset": r.x_offset, "x_scale": r.x_scale, "y_offset": r.y_offset})
    put((), {"y_scale": r.y_scale, "exponents": r.exponents})
    put((), {"weights": np.delete(r.weights, slice(terms, terms + n), axis=1).T})
    if "points" in used:
        places = r.points.copy()
        places[:, 0] += r.points @ r.shear
        put((-(-n // LANES),), {"places": _in_groups(places / r.lengths)})
        put((), {"point_weights": _in_groups(r.weights[:, terms : terms + n].T)})
        put((), {"rates": 1.0 / r.lengths, "kinds": r.kinds, "shear": r.shear})
    if "networks" in used:
        put((nets, h), {"inner": r.inner, "inner_bias": r.inner_bias})
        put((), {"hidden": r.hidden.transpose(0, 2, 1), "hidden_bias": r.hidden_bias})
    listed = ",\n    ".join(fields)
    return "\n".join([*texts, f"static const {prefix}_regressor {stem} = {{\n    {listed}\n}};\n"])


def _in_groups(rows: FloatArray) -> FloatArray:
    """Return rows (n, m) of points as (groups, m, LANES), padded with zeros."""
    n, m = rows.shape
    filled = np.zeros((-(-n // LANES) * LANES, m))
    filled[:n] = rows
    return filled.reshape(-1, LANES, m).transpose(0, 2, 1)


def _compartment_tables(
    prefix: str, name: str, surrogate: CompartmentSurrogate, used: Collection[str]
) -> list[str]:
    """Return the tables of a compartment's regressors and paths and, last, of the compartment."""
    stem, coordinates, space = f"{prefix}_{name}", surrogate.coordinates, surrogate.space
    texts, parts = [], []
    for part, regressor in zip(REGRESSORS, surrogate.regressors, strict=True):
        if regressor.outputs:
            texts.append(tables(prefix, f"{name}_{part}", regressor, used))
            parts.append(f"&{stem}_{part}")
    reference = parts.pop(0) if surrogate.regressors[0].outputs else "0"
    domain = "0"
    if surrogate.domain.regressor.outputs:
        texts.append(tables(prefix, f"{name}_domain", surrogate.domain.regressor, used))
        domain = f"&{stem}_domain"
    centre, half = space.centre_and_half
    fields = []
    for path, key in ((space.path, "box"), (coordinates.path, "path")):
        texts.append(array(f"{stem}_{key}_flexion", path.flexion))
        texts.append(array(f"{stem}_{key}_pieces", path.pieces))
        pieces = len(path.flexion) - 1
        fields.append(f"{{{pieces}, {stem}_{key}_flexion, {stem}_{key}_pieces}}")
    vectors = centre, half, coordinates.centre, coordinates.middle, coordinates.half
    fields += [f"{{{', '.join(map(number, values))}}}" for values in vectors]
    scalars = float(coordinates.about_point), surrogate.largest, surrogate.degree
    fields += map(number, (*scalars, surrogate.reference_root, *surrogate.depth))
    if "power" in used:
        fields.append(f"{{{', '.join(map(number, surrogate.power_widths))}}}")
    fields += [number(surrogate.smoothing), number(surrogate.fall)]
    fields.append(f"{{{', '.join(map(number, surrogate.domain.bounds))}}}")
    fields += [reference, f"{{{', '.join([*parts, '0', '0'][:3])}}}", domain]
    formulation = FORMULATION_FEATURES[surrogate.code]
    fields.append(f"{prefix}_{formulation}")
    if "second" in used:
        fields.append(f"{prefix}_bend_{formulation}")
    listed = ",\n    ".join(fields)
    return [*texts, f"static const {prefix}_compartment {stem} = {{\n    {listed}\n}};\n"]


def _made_of(knee: KneeSurrogate | PairSurrogate) -> str:
    """Return formulations, families and checksum of a knee for the comment."""
    lines = []
    for name in knee.compartments:
        part = knee.compartment(name)
        families = sorted({r.family for r in part.regressors if r.outputs})
        lines.append(f"{name}: {part.formulation}, {' and '.join(families)}")
    digest = str(knee.header.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest):
        lines += ["SHA-256 in the header of the surrogate's file:", digest]
    return "\n".join(lines)


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
