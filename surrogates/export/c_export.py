"""Export to C: a self-contained header and source in C99 that need only the C library's math.

The source consists, in this order, of the `preamble`, the `code` of the required parts of the
template, the `tables` of every regressor (all in `surrogates.export.c_source`), and the exported
functions.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from surrogates.export.c_source import (
    REGRESSOR_PARTS,
    CFiles,
    array,
    check_prefix,
    code,
    features,
    header,
    number,
    parts_of,
    preamble,
    rendered,
    row_of,
    shared_constants,
    stack,
    tables,
)
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import PARTS as REGRESSORS
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.parametric.compartment import ParametricCompartment

#: Characters in a line of a comment.
_WIDTH = 95


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
        code(prefix, parts_of(used, REGRESSOR_PARTS), used),
        tables(prefix, "it", regressor, used, row_of([regressor])),
        body,
    ]
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


def export_knee(knee: ContactSurrogate, prefix: str = "knee", casadi: bool = False) -> CFiles:
    """Return C files of a knee: ``int <prefix>_loads(pose, loads, jacobian, variables)``.

    The function fills the arrays of `ContactSurrogate.evaluate_batch` for one pose, as the header
    explains. It returns 1 outside the trained domain, regardless of `knee.outside`. The header
    repeats the words of `verdict` in `knee.header`, if there are any.
    ``<prefix>_hessian(pose, hessian)`` fills `ContactSurrogate.hessian`.

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
        If the prefix is not a C identifier.
    """
    check_prefix(prefix)
    compartments = {stem(name): knee.compartment(name) for name in knee.compartments}
    regressors = [r for part in compartments.values() for r in regressors_of(part)]
    used = features(regressors) | {c.formulation for c in compartments.values()} | {"single"}
    source = [
        preamble(prefix, regressors),
        shared_constants(prefix),
        code(prefix, parts_of(used), used),
    ]
    for name, compartment in compartments.items():
        geometry = _geometry(f"{prefix}_{name}", compartment)
        source += compartment_tables(prefix, name, compartment, used, row_of(regressors), geometry)
    comment = rendered(
        "knee_comment.txt", made_of=made_of(knee.by_name, knee.header), prefix=prefix,
        stack=stack(regressors, used), parameters=(),
        smooth=all(c.smoothing > 0.0 for c in compartments.values()), casadi=casadi,
        others=() if knee.compartments == COMPARTMENTS else knee.compartments,
    ).rstrip()  # fmt: skip
    names = list(compartments)
    functions = [(comment, *_loads_function(prefix, names)), _hessian_function(prefix, names)]
    source += [f"{declaration}\n{body}" for _, declaration, body in functions]
    if casadi:
        count = len(compartments)
        source.append(rendered("casadi.c", prefix=prefix, count=count))
    return CFiles(header(prefix, [function[:2] for function in functions]), "\n".join(source))


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


def _hessian_function(prefix: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Return comment, declaration and body of ``<prefix>_hessian`` of compartments by name."""
    declaration = (
        f"void {prefix}_hessian(const double pose[6], double hessian[{len(names)}][6][6][6])"
    )
    calls = [
        f"    {prefix}_compartment_hessian(&{prefix}_{name}, pose, hessian[{i}]);"
        for i, name in enumerate(names)
    ]
    comment = rendered("hessian_comment.txt").rstrip()
    return comment, declaration, "\n".join(["{", *calls, "}", ""])


def stem(name: str) -> str:
    """Return the name of a compartment in C, which is no keyword and no name of the template."""
    return name if name in COMPARTMENTS else f"part_{name}"


def regressors_of(part: CompartmentSurrogate | ParametricCompartment) -> list[Regressor]:
    """Return the regressors of a compartment that have outputs."""
    return [r for r in (*part.regressors, part.domain.regressor) if r.outputs]


class Geometry(NamedTuple):
    """Paths and centre of a compartment in C: definitions, and the values of the fields.

    Attributes
    ----------
    definitions : list of str
        Arrays and regressors.
    box, path, condyle : str
        Path of the box, and path and centre of the condyle's point.
    centre, half : (6,) float64
        Of the box [rad, m, sqrt(N)].
    fall : list of str
        Fall of the height of a single knee.
    """

    definitions: list[str]
    box: str
    path: str
    condyle: str
    centre: FloatArray
    half: FloatArray
    fall: list[str]


def _geometry(stem: str, part: CompartmentSurrogate) -> Geometry:
    """Return the geometry of a single knee's compartment, whose names begin with `stem`."""
    definitions, paths = [], []
    for path, key in ((part.space.path, "box"), (part.coordinates.path, "path")):
        definitions.append(array(f"{stem}_{key}_flexion", path.flexion))
        definitions.append(array(f"{stem}_{key}_pieces", path.pieces))
        pieces = len(path.flexion) - 1
        paths.append(f"{{{pieces}, {stem}_{key}_flexion, {stem}_{key}_pieces}}")
    box, path_of_point = paths
    centre, half = part.space.centre_and_half
    condyle = vector(part.coordinates.centre)
    return Geometry(definitions, box, path_of_point, condyle, centre, half, [number(part.fall)])


def vector(values: FloatArray) -> str:
    """Return an array (n,) [any unit] as the value of a field."""
    return f"{{{', '.join(map(number, values))}}}"


def compartment_tables(
    prefix: str,
    name: str,
    part: CompartmentSurrogate | ParametricCompartment,
    used: Collection[str],
    row: int,
    geometry: Geometry,
) -> list[str]:
    """Return the tables of a compartment's regressors and geometry and, last, of the compartment.

    Parameters
    ----------
    prefix, name : str
        Beginning of all names, and the name of the compartment in C.
    part : CompartmentSurrogate or ParametricCompartment
        The compartment.
    used : collection of str
        Features of the template that the source needs.
    row : int
        Length of the rows of the source.
    geometry : Geometry
        Paths and centre.
    """
    own = f"{prefix}_{name}"
    texts, parts = [], []
    for key, regressor in zip(REGRESSORS, part.regressors, strict=True):
        if regressor.outputs:
            texts.append(tables(prefix, f"{name}_{key}", regressor, used, row))
            parts.append(f"&{own}_{key}")
    domain = "0"
    if part.domain.regressor.outputs:
        texts.append(tables(prefix, f"{name}_domain", part.domain.regressor, used, row))
        domain = f"&{own}_domain"
    coordinates = part.coordinates
    fields = [geometry.box, geometry.path, vector(geometry.centre), vector(geometry.half)]
    fields += [geometry.condyle, vector(coordinates.middle), vector(coordinates.half)]
    scalars = float(coordinates.about_point), part.largest, part.degree, *part.depth
    fields += [*map(number, (*scalars, part.smoothing)), *geometry.fall]
    fields.append(f"{{{', '.join(map(number, (*part.domain.limits, part.domain.lifted)))}}}")
    fields += [f"{{{', '.join([*parts, '0', '0'][:3])}}}", domain]
    fields.append(f"{prefix}_{part.formulation}")
    if "single" in used:
        fields.append(f"{prefix}_bend_{part.formulation}")
    listed = ",\n    ".join(fields)
    table = f"static const {prefix}_compartment {own} = {{\n    {listed}\n}};\n"
    return [*texts, *geometry.definitions, table]


def made_of(
    parts: Mapping[str, CompartmentSurrogate | ParametricCompartment], header: Mapping[str, Any]
) -> str:
    """Return formulations, families, checksum and verdict of a surrogate for the comment."""
    lines = []
    for name, part in parts.items():
        families = sorted({r.family for r in part.regressors if r.outputs})
        lines.append(f"{name}: {part.formulation}, {' and '.join(families)}")
    digest = str(header.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest):
        lines += ["SHA-256 in the header of the surrogate's file:", digest]
    if told := _verdict(header):
        lines += ["", *textwrap.wrap(told, _WIDTH)]
    return "\n".join(lines)


def verdict_of(knee: ContactSurrogate) -> str:
    """Return the words of `verdict` in the header of a surrogate as ASCII; "" without any."""
    return _verdict(knee.header)


def _verdict(header: Mapping[str, Any]) -> str:
    told = header.get("verdict", "")
    return comment_text(told) if isinstance(told, str) else ""


def comment_text(text: str) -> str:
    """Return a text as ASCII on one line that does not end a comment of C."""
    plain = text.encode("ascii", "replace").decode()
    return " ".join(plain.replace("*/", "* /").split())
