"""Knees of every formulation and family with random weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import made
import numpy as np

from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import CompartmentSurrogate
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.registry import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, condyle_poses
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Sizes of the outputs: height or root; ratios; area, pressures, centre of pressure.
_RATIOS = np.array([0.1, 0.1, 5e-3, 2e-3, 4e-3])
_QUANTITIES = np.array([1e-4, 6e6, 3e6, 2e-3, 1e-3, 2e-3])
_HALF_HEIGHT, _LARGEST = 3e-4, 1500.0
FAMILY_PAIRS = (("kriging", "network"), ("polynomial", "poly_fourier"))


def random_regressor(family, inputs, size, offset, seed, steep=0.0):
    """Outputs of given sizes and means; the first falls by `steep` with the last input."""
    k = len(size)
    if family == "kriging":
        sheared = [[], [3], [3, inputs - 1]][seed % 3]
        kinds = [1, 0, 2, 0, 1, seed % 3][:inputs]
        found = made.kriging(21, inputs, k, kinds, sheared, seed=seed)
    elif family == "network":
        found = made.network(inputs, k, 11, nets=2, seed=seed)
    else:
        wave = 1.3 if family == "poly_fourier" else 0.0
        found = made.polynomial(inputs, k, 3, wave, seed=seed)
    weights = found.weights / np.sqrt(found.weights.shape[1])
    slope = np.flatnonzero((found.exponents == np.eye(inputs)[-1]).all(axis=1))
    weights[0, slope] -= steep
    offset, size = np.asarray(offset, dtype=float), np.asarray(size, dtype=float)
    scaled = {"x_scale": np.ones(inputs), "y_offset": offset, "y_scale": size}
    found = replace(found, weights=weights, **scaled)
    mean = found.predict(np.random.default_rng(seed).uniform(-1.0, 1.0, (200, inputs))).mean(axis=0)
    return replace(found, y_offset=2.0 * offset - mean)


def groups(formulation):
    """Sizes, offsets and steepness of the groups of outputs that a formulation learns."""
    beside = [(_RATIOS, 0.5 * _RATIOS, 0.0), (_QUANTITIES, 2.0 * _QUANTITIES, 0.0)]
    if formulation in ("inverted", "energy"):
        height = ([0.1 * _HALF_HEIGHT], [0.0], 10.0)
        return [height, *beside] if formulation == "inverted" else [height, beside[1]]
    if formulation == "root":
        return [([0.05], [0.5], 12.0), *beside]
    if formulation.endswith("stiffness"):
        return [([0.1], [0.1], 0.0), *beside]
    p = 0.5 if formulation == "power" else 1.0
    loads = np.array([200.0, _LARGEST, 200.0, 20.0, 5.0, 20.0, 2e-4, 1e7, 6e6]) ** p
    loads = np.append(loads, _QUANTITIES[3:])
    return [(0.4 * loads, loads, 0.5)]


@cache
def compartment(formulation, family, seed=0):
    """A compartment with random regressors, those of a network in one piece."""
    rng = np.random.default_rng(seed)
    knots = np.linspace(-0.1, 1.1, 5)
    places = rng.normal(size=(5, 5)) * [0.01, 0.03, 2e-3, 1e-3, 1e-3]
    space = SampleSpace(
        ReferencePath.through(knots, places), [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, _LARGEST]
    )
    learnt = groups(formulation)
    if family == "network":
        sizes, offsets = (np.concatenate([g[i] for g in learnt]) for i in (0, 1))
        learnt = [(sizes, offsets, learnt[0][2])]
    plain, stiff = formulation in ("power", "direct"), formulation.endswith("stiffness")
    centre = np.zeros(3) if plain else np.array([4e-3, -22e-3, 15e-3])
    points = condyle_poses(space.path.poses(knots), centre)[:, 1:]
    half = [0.6, 0.02, 0.1, 4e-3, 2e-3]
    coordinates = CondyleCoordinates(
        centre, ReferencePath.through(knots, points), [0.5, 0.0, 0.0, 0.0, 0.0], half, not plain
    )
    height = [_HALF_HEIGHT * 0.1], [0.0]
    parts = [random_regressor(family, 5, *height, seed) if stiff else no_outputs(5)]
    parts += [random_regressor(family, 6, *g[:2], seed + i, g[2]) for i, g in enumerate(learnt)]
    parts += [no_outputs(6)] * (4 - len(parts))
    degree = {"energy": 3.0, "direct": 1.0, "root": 2.2}.get(formulation, 2.0)
    return CompartmentSurrogate(
        formulation,
        space,
        coordinates,
        0.25 if formulation == "energy" else _LARGEST,
        degree,
        0.3 if formulation == "load_stiffness" else 0.0,
        np.array([_HALF_HEIGHT if stiff else 0.0, _HALF_HEIGHT]),
        tuple(parts),
    )


def poses_about(surrogate, count=200, seed=0):
    """Poses (N, 6) in the box and around it, from out of contact to beyond the largest load."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.arange(count) % 2, 0.9, 1.5)[:, None]
    unit = spread * rng.uniform(-1.0, 1.0, (count, 5))
    centre, half = surrogate.space.centre_and_half
    raw = centre[:5] + half[:5] * unit
    poses = surrogate.space.path.poses(raw[:, 0])
    poses[:, [1, 2, 3, 5]] += raw[:, 1:]
    poses[:, 4] = 0.0
    over = surrogate.coordinates.variables(surrogate.space.held(poses))[1]
    poses[:, 4] = _HALF_HEIGHT * rng.uniform(-3.0, 2.4, count) - over
    return poses


def rising_again():
    """A height that rises before the largest load: its chord takes over from its tangent."""
    whole = compartment("inverted", "polynomial")
    first = whole.regressors[1]
    weights = first.weights.copy()
    weights[0, (first.exponents == 2 * np.eye(6, dtype=int)[-1]).all(axis=1)] += 4.5
    parts = (whole.regressors[0], replace(first, weights=weights), *whole.regressors[2:])
    return replace(whole, regressors=parts)


def every_knee():
    """All formulations by all families, and knees of two formulations, by prefix."""
    knees = {
        f"{formulation}_{'_'.join(pair)}": KneeSurrogate(
            *(compartment(formulation, family, seed) for seed, family in enumerate(pair, start=i))
        )
        for i, formulation in enumerate(FORMULATIONS, start=1)
        for pair in FAMILY_PAIRS
    }
    for family in ("kriging", "network"):
        parts = [compartment(f, family) for f in ("energy", "touch_stiffness")]
        knees[f"{family}_alone"] = KneeSurrogate(*parts)
    knees["rising_again"] = KneeSurrogate(rising_again(), compartment("direct", "polynomial"))
    return knees


def smoothed(knee, medial=0.005, lateral=0.05):
    """A knee with a smoothing width for each compartment, whatever its correlations."""
    parts = replace(knee.medial, smoothing=medial), replace(knee.lateral, smoothing=lateral)
    return KneeSurrogate(*parts)


KNEES = every_knee()
KNEES |= {f"smooth_{prefix}": smoothed(knee) for prefix, knee in KNEES.items()}
#: Those with second derivatives.
TWICE = [
    prefix for prefix, knee in KNEES.items() if "energy" not in {p.formulation for p in knee.parts}
]


def middle_of(knee):
    """A pose (1, 6) inside the domain of both compartments."""
    poses = poses_about(knee.medial, 2000)
    inside = (np.abs(knee.evaluate_batch(poses)[2]) < 1.0).all(axis=(1, 2))
    return poses[inside][:1].copy()
