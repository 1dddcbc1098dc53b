"""Fits of a compartment over pose and design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import Fitter, influences, outputs_of
from surrogates.formulations.domain import NO_LIMIT, Domain
from surrogates.formulations.lessons import FORMULATIONS, Lesson, Samples, middle_and_half
from surrogates.parametric.compartment import (
    ParametricCompartment,
    ParametricCoordinates,
    ParametricDomain,
    ParametricPath,
    ParametricSpace,
    with_parameters,
)
from surrogates.parametric.smooth_array import SmoothArray
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, closest_point


class DesignSamples(NamedTuple):
    """Samples of one compartment at one design of scaled parameters z (P,) [1]."""

    z: FloatArray
    samples: Samples


class ParametricTrained(NamedTuple):
    """A fitted compartment and the out-of-sample residuals of its outputs, by name."""

    surrogate: ParametricCompartment
    checks: dict[str, CrossCheck]


def fit_parametric(
    formulation: str,
    space: ParametricSpace,
    designs: Sequence[DesignSamples],
    fitter: Fitter,
    load_degree: float = 2.0,
) -> ParametricTrained:
    """Fit one of `FORMULATIONS` to the samples of one compartment over many designs.

    The family of the fitter has no correlations. `load_degree` is p, the power of the indentation
    with which the load grows ("inverted") [1]. Raises `InputError` if the formulation is unknown, p
    is below 1, there are no designs, or the fit is not possible.
    """
    check_in("formulation", formulation, FORMULATIONS)
    check_number("load_degree", load_degree, at_least=1.0)
    if not designs:
        raise InputError("designs: expected samples of at least one design, found none")
    kind = FORMULATIONS[formulation]
    z = check_array("z", [each.z for each in designs], (None, None))
    coordinates = fit_coordinates(space, designs, at_centre=kind.learns_heights)
    largest = float(space.load[1])
    own = [coordinates.at(each) for each in z]
    heights = [c.variables(d.samples.poses)[1] for c, d in zip(own, designs, strict=True)]
    depth = None if kind.learns_heights else middle_and_half(np.concatenate(heights))
    lessons = [
        kind.lesson(d.samples, largest, load_degree, c, depth)
        for c, d in zip(own, designs, strict=True)
    ]
    inputs = np.concatenate(
        [with_parameters(lesson.inputs, row) for lesson, row in zip(lessons, z, strict=True)]
    )
    weights = _weights(designs)
    checks, parts = {}, []
    for name, outputs in outputs_of(kind, _together(lessons), fitter.joint):
        fitted = fitter.fit(inputs, outputs, influences(fitter, outputs, weights))
        parts.append(fitted.regressor)
        checks[name] = fitted.check
    first, second, third = [*parts, *[no_outputs(inputs.shape[1])] * (3 - len(parts))]
    last = lessons[0]
    surrogate = ParametricCompartment(
        formulation, space, coordinates, last.largest, last.degree, last.depth,
        (first, second, third), whole_box(inputs.shape[1]),
    )  # fmt: skip
    return ParametricTrained(surrogate, checks)


def whole_box(inputs: int) -> ParametricDomain:
    """Return the domain that is the whole box at every design, of regressors of `inputs`."""
    domain = Domain.within(np.full(3, NO_LIMIT))
    none = no_outputs(inputs)
    return ParametricDomain(domain.limits, none, domain.inflation, none, domain.lifted)


def fit_coordinates(
    space: ParametricSpace, designs: Sequence[DesignSamples], *, at_centre: bool
) -> ParametricCoordinates:
    """Return the coordinates in which the samples of all designs fill a box.

    Counted at the condyle's own centre, or at the femoral origin and about the tibial origin.
    """
    z = np.array([each.z for each in designs])
    points = [_centre(each.samples, at_centre=at_centre) for each in designs]
    centre = SmoothArray.fit(z, np.array(points))
    of_designs = [
        CondyleCoordinates.about(centre.at(row), each.samples.poses, space.flexion, at_centre)
        for row, each in zip(z, designs, strict=True)
    ]
    path = ParametricPath.fit(z, [own.path for own in of_designs])
    raw = [
        replace(own, path=path.at(row)).offsets(each.samples.poses)
        for own, row, each in zip(of_designs, z, designs, strict=True)
    ]
    middle, half = CondyleCoordinates.scaling(np.concatenate(raw))
    return ParametricCoordinates(centre, path, middle, half, at_centre)


def _centre(samples: Samples, *, at_centre: bool) -> FloatArray:
    return closest_point(samples.poses, samples.loads) if at_centre else np.zeros(3)


def _together(lessons: Sequence[Lesson]) -> Lesson:
    """Return the lessons of all designs as one; its inputs lack the parameters."""
    groups = [
        np.concatenate(group) for group in zip(*(each.groups for each in lessons), strict=True)
    ]
    inputs = np.concatenate([each.inputs for each in lessons])
    return lessons[0]._replace(inputs=inputs, groups=groups)


def _weights(designs: Sequence[DesignSamples]) -> FloatArray | None:
    """Return the weights (N,) of the samples of all designs [1], None without weights."""
    found = [each.samples.weights for each in designs]
    known = [own for own in found if own is not None]
    return np.concatenate(known) if len(known) == len(found) else None
