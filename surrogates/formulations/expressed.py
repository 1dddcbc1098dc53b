"""Numbers of a trained compartment from which CasADi's and JAX's expressions are built."""

from __future__ import annotations

from surrogates.expressions.data import (
    BoxData,
    CompartmentData,
    CondyleData,
    DomainData,
    PathData,
)
from surrogates.formulations.compartment import CompartmentSurrogate


def expression_data(part: CompartmentSurrogate) -> CompartmentData:
    """Return the numbers of a compartment's expressions."""
    knots, pieces, centre, half = part.space.arguments
    box = BoxData(PathData(knots, pieces), centre, half, float(part.space.load[1]))
    point, knots, pieces, middle, half, lever = part.coordinates.arguments
    condyle = CondyleData(point, PathData(knots, pieces), middle, half, lever)
    domain = DomainData(part.domain.limits, part.domain.lifted, part.domain.regressor)
    reference, *parts = part.regressors
    first, second, third = parts
    return CompartmentData(
        part.code, part.largest, part.degree, part.reference_root, part.depth,
        part.smoothing, part.fall, box, condyle, domain, reference, (first, second, third),
    )  # fmt: skip
