"""Stages a and b of Lin et al. (2010): which samples are drawn, and the first evaluations.

A *sample* is one pose of one compartment with the axial load it carries there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from foundation.base.loads import COMPARTMENTS
from pipeline.config.schema import Config, DesignConfig, MotionConfig, ValidationConfig
from pipeline.errors import StageError
from pipeline.originals.samples_near_motion import dimensions, draw
from pipeline.store.samples import POSE_COLUMNS, candidate_table
from surrogates.sampling.designs import first_subset, unit_design
from surrogates.sampling.space import ReferencePath, SampleSpace

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
    """Draw the held-out samples: a design of their own, with their own seed.

    With a motion, most of them lie near the motion. Points of `candidates`, the training design,
    are left out: two full factorials have common points. Raises `StageError` if more than half of
    the points are candidates.
    """
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
    """Draw samples of the whole box, which locate where the surrogates hold.

    A Sobol sequence with its own seed, even in the root of the load: some samples are near first
    contact.
    """
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
