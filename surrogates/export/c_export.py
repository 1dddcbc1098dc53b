"""Export to C: a self-contained header and source in C99 that need only the C library's math.

The source consists of the library's sources, the surrogate as constants, and the exported functions
(all in `surrogates.export.c_source`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.core.library import CORE
from surrogates.export.c_source import (
    CFiles,
    array,
    check_prefix,
    constants,
    header,
    library_source,
    number,
    rendered,
)
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Parameters

#: Characters in a line of a comment.
_WIDTH = 95
#: Upper bound of the stack of a call without its scratch memory [bytes].
_FRAMES = 8000


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
    double scratch[{CORE.regressor_scratch(regressor.packed.address, 1)}];
    fill_regressor(&{prefix}_it, 1, x, 1, value, jacobian, 0, scratch);
}}
"""
    own = constants(regressor.packed, f"{prefix}_it")
    source = [library_source(prefix), own, body]
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


def export_knee(knee: ContactSurrogate, prefix: str = "knee", casadi: bool = False) -> CFiles:
    """Return C files of a knee: ``int <prefix>_loads(pose, loads, jacobian, variables)``.

    The function fills the arrays of `ContactSurrogate.loads` for one pose, as the header
    explains. It returns 1 outside the trained domain, regardless of `knee.outside`. The header
    repeats the words of `verdict` in `knee.header`, if there are any.
    ``<prefix>_hessian(pose, hessian)`` fills `ContactLoads.hessian`.

    Over designs, ``int <prefix>_loads(pose, design, loads, jacobian, slopes, variables)`` alone
    fills the loads of a pose at a design, and the derivatives of all twelve loads by the pose and
    by the parameters. It also returns 1 for a design outside the ranges of the parameters.

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
        If the prefix is not a C identifier, or `casadi` is wanted over designs.
    """
    if casadi and knee.parameters:
        raise InputError("casadi: expected the surrogate of one design; call `at` with its values")
    n, p, indent = len(knee.by_name), len(knee.parameters), " " * len(f"int {prefix}_loads(")
    declarations = [
        f"int {prefix}_loads(const double pose[6], double loads[{n}][12],\n{indent}"
        f"double jacobian[{n}][6][6], double variables[{n}][6])",
        f"void {prefix}_hessian(const double pose[6], double hessian[{n}][6][6][6])",
    ]
    if p:
        declarations = [
            f"int {prefix}_loads(const double pose[6], const double design[{p}],\n{indent}"
            f"double loads[{n}][12], double jacobian[{n}][12][6],\n{indent}"
            f"double slopes[{n}][12][{p}], double variables[{n}][6])"
        ]
    found = _files(prefix, knee, declarations, casadi)
    if casadi:
        found = found._replace(source=found.source + rendered("casadi.c", prefix=prefix, count=n))
    return found


def _files(
    prefix: str, knee: ContactSurrogate, declarations: Sequence[str], casadi: bool
) -> CFiles:
    """Return C files of the compartments of a surrogate."""
    check_prefix(prefix)
    parts, parameters = knee.by_name, knee.parameters
    packed = {f"{prefix}_{_stem(name)}": part.packed for name, part in parts.items()}
    scratch = [_scratch(packed.values(), order) for order in (1, 2)[: len(declarations)]]
    comment = rendered(
        "knee_comment.txt", made_of=_made_of(parts, knee.header), prefix=prefix, casadi=casadi,
        stack=-(-(_FRAMES + 8 * max(scratch)) // 1000),
        parameters=_told(parameters),
        smooth=all(part.smoothing > 0.0 for part in parts.values()),
        others=() if tuple(parts) == COMPARTMENTS else tuple(parts),
    ).rstrip()  # fmt: skip
    comments = [comment, rendered("hessian_comment.txt").rstrip()]
    functions = rendered(
        "knee.c", prefix=prefix, count=len(parts), parts=[f"&{name}" for name in packed],
        declarations=declarations, scratch=scratch, parameters=len(parameters),
        ranges=_ranges(prefix, parameters) if parameters else "",
    )  # fmt: skip
    source = [library_source(prefix), *(constants(own, name) for name, own in packed.items())]
    head = header(prefix, list(zip(comments, declarations, strict=False)))
    return CFiles(head, "\n".join([*source, functions]))


def _scratch(parts: Any, order: int) -> int:
    return max(int(CORE.compartment_scratch(part.address, order)) for part in parts)


def _stem(name: str) -> str:
    """Return the name of a compartment in C."""
    return name if name in COMPARTMENTS else f"part_{name}"


def _ranges(prefix: str, parameters: Parameters) -> str:
    """Return middle, half range and least and largest accepted values of the parameters in C."""
    low, high = parameters.low, parameters.high
    least, largest = parameters.accepted
    values = {"middle": 0.5 * (low + high), "half": 0.5 * (high - low)}
    values |= {"least": least, "largest": largest}
    return "\n".join(array(f"{prefix}_{name}", own) for name, own in values.items())


def _told(parameters: Parameters) -> list[str]:
    """Return a line for each parameter, with its range."""
    rows = zip(parameters.names, parameters.low, parameters.high, strict=True)
    return [f"{comment_text(name)}: {number(low)} to {number(high)}" for name, low, high in rows]


def _made_of(parts: Mapping[str, CompartmentSurrogate], header: Mapping[str, Any]) -> str:
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
