"""Samples of a contact model from a script, for `surrogates.fit`."""

from __future__ import annotations

import numpy as np

from foundation.surface_contact import SurfaceContact
from pipeline.originals.knee import evaluate_rows
from pipeline.stages.fitting import compartment_samples
from pipeline.store.samples import OK, candidate_table
from surrogates.formulations.training_data import Samples
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import SampleSpace


def sample(
    model: SurfaceContact, space: SampleSpace, points: int, *, seed: int = 0
) -> dict[str, Samples]:
    """Evaluate a contact model at the poses of a Latin hypercube that carry the drawn loads.

    Parameters
    ----------
    model : SurfaceContact
        Contact model.
    space : SampleSpace
        Box of the samples.
    points : int
        Number of points drawn for each compartment.
    seed : int
        Seed of the design.

    Returns
    -------
    dict
        Samples of each compartment by its name; points whose load no height carries are left out.

    Raises
    ------
    InputError
        If no point of a compartment carries its load.
    """
    samples = {}
    for place, name in enumerate(model.compartment_names):
        rng = np.random.default_rng((seed, place))
        poses, loads = space.draw(unit_design("lhs", points, 6, rng))
        rows = evaluate_rows(model, candidate_table(poses, loads, name), "load")
        samples[name] = compartment_samples(rows[rows["status"] == OK])
    return samples
