"""Export of a surrogate over designs to C: the parameters of the design are arguments.

The source is of the template of `surrogates.export.c_export`, whose sections for designs have the
slopes by the parameters beside those by the pose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from surrogates.export.c_export import (
    Geometry,
    comment_text,
    compartment_tables,
    made_of,
    regressors_of,
    stem,
)
from surrogates.export.c_source import (
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
from surrogates.families.regressor import Regressor, linear_in
from surrogates.parametric.compartment import ParametricCompartment, ParametricPath
from surrogates.parametric.parameters import Parameters
from surrogates.parametric.surrogate import ParametricSurrogate


def export_designs(knee: ParametricSurrogate, prefix: str = "knee") -> CFiles:
    """Return C files of a surrogate over pose and design.

    ``int <prefix>_loads(pose, design, loads, jacobian, slopes, variables)`` fills the loads of a
    pose at a design, and the derivatives of all twelve loads of each compartment by the pose and by
    the parameters, as the header explains. It returns 1 outside the trained domain, and for a
    design outside the ranges of the parameters.

    Parameters
    ----------
    knee : ParametricSurrogate
        The surrogate to export.
    prefix : str
        First part of every name in the header; also the name of the files.

    Raises
    ------
    InputError
        If the prefix is not a C identifier.
    """
    check_prefix(prefix)
    parts = {stem(name): part for name, part in knee.by_name.items()}
    polynomials = {name: _Polynomials(part) for name, part in parts.items()}
    regressors = [r for part in parts.values() for r in regressors_of(part)]
    regressors += [r for own in polynomials.values() for r in own.all]
    used = features(regressors) | {part.formulation for part in parts.values()} | {"designs"}
    row = row_of(regressors)
    source = [
        preamble(prefix, regressors, len(knee.parameters)),
        shared_constants(prefix),
        *_ranges(prefix, knee.parameters),
        code(prefix, parts_of(used), used),
    ]
    for name, part in parts.items():
        geometry = polynomials[name].geometry(prefix, name, used, row)
        source += compartment_tables(prefix, name, part, used, row, geometry)
    comment = rendered(
        "knee_comment.txt", made_of=made_of(knee.by_name, knee.header), prefix=prefix,
        stack=stack(regressors, used), parameters=_told(knee.parameters),
        smooth=all(part.smoothing > 0.0 for part in parts.values()), casadi=False,
        others=() if knee.compartments == COMPARTMENTS else knee.compartments,
    ).rstrip()  # fmt: skip
    declaration, body = _loads_function(prefix, list(parts), len(knee.parameters))
    source.append(f"{declaration}\n{body}")
    return CFiles(header(prefix, [(comment, declaration)]), "\n".join(source))


class _Polynomials:
    """Paths and centre of a compartment as polynomials of the scaled parameters."""

    def __init__(self, part: ParametricCompartment) -> None:
        self.part = part
        self.box = _pieces(part.space.path)
        self.path = _pieces(part.coordinates.path)
        centre = part.coordinates.centre
        self.condyle = _polynomial(centre.exponents, centre.coefficients.T)

    @property
    def all(self) -> list[Regressor]:
        """All polynomials."""
        return [*self.box, *self.path, self.condyle]

    def geometry(self, prefix: str, name: str, used: set[str], row: int) -> Geometry:
        """Return the geometry of the compartment in C."""
        own = f"{prefix}_{name}"
        definitions, paths = [], []
        every = {"box": (self.part.space.path, self.box),
                 "path": (self.part.coordinates.path, self.path)}  # fmt: skip
        for key, (path, pieces) in every.items():
            names = [f"{name}_{key}_{piece}" for piece in range(len(pieces))]
            for piece, polynomial in zip(names, pieces, strict=True):
                definitions.append(tables(prefix, piece, polynomial, used, row))
            listed = ", ".join(f"&{prefix}_{piece}" for piece in names)
            pointers = f"static const {prefix}_regressor *const {own}_{key}_pieces[{len(names)}]"
            definitions.append(f"{pointers} = {{\n    {listed}\n}};\n")
            definitions.append(array(f"{own}_{key}_flexion", path.flexion))
            paths.append(f"{{{len(names)}, {own}_{key}_flexion, {own}_{key}_pieces}}")
        definitions.append(tables(prefix, f"{name}_centre", self.condyle, used, row))
        box, path_of_point = paths
        centre, half = self.part.space.at(np.zeros(self.part.parameters)).centre_and_half
        return Geometry(definitions, box, path_of_point, f"&{own}_centre", centre, half, [])


def _pieces(path: ParametricPath) -> list[Regressor]:
    """Return each piece of a path as a polynomial whose outputs are four powers by coordinates."""
    exponents, own = path.pieces.exponents, path.pieces.coefficients  # (T, 4, K - 1, 5)
    return [
        _polynomial(exponents, own[:, :, k].reshape(len(own), -1).T) for k in range(own.shape[2])
    ]


def _polynomial(exponents: NDArray[np.int64], weights: FloatArray) -> Regressor:
    """Return the polynomial of scaled parameters of degrees (T, P) and weights (k, T)."""
    inputs, outputs = exponents.shape[1], len(weights)
    scalings = np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs)
    return linear_in("polynomial", scalings, exponents, weights)


def _ranges(prefix: str, parameters: Parameters) -> list[str]:
    """Return middle, half range and least and largest accepted values of the parameters in C."""
    low, high = parameters.low, parameters.high
    least, largest = parameters.accepted
    values = {"middle": 0.5 * (low + high), "half": 0.5 * (high - low)}
    values |= {"least": least, "largest": largest}
    return [array(f"{prefix}_{name}", own) for name, own in values.items()]


def _told(parameters: Parameters) -> list[str]:
    """Return a line for each parameter, with its range."""
    rows = zip(parameters.names, parameters.low, parameters.high, strict=True)
    return [f"{comment_text(name)}: {number(low)} to {number(high)}" for name, low, high in rows]


def _loads_function(prefix: str, names: Sequence[str], parameters: int) -> tuple[str, str]:
    """Return declaration and body of ``<prefix>_loads`` of compartments by their names in C."""
    count, upper = len(names), prefix.upper()
    indent = " " * len(f"int {prefix}_loads(")
    declaration = (
        f"int {prefix}_loads(const double pose[6], const double design[{parameters}],\n"
        f"{indent}double loads[{count}][12], double jacobian[{count}][12][6],\n"
        f"{indent}double slopes[{count}][12][{parameters}], double variables[{count}][6])"
    )
    lines = [
        "{", f"    double at[{upper}_INPUTS];",
        f"    const int known = {prefix}_fill_coordinates(pose, design, at);",
    ]  # fmt: skip
    for i, name in enumerate(names):
        filled = f"at, loads[{i}], jacobian[{i}], slopes[{i}], variables[{i}]"
        lines.append(f"    const int {name} = {prefix}_design_loads(&{prefix}_{name}, {filled});")
    return declaration, "\n".join(
        [*lines, f"    return !(known && {' && '.join(names)});", "}", ""]
    )
