"""Stages a and b of Lin et al. (2010): which samples are drawn, and the first evaluations.

A *sample* is one pose of one compartment with the axial load it carries there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS
from pipeline.config.schema import Config, DesignConfig, ValidationConfig
from pipeline.errors import StageError
from pipeline.store.samples import CANDIDATE_COLUMNS, POSE_COLUMNS
from surrogates.sampling.designs import first_subset, unit_design
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Evaluates the original model at the rows of a table and returns it with results added.
Evaluate = Callable[[pd.DataFrame], pd.DataFrame]
_HELD_OUT, _DOMAIN = 1, 4
#: The load's root of this degree is spread evenly over the samples of `domain_candidates`.
_DOMAIN_SPREAD = 2.0


def sample_space(config: Config, path: ReferencePath) -> SampleSpace:
    """Return the sample space of a study about its reference path."""
    space = config.space
    offsets = np.array(
        [
            np.radians(space.adduction_deg),
            np.radians(space.rotation_deg),
            1e-3 * space.anterior_mm,
            1e-3 * space.lateral_mm,
        ]
    )
    return SampleSpace(path, np.radians(space.flexion_deg), offsets, np.array(space.load_N))


def choose_samples(space: SampleSpace, design: DesignConfig, seed: int) -> pd.DataFrame:
    """Stage a: draw m candidates per compartment and mark the n that are evaluated first.

    Returns a table with `pipeline.store.samples.CANDIDATE_COLUMNS` and `first` (bool).
    """
    parts = []
    for name, sequence in zip(COMPARTMENTS, np.random.SeedSequence(seed).spawn(2), strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design(design.kind, design.candidates, 6, generator)
        first = np.zeros(len(unit), dtype=bool)
        first[first_subset(unit, design.first, kind=design.kind, rng=generator)] = True
        drawn = _candidates(space, unit, name, design.load_spread)
        parts.append(drawn.assign(first=first))
    return pd.concat(parts, ignore_index=True)


def held_out_samples(
    space: SampleSpace, validation: ValidationConfig, candidates: pd.DataFrame
) -> pd.DataFrame:
    """Draw the held-out samples: a design of their own, with their own seed.

    Parameters
    ----------
    space : SampleSpace
        Where they are drawn.
    validation : ValidationConfig
        Design, number and seed.
    candidates : DataFrame
        The training design; a point of it is left out (two full factorials have points in common).

    Raises
    ------
    StageError
        If fewer than half of the points are no candidates.
    """
    parts = []
    # Of another entropy than the training design's even where the seeds are equal.
    sequences = np.random.SeedSequence([validation.seed, _HELD_OUT]).spawn(2)
    for name, sequence in zip(COMPARTMENTS, sequences, strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design(validation.kind, validation.points, 6, generator)
        drawn = _candidates(space, unit, name, validation.load_spread)
        columns = [*POSE_COLUMNS, "load_N"]
        known = candidates.loc[candidates["compartment"] == name, columns]
        taken = set(map(tuple, known.to_numpy()))
        new = np.array([tuple(row) not in taken for row in drawn[columns].to_numpy()])
        if 2 * new.sum() < len(drawn):
            raise StageError(
                f"held-out samples: {len(drawn) - new.sum()} of {len(drawn)} {name} points are "
                f"candidates of the training design; choose another validation.kind"
            )
        parts.append(drawn[new])
    return pd.concat(parts, ignore_index=True)


def domain_candidates(space: SampleSpace, design: DesignConfig, seed: int) -> pd.DataFrame:
    """Draw the samples of the whole box that tell where the surrogates hold.

    A Sobol sequence of their own seed, the root of the load evenly: some are near first contact.
    """
    parts = []
    sequences = np.random.SeedSequence([seed, _DOMAIN]).spawn(2)
    for name, sequence in zip(COMPARTMENTS, sequences, strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design("sobol", design.domain_samples, 6, generator)
        parts.append(_candidates(space, unit, name, _DOMAIN_SPREAD))
    return pd.concat(parts, ignore_index=True)


def _candidates(
    space: SampleSpace, unit: FloatArray, compartment: str, spread: float
) -> pd.DataFrame:
    poses, load = space.draw(unit, spread)
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=np.arange(len(unit)), load_N=load)
    return table[list(CANDIDATE_COLUMNS)]


def evaluate_first(candidates: pd.DataFrame, evaluate: Evaluate) -> pd.DataFrame:
    """Stage b: evaluate the original model at the first n candidates of each compartment."""
    chosen = candidates[candidates["first"]].drop(columns="first")
    return evaluate(chosen.reset_index(drop=True))
