"""Knees of every formulation and family with random weights."""

from dataclasses import replace
from functools import cache

import made
import numpy as np

from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, condyle_poses
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Sizes of the outputs: ratios; area, pressures, centre of pressure.
_RATIOS = np.array([0.1, 0.1, 5e-3, 2e-3, 4e-3])
_QUANTITIES = np.array([1e-4, 6e6, 3e6, 2e-3, 1e-3, 2e-3])
HALF_HEIGHT, LARGEST = 3e-4, 1500.0
#: Families in turn; "beside" stands for networks beside splines.
FAMILY_PAIRS = (
    ("kriging", "network"),
    ("polynomial", "poly_fourier"),
    ("spline", "kriging"),
    ("beside", "polynomial"),
)


def random_regressor(family, inputs, size, offset, seed, steep=0.0):
    """Outputs of given sizes and means; the first falls by `steep` with the last input."""
    k = len(size)
    if family == "kriging":
        sheared = [[], [3], [3, inputs - 1]][seed % 3]
        kinds = [1, 0, 1, 0, 1, seed % 2][:inputs]
        found = made.kriging(21, inputs, k, kinds, sheared, seed=seed)
    elif family == "network":
        found = made.network(inputs, k, 11, nets=2, seed=seed)
    elif family == "beside":
        found = made.networks_beside_splines(inputs, k, 11, np.linspace(-1.3, 1.2, 8), seed=seed)
    elif family == "spline":
        found = made.splines(inputs, k, 3, np.linspace(-1.3, 1.2, 8), [3], seed=seed)
    else:
        wave = 1.3 if family == "poly_fourier" else 0.0
        found = made.polynomial(inputs, k, 3, wave, seed=seed)
    weights = found.weights / np.sqrt(found.weights.shape[1])
    slope = np.flatnonzero((found.exponents == np.eye(inputs)[-1]).all(axis=1))
    splines = len(found.exponents) * np.arange(found.splines)
    weights[0, splines[:, None] + slope] -= steep
    offset, size = np.asarray(offset, dtype=float), np.asarray(size, dtype=float)
    scaled = {"x_scale": np.ones(inputs), "y_offset": offset, "y_scale": size}
    found = replace(found, weights=weights, **scaled)
    mean = found.predict(np.random.default_rng(seed).uniform(-1.0, 1.0, (200, inputs))).mean(axis=0)
    return replace(found, y_offset=2.0 * offset - mean)


def groups(formulation):
    """Sizes, offsets and steepness of the groups of outputs that a formulation learns."""
    if formulation == "inverted":
        height = [0.1 * HALF_HEIGHT], [0.0], 10.0
        quantities = _QUANTITIES, 2.0 * _QUANTITIES, 0.0
        return [height, (_RATIOS, 0.5 * _RATIOS, 0.0), quantities]
    loads = np.array([200.0, LARGEST, 200.0, 20.0, 5.0, 20.0, 2e-4, 1e7, 6e6])
    loads = np.append(loads, _QUANTITIES[3:])
    return [(0.4 * loads, loads, 0.5)]


@cache
def compartment(formulation, family, seed=0):
    """A compartment with random regressors, of networks and splines one for all outputs."""
    rng = np.random.default_rng(seed)
    knots = np.linspace(-0.1, 1.1, 5)
    places = rng.normal(size=(5, 5)) * [0.01, 0.03, 2e-3, 1e-3, 1e-3]
    space = SampleSpace(
        ReferencePath.through(knots, places), [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, LARGEST]
    )
    learnt = groups(formulation)
    if family in ("network", "spline", "beside"):
        sizes, offsets = (np.concatenate([g[i] for g in learnt]) for i in (0, 1))
        learnt = [(sizes, offsets, learnt[0][2])]
    direct = formulation == "direct"
    centre = np.zeros(3) if direct else np.array([4e-3, -22e-3, 15e-3])
    points = condyle_poses(space.path.poses(knots), centre)[:, 1:]
    half = [0.6, 0.02, 0.1, 4e-3, 2e-3]
    coordinates = CondyleCoordinates(
        centre, ReferencePath.through(knots, points), [0.5, 0.0, 0.0, 0.0, 0.0], half, not direct
    )
    parts = [random_regressor(family, 6, *g[:2], seed + i, g[2]) for i, g in enumerate(learnt)]
    parts += [no_outputs(6)] * (3 - len(parts))
    return CompartmentSurrogate(
        formulation,
        space,
        coordinates,
        LARGEST,
        1.0 if direct else 2.0,
        np.array([0.0, HALF_HEIGHT]),
        tuple(parts),
    )


def knee_of(medial, lateral, header=None):
    return ContactSurrogate({"medial": medial, "lateral": lateral}, header or {})


def poses_about(surrogate, count=200, seed=0):
    """Poses (N, 6) in the box and around it, from out of contact to beyond the largest load.

    Every twelfth pose is up to a thousand times as far away.
    """
    rng = np.random.default_rng(seed)
    spread = np.where(np.arange(count) % 2, 0.9, 1.5)[:, None]
    unit = spread * rng.uniform(-1.0, 1.0, (count, 5))
    away = np.where(np.arange(count) % 12 == 5, 10.0 ** np.linspace(0.0, 3.0, count), 1.0)
    unit *= away[:, None]
    centre, half = surrogate.space.centre_and_half
    raw = centre[:5] + half[:5] * unit
    poses = surrogate.space.along_path(raw[:, 0])
    poses[:, 0] = raw[:, 0]
    poses[:, [1, 2, 3, 5]] += raw[:, 1:]
    poses[:, 4] = 0.0
    over = surrogate.coordinates.variables(surrogate.space.held(poses))[1]
    poses[:, 4] = HALF_HEIGHT * away * rng.uniform(-3.0, 2.4, count) - over
    return poses


def rising_again():
    """A height that rises before the largest load: its chord takes over from its tangent."""
    whole = compartment("inverted", "polynomial")
    first, *others = whole.regressors
    weights = first.weights.copy()
    weights[0, (first.exponents == 2 * np.eye(6, dtype=int)[-1]).all(axis=1)] += 4.5
    return replace(whole, regressors=(replace(first, weights=weights), *others))


def every_knee():
    """Both formulations by all families, and knees of two formulations, by prefix."""
    knees = {
        f"{formulation}_{'_'.join(pair)}": knee_of(
            *(compartment(formulation, family, seed) for seed, family in enumerate(pair, start=i))
        )
        for i, formulation in enumerate(FORMULATIONS, start=1)
        for pair in FAMILY_PAIRS
    }
    for family in ("kriging", "network"):
        knees[f"{family}_alone"] = knee_of(*(compartment(f, family) for f in FORMULATIONS))
    knees["rising_again"] = knee_of(rising_again(), compartment("direct", "polynomial"))
    return knees


def smoothed(knee, medial=0.005, lateral=0.05):
    """A knee with a smoothing width for each compartment, whatever its correlations."""
    widths = zip(knee.parts, (medial, lateral), strict=True)
    return knee.with_parts([replace(part, smoothing=width) for part, width in widths])


KNEES = every_knee()
KNEES |= {f"smooth_{prefix}": smoothed(knee) for prefix, knee in KNEES.items()}


def middle_of(knee):
    """A pose (1, 6) inside the domain of both compartments."""
    poses = poses_about(knee.parts[0], 2000)
    inside = (np.abs(knee.loads(poses).variables) < 1.0).all(axis=(1, 2))
    return poses[inside][:1].copy()
