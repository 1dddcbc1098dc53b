"""Export to C: one self-contained header and source in C99 that need the C library's math alone.

The source is made of parts, in this order: `preamble`, `code` of the parts of the template that are
wanted (`surrogates/export/templates`), the `tables` of every regressor, and what the export adds.
In the template, every name begins with ``surrogate``; the export's own prefix takes its place.
What only some surrogates need stands there between ``/* if feature ... */`` and ``/* end */``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import PARTS as REGRESSORS
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.knee import KneeSurrogate
from surrogates.sampling.space import ReferencePath

_TEMPLATES = Path(__file__).with_name("templates")
#: Parts of the template, in an order in which they can follow one another.
PARTS = ("regressor", "line", "hessian", "condyle", "compartment", "loads", "energy")
#: Points that the template takes at a time.
LANES = 8
#: Features of the template that formulations need, by their code in the compiled evaluation.
FORMULATION_FEATURES = ("inverted", "energy", "root", "stiffness", "power")
_SECTION = re.compile(r"^ */\* if ([a-z ]+) \*/\n(.*?)^ */\* end \*/\n", re.MULTILINE | re.DOTALL)
#: Upper bound of what a call keeps on the stack beside what grows with the surrogate [bytes].
_FRAMES = 6000

_KNEE_COMMENT = """Contact loads of a knee at a pose of the femur.

{made_of}

Frame: tibial, of a right knee: x anterior, y superior, z lateral. Units: SI.

pose       flexion, adduction, internal rotation [rad] (Grood and Suntay); position of the
           femoral origin in the tibial frame: anterior, superior, lateral [m].
loads      Filled, a row for the medial and one for the lateral compartment: force on the
           femur x, y, z [N]; moment about the tibial origin x, y, z [N m]; contact area [m2];
           peak and mean pressure [Pa]; centre of pressure x, y, z [m]. Out of contact all are
           zero, and the centre of pressure is NaN.
jacobian   Filled with the derivatives of each compartment's force and moment (rows) by the
           coordinates of the pose (columns).
variables  Filled, for each compartment, with flexion, the offsets of adduction, rotation,
           anterior and lateral from a path over flexion, and the root of the axial load,
           scaled: from -1 to 1 in the box that the samples were drawn in.

Returns 0 inside the trained domain and 1 outside: beyond the box, where the pose is held at the
border, its height over the path kept, and a load beyond the largest one is extrapolated; and where
the samples of the box did not teach the loads, which then are not to be trusted. A pose
that is not finite gives 1, and loads without meaning.

Threads may call it at the same time: there is no state but constants, and nothing is allocated.
A call needs less than {stack} kB of stack. Compile without options that leave NaN out of account
(-ffast-math)."""


class CFiles(NamedTuple):
    """Text of a header and of the source that includes it."""

    header: str
    source: str

    def write(self, folder: Path | str, name: str) -> tuple[Path, Path]:
        """Write ``<name>.h`` and ``<name>.c`` into a folder; return their paths.

        The source includes the header under the name it was made for, its prefix.
        """
        paths = Path(folder) / f"{name}.h", Path(folder) / f"{name}.c"
        for path, text in zip(paths, self, strict=True):
            path.write_text(text, encoding="ascii", newline="\n")
        return paths


def export_regressor(regressor: Regressor, prefix: str) -> CFiles:
    """Return C files of one regressor: ``void <prefix>_evaluate(x, value, jacobian)``.

    Parameters
    ----------
    regressor : Regressor
    prefix : str
        What every name in the header begins with; also the name of the files.

    Raises
    ------
    InputError
        If the prefix is no C identifier or the regressor has no outputs.
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
    wanted = features([regressor])
    source = [
        preamble(prefix, [regressor]),
        code(prefix, ["regressor"], wanted),
        tables(prefix, "it", regressor, wanted),
        body,
    ]
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


def export_knee(knee: KneeSurrogate, prefix: str = "knee") -> CFiles:
    """Return C files of a knee: ``int <prefix>_loads(pose, loads, jacobian, variables)``.

    The header tells what the function fills: what `KneeSurrogate.evaluate_batch` returns for one
    pose. It returns 1 outside the trained domain, whatever `knee.outside` says.

    Parameters
    ----------
    knee : KneeSurrogate
    prefix : str
        What every name in the header begins with; also the name of the files.

    Raises
    ------
    InputError
        If the prefix is no C identifier.
    """
    check_prefix(prefix)
    compartments = {name: knee.compartment(name) for name in COMPARTMENTS}
    regressors = [
        r for c in compartments.values() for r in (*c.regressors, c.domain.regressor) if r.outputs
    ]
    wanted = features(regressors) | {
        FORMULATION_FEATURES[c.code] for c in compartments.values()
    }  # fmt: skip
    source = [preamble(prefix, regressors), code(prefix, _parts(wanted), wanted)]
    for name, compartment in compartments.items():
        source += _compartment_tables(prefix, name, compartment, wanted)
    declaration = (
        f"int {prefix}_loads(const double pose[6], double loads[2][12],\n"
        f"{' ' * len(f'int {prefix}_loads(')}double jacobian[2][6][6], double variables[2][6])"
    )
    lines = [declaration, "{"]
    for i, name in enumerate(COMPARTMENTS):
        filled = f"pose, loads[{i}], jacobian[{i}], variables[{i}]"
        lines.append(
            f"    const int {name} = {prefix}_compartment_loads(&{prefix}_{name}, {filled});"
        )
    source.append("\n".join([*lines, "    return !(medial && lateral);", "}", ""]))
    comment = _KNEE_COMMENT.format(made_of=_made_of(knee), stack=_stack(regressors, wanted))
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


def check_prefix(prefix: str) -> None:
    """Raise an InputError unless the prefix can begin the names of a C library."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        raise InputError(f"prefix: expected letters, digits and _, found {prefix!r}")


def features(regressors: Iterable[Regressor]) -> set[str]:
    """Return which features of the template some regressors need: "points", "networks"."""
    found = set()
    for regressor in regressors:
        if len(regressor.points):
            found.add("points")
        if len(regressor.inner):
            found.add("networks")
    return found


def header(prefix: str, functions: Iterable[tuple[str, str]]) -> str:
    """Return the text of a header of functions, each a comment and a declaration."""
    guard = f"{prefix.upper()}_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {']
    lines += ["#endif", ""]
    for comment, declaration in functions:
        indented = re.sub(r"\n(?!\n)", "\n   ", comment)
        lines += [f"/* {indented} */", f"{declaration};", ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def preamble(prefix: str, regressors: Sequence[Regressor]) -> str:
    """Return the beginning of a source: what it includes, and the sizes of scratch arrays."""
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
    }
    # An array of C has at least one element.
    return {name: max(size, 1) for name, size in sizes.items()}


def _stack(regressors: Sequence[Regressor], wanted: Collection[str]) -> int:
    """Return a bound of what a call keeps on the stack [kB], a double being 8 bytes."""
    size = _sizes(regressors)
    numbers = 22 * size["DEGREES"] + 8 * size["OUTPUTS"]
    if "networks" in wanted:
        numbers += (size["NETS"] + 11) * size["UNITS"]
    if "points" in wanted:
        numbers += size["POINTS"] + LANES * 8 * size["OUTPUTS"]
    return -(-(_FRAMES + 8 * numbers) // 1000)


def code(prefix: str, parts: Iterable[str], wanted: Collection[str]) -> str:
    """Return parts of the template, see `PARTS`, with the wanted features, under another prefix."""
    texts = [(_TEMPLATES / f"{part}.c").read_text(encoding="ascii") for part in parts]

    def chosen(section: re.Match[str]) -> str:
        return section[2] if set(section[1].split()) & set(wanted) else ""

    text = _SECTION.sub(chosen, "\n".join(texts))
    upper = re.sub(r"\bSURROGATE(?=_)", prefix.upper(), text)
    return re.sub(r"\bsurrogate(?=_)", prefix, upper)


def _parts(wanted: Collection[str]) -> list[str]:
    needs = {"line": {"inverted", "energy"}, "hessian": {"energy"}, "energy": {"energy"}}
    return [part for part in PARTS if needs.get(part, set(wanted)) & set(wanted)]


def tables(prefix: str, name: str, regressor: Regressor, wanted: Collection[str]) -> str:
    """Return the arrays of a regressor and, as ``<prefix>_<name>``, itself."""
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
    if "points" in wanted:
        places = r.points.copy()
        places[:, 0] += r.points @ r.shear
        put((-(-n // LANES),), {"places": _in_groups(places / r.lengths)})
        put((), {"point_weights": _in_groups(r.weights[:, terms : terms + n].T)})
        put((), {"rates": 1.0 / r.lengths, "kinds": r.kinds, "shear": r.shear})
    if "networks" in wanted:
        put((nets, h), {"inner": r.inner, "inner_bias": r.inner_bias})
        put((), {"hidden": r.hidden.transpose(0, 2, 1), "hidden_bias": r.hidden_bias})
    listed = ",\n    ".join(fields)
    return "\n".join([*texts, f"static const {prefix}_regressor {stem} = {{\n    {listed}\n}};\n"])


def _in_groups(rows: FloatArray) -> FloatArray:
    """Return rows (n, m) of points as (groups, m, LANES), filled up with zeros."""
    n, m = rows.shape
    filled = np.zeros((-(-n // LANES) * LANES, m))
    filled[:n] = rows
    return filled.reshape(-1, LANES, m).transpose(0, 2, 1)


def _compartment_tables(
    prefix: str, name: str, surrogate: CompartmentSurrogate, wanted: Collection[str]
) -> list[str]:
    """Return the tables of a compartment's regressors and paths and, last, of itself."""
    stem, coordinates, space = f"{prefix}_{name}", surrogate.coordinates, surrogate.space
    texts, parts = [], []
    for part, regressor in zip(REGRESSORS, surrogate.regressors, strict=True):
        if regressor.outputs:
            texts.append(tables(prefix, f"{name}_{part}", regressor, wanted))
            parts.append(f"&{stem}_{part}")
    reference = parts.pop(0) if surrogate.regressors[0].outputs else "0"
    domain = "0"
    if surrogate.domain.regressor.outputs:
        texts.append(tables(prefix, f"{name}_domain", surrogate.domain.regressor, wanted))
        domain = f"&{stem}_domain"
    centre, half = space.centre_and_half
    fields = []
    for path, key in ((space.path, "box"), (coordinates.path, "path")):
        texts += _path_arrays(f"{stem}_{key}", path)
        pieces = len(path.flexion) - 1
        fields.append(f"{{{pieces}, {stem}_{key}_flexion, {stem}_{key}_pieces}}")
    vectors = centre, half, coordinates.centre, coordinates.middle, coordinates.half
    fields += [f"{{{', '.join(map(number, values))}}}" for values in vectors]
    scalars = float(coordinates.about_point), surrogate.largest, surrogate.degree
    fields += map(number, (*scalars, surrogate.reference_root, *surrogate.depth))
    fields.append(f"{{{', '.join(map(number, surrogate.domain.bounds))}}}")
    fields += [reference, f"{{{', '.join([*parts, '0', '0'][:3])}}}", domain]
    fields.append(f"{prefix}_{FORMULATION_FEATURES[surrogate.code]}")
    listed = ",\n    ".join(fields)
    return [*texts, f"static const {prefix}_compartment {stem} = {{\n    {listed}\n}};\n"]


def _path_arrays(stem: str, path: ReferencePath) -> list[str]:
    return [array(f"{stem}_flexion", path.flexion), array(f"{stem}_pieces", path.pieces)]


def _made_of(knee: KneeSurrogate) -> str:
    """Return what the comment tells of where the numbers come from."""
    lines = []
    for name in COMPARTMENTS:
        part = knee.compartment(name)
        families = sorted({r.family for r in part.regressors if r.outputs})
        lines.append(f"{name}: {part.formulation}, {' and '.join(families)}")
    digest = str(knee.header.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest):
        lines += ["SHA-256 in the header of the surrogate's file:", digest]
    return "\n".join(lines)


def array(name: str, values: FloatArray | NDArray[np.int64]) -> str:
    """Return the definition of an array of double or int, which has an element."""
    kind = "int" if values.dtype.kind == "i" else "double"
    listed = [str(int(v)) if kind == "int" else number(float(v)) for v in values.ravel()]
    rows = [", ".join(listed[i : i + 4]) for i in range(0, len(listed), 4)]
    body = ",\n    ".join(rows)
    return f"static const {kind} {name}[{len(listed)}] = {{\n    {body}\n}};\n"


def number(value: float) -> str:
    """Return the shortest C constant that is exactly this number."""
    return repr(float(value))
