"""Stages a and b of Lin et al. (2010): which samples are drawn, and the first evaluations.

A *sample* is one pose of one compartment with the axial load it carries there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.schema import Config, DesignConfig, MotionConfig, ValidationConfig
from pipeline.errors import StageError
from pipeline.store.samples import POSE_COLUMNS, candidate_table
from surrogates.sampling.designs import first_subset, unit_design
from surrogates.sampling.space import OFFSET_COORDINATES, VARIABLES, ReferencePath, SampleSpace

#: Columns of a pose that a motion gives: flexion and the coordinates of the offsets.
_COLUMNS = np.array([0, *OFFSET_COORDINATES])


def motion_poses(motion: MotionConfig) -> FloatArray:
    """Return a motion (K, 5): flexion, adduction, rotation [rad], anterior, lateral [m]."""
    angles = np.radians([motion.flexion_deg, motion.adduction_deg, motion.rotation_deg])
    lengths = 1e-3 * np.array([motion.anterior_mm, motion.lateral_mm])
    return np.vstack([angles, lengths]).T


def dimensions(motion: MotionConfig | None) -> int:
    """Return the number of dimensions of the design that `draw` takes."""
    # The place along a motion stands for the flexion, which has a margin of its own besides.
    return 6 if motion is None else 7


def draw(
    space: SampleSpace, motion: MotionConfig | None, unit: FloatArray, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Map a design `unit` (N, 6) or (N, 7) [1] to poses (N, 6) [rad, m] and axial loads (N,) [N].

    Most lie near the motion, if any. The root of the load of degree `spread` is uniform.
    """
    if motion is None:
        return space.draw(unit, spread)
    poses, fraction = _inside(space, motion_poses(motion)), motion.part
    near = unit[:, 0] < fraction
    cube = unit[:, :6].copy()
    # The first dimension chooses between motion and box, and the place in either one.
    cube[~near, 0] = (cube[~near, 0] - fraction) / (1.0 - fraction) if fraction < 1.0 else 0.0
    samples, load = space.draw(cube, spread)
    place = unit[near, 0] / fraction * (len(poses) - 1)
    knots = np.arange(len(poses))
    along = np.column_stack([np.interp(place, knots, column) for column in poses.T])
    margin = np.array([*[np.radians(motion.margin_deg)] * 3, *[1e-3 * motion.margin_mm] * 2])
    along += margin * _triangular(unit[near][:, [6, 1, 2, 3, 4]])
    samples[np.ix_(near, _COLUMNS)] = along
    # The height of `held` is that of the path once more.
    samples[:, 4] = space.path.poses(samples[:, 0])[:, 4]
    return space.held(samples), load


def _triangular(unit: FloatArray) -> FloatArray:
    """Return numbers of a triangular distribution on [-1, 1] from even ones on [0, 1]."""
    # Evenly drawn offsets in five coordinates would nearly all be far from the motion.
    low = 2.0 * np.minimum(unit, 1.0 - unit)
    return np.sign(unit - 0.5) * (1.0 - np.sqrt(low))


def _inside(space: SampleSpace, poses: FloatArray) -> FloatArray:
    """Return the poses (K, 5) of a motion, each of which must lie in the box."""
    full = space.path.poses(poses[:, 0])
    full[:, OFFSET_COORDINATES] = poses[:, 1:]
    scaled, _ = space.scaled(full, np.zeros(len(full)))
    beyond = np.abs(scaled[:, :5]) > 1.0
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        raise InputError(
            f"space.motion: expected poses in the box of [space], found pose {row + 1} of "
            f"{len(poses)} with {VARIABLES[column]} at {abs(scaled[row, column]):.3g} times the "
            "half width from the path; widen the box, or move the path"
        )
    return poses


_HELD_OUT, _DOMAIN = 1, 4
#: The load's root of this degree is spread evenly over the samples of `domain_candidates`.
_DOMAIN_SPREAD = 2.0


#: Keys of the half widths in the order of the offsets; their units per radian or metre.
OFFSET_UNITS = {
    "adduction_deg": 180.0 / np.pi,
    "rotation_deg": 180.0 / np.pi,
    "anterior_mm": 1e3,
    "lateral_mm": 1e3,
}


def sample_space(config: Config, path: ReferencePath) -> SampleSpace:
    """Return the sample space of a study about its reference path."""
    space = config.space
    angles = np.radians([space.adduction_deg, space.rotation_deg])
    offsets = np.array([*angles, 1e-3 * space.anterior_mm, 1e-3 * space.lateral_mm])
    return SampleSpace(path, np.radians(space.flexion_deg), offsets, np.array(space.load_N))


def generators(
    entropy: int | Sequence[int], names: Sequence[str] = COMPARTMENTS
) -> Iterator[tuple[str, np.random.Generator]]:
    """Yield each compartment by name with a random generator of its own."""
    sequences = np.random.SeedSequence(entropy).spawn(len(names))
    for name, sequence in zip(names, sequences, strict=True):
        yield name, np.random.default_rng(sequence)


def choose_samples(
    space: SampleSpace,
    design: DesignConfig,
    seed: int,
    names: Sequence[str] = COMPARTMENTS,
    motion: MotionConfig | None = None,
) -> pd.DataFrame:
    """Stage a: draw m candidates per compartment and mark the n that are evaluated first.

    With a motion, most of them lie near the motion. Return a table with
    `pipeline.store.samples.CANDIDATE_COLUMNS` and `first` (bool).
    """
    parts = []
    for name, generator in generators(seed, names):
        unit = unit_design(design.kind, design.candidates, dimensions(motion), generator)
        first = np.zeros(len(unit), dtype=bool)
        first[first_subset(unit, design.first, kind=design.kind, rng=generator)] = True
        drawn = candidate_table(*draw(space, motion, unit, design.load_spread), name)
        parts.append(drawn.assign(first=first))
    return pd.concat(parts, ignore_index=True)


def held_out_samples(
    space: SampleSpace,
    validation: ValidationConfig,
    candidates: pd.DataFrame,
    names: Sequence[str] = COMPARTMENTS,
    motion: MotionConfig | None = None,
) -> pd.DataFrame:
    """Draw the held-out samples, which are no candidates, by a design and seed of their own."""
    parts = []
    # The entropy differs from the training design even if the seeds are equal.
    for name, generator in generators([validation.seed, _HELD_OUT], names):
        unit = unit_design(validation.kind, validation.points, dimensions(motion), generator)
        drawn = candidate_table(*draw(space, motion, unit, validation.load_spread), name)
        columns = [*POSE_COLUMNS, "load_N"]
        known = candidates.loc[candidates["compartment"] == name, columns]
        taken = set(map(tuple, known.to_numpy()))
        new = np.array([tuple(row) not in taken for row in drawn[columns].to_numpy()])
        if 2 * new.sum() < len(drawn):
            raise StageError(
                f"held-out samples: {len(drawn) - new.sum()} of {len(drawn)} {name} points are "
                "also candidates of the training design; choose another validation.kind"
            )
        parts.append(drawn[new])
    return pd.concat(parts, ignore_index=True)


def domain_candidates(
    space: SampleSpace, design: DesignConfig, seed: int, names: Sequence[str] = COMPARTMENTS
) -> pd.DataFrame:
    """Draw samples of the whole box by a Sobol sequence, even in the root of the load."""
    parts = []
    for name, generator in generators([seed, _DOMAIN], names):
        unit = unit_design("sobol", design.domain_samples, 6, generator)
        parts.append(candidate_table(*space.draw(unit, _DOMAIN_SPREAD), name))
    return pd.concat(parts, ignore_index=True)


def evaluate_first(
    candidates: pd.DataFrame, evaluate: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """Stage b: evaluate the original model at the first n candidates of each compartment.

    `evaluate` takes the rows of a table and returns the table with results added.
    """
    chosen = candidates[candidates["first"]].drop(columns="first")
    return evaluate(chosen.reset_index(drop=True))
