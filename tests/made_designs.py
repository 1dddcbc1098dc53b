"""Surrogates over designs with random weights."""

from dataclasses import replace
from functools import cache

import made
import numpy as np
from made_knees import compartment, groups, poses_about, random_regressor

from surrogates.families.regressor import no_outputs
from surrogates.families.smooth_array import SmoothArray
from surrogates.families.training import polynomial_exponents
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import Domain
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import ReferencePath

#: Changes of a path with the parameters [rad, m].
_CHANGES = np.array([1e-3, 3e-3, 2e-4, 3e-5, 1e-4])


def parameters(count=2):
    """Parameters with ranges of different sizes."""
    names = tuple(f"size_{k}_mm" for k in range(count))
    return Parameters(names, 20.0 - 3.0 * np.arange(count), 30.0 + np.arange(count))


def varied_path(path, count, rng):
    """A path whose splines change with the parameters."""
    exponents = polynomial_exponents(count, 2)
    places = _CHANGES * rng.normal(size=(len(exponents) - 1, len(path.flexion), 5))
    changes = [ReferencePath.through(path.flexion, own).pieces for own in places]
    smooth = SmoothArray(exponents, np.array([path.pieces, *changes]))
    return ReferencePath(path.flexion, smooth.middle, smooth)


def domain_of(inputs, seed=4):
    """A trained domain with limits and learnt criteria."""
    learnt = made.polynomial(inputs, 3, 2, seed=seed)
    size, offset = 0.25 * np.array([0.4, 0.4, 0.5]), np.array([0.0, 0.0, -0.7])
    learnt = replace(learnt, y_offset=offset, y_scale=size)
    errors = made.polynomial(inputs, 12, 1)
    return Domain(np.array([0.4, 0.4, 2e7]), learnt, np.ones(12), errors, 2e-4)


@cache
def over_designs(formulation, family, count=2, seed=0, with_domain=False):
    """A compartment of random regressors of 6 + P inputs about paths that change with them."""
    rng, inputs = np.random.default_rng(seed), 6 + count
    middle = compartment(formulation, "polynomial", seed)
    learnt = groups(formulation)
    if family != "polynomial":
        sizes, offsets = (np.concatenate([g[i] for g in learnt]) for i in (0, 1))
        learnt = [(sizes, offsets, learnt[0][2])]
    parts = [random_regressor(family, inputs, *g[:2], seed + i, g[2]) for i, g in enumerate(learnt)]
    if family in ("spline", "beside"):
        parts = [replace(r, shear=r.shear + 0.2 * np.eye(inputs)[5]) for r in parts]
    parts += [no_outputs(inputs)] * (3 - len(parts))
    own = middle.coordinates
    exponents = polynomial_exponents(count, 1)
    points = 5e-4 * rng.normal(size=(count, 3)) * own.about_point
    centre = SmoothArray(exponents, np.array([own.centre, *points]))
    path, space = varied_path(own.path, count, rng), middle.space
    return replace(
        middle,
        space=replace(space, path=varied_path(space.path, count, rng)),
        coordinates=replace(own, centre=centre.middle, path=path, of_design=centre),
        regressors=tuple(parts),
        domain=domain_of(inputs) if with_domain else Domain.whole_box(),
    )


def knee_over_designs(formulation, family, count=2, width=0.0, with_domain=False):
    """A knee of two made compartments over designs."""
    parts = {
        name: over_designs(formulation, family, count, seed, with_domain).smoothed(width)
        for seed, name in enumerate(("medial", "lateral"))
    }
    return ContactSurrogate(parts, {"name": "made"}, parameters=parameters(count))


def designs_of(knee, count=2, seed=0):
    """Designs (N, P) in the ranges."""
    return knee.parameters.from_unit(
        np.random.default_rng(seed).random((count, len(knee.parameters)))
    )


def poses_of_design(knee, design, count, seed=0):
    """Poses (N, 6) about the box of a design, from out of contact to beyond the largest load."""
    return poses_about(knee.at(design).parts[seed % 2], count, seed)


def fourth_order(function, x, steps):
    """Central differences of fourth order of a function of an array (d,), along the last axis."""
    columns = []
    for move in np.diag(steps):
        one = (function(x + move) - function(x - move)) / (2.0 * move.sum())
        two = (function(x + 2.0 * move) - function(x - 2.0 * move)) / (4.0 * move.sum())
        columns.append((4.0 * one - two) / 3.0)
    return np.stack(columns, axis=-1)


def off(found, wanted):
    """Largest difference of rows (N, C, ...) over the largest number of each column."""
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    largest = np.nanmax(np.abs(wanted), axis=(0, 1))
    return np.nanmax(np.abs(found - wanted) / np.where(largest > 0.0, largest, 1.0))
