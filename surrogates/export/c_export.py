"""Export to C: a self-contained header and source in C99 that need only the C library's math.

The source consists, in this order, of the `preamble`, the `code` of the required parts of the
template, the `tables` of every regressor (all in `surrogates.export.c_source`), and the exported
functions.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence

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
    shared_constants,
    stack,
    tables,
)
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import PARTS as REGRESSORS
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate

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
        tables(prefix, "it", regressor, used),
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
    compartments = {_stem(name): knee.compartment(name) for name in knee.compartments}
    regressors = [
        r for c in compartments.values() for r in (*c.regressors, c.domain.regressor) if r.outputs
    ]
    used = features(regressors) | {c.formulation for c in compartments.values()}
    source = [
        preamble(prefix, regressors),
        shared_constants(prefix),
        code(prefix, parts_of(used), used),
    ]
    for name, compartment in compartments.items():
        source += _compartment_tables(prefix, name, compartment, used)
    comment = rendered(
        "knee_comment.txt", made_of=_made_of(knee), stack=stack(regressors, used), prefix=prefix,
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


def _stem(name: str) -> str:
    """Return the name of a compartment in C, which is no keyword and no name of the template."""
    return name if name in COMPARTMENTS else f"part_{name}"


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
    fields += map(number, (*scalars, *surrogate.depth))
    fields += [number(surrogate.smoothing), number(surrogate.fall)]
    fields.append(f"{{{', '.join(map(number, surrogate.domain.bounds))}}}")
    fields += [f"{{{', '.join([*parts, '0', '0'][:3])}}}", domain]
    fields.append(f"{prefix}_{surrogate.formulation}")
    fields.append(f"{prefix}_bend_{surrogate.formulation}")
    listed = ",\n    ".join(fields)
    return [*texts, f"static const {prefix}_compartment {stem} = {{\n    {listed}\n}};\n"]


def _made_of(knee: ContactSurrogate) -> str:
    """Return formulations, families, checksum and verdict of a knee for the comment."""
    lines = []
    for name in knee.compartments:
        part = knee.compartment(name)
        families = sorted({r.family for r in part.regressors if r.outputs})
        lines.append(f"{name}: {part.formulation}, {' and '.join(families)}")
    digest = str(knee.header.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest):
        lines += ["SHA-256 in the header of the surrogate's file:", digest]
    if told := verdict_of(knee):
        lines += ["", *textwrap.wrap(told, _WIDTH)]
    return "\n".join(lines)


def verdict_of(knee: ContactSurrogate) -> str:
    """Return the words of `verdict` in the header of a surrogate as ASCII; "" without any."""
    told = knee.header.get("verdict", "")
    text = told.encode("ascii", "replace").decode() if isinstance(told, str) else ""
    return " ".join(text.replace("*/", "* /").split())
