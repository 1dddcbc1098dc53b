"""Fit of a surrogate to samples of any source.

A run (`pipeline`) does more: it chooses samples and family, and learns where loads can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.loads import AXIAL_FORCE, ContactLoads
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import Samples, samples_of
from surrogates.sampling.space import ReferencePath, SampleSpace


def space_of(samples: Mapping[str, Samples]) -> SampleSpace:
    """Return the least box around samples, about a path of constant coordinates [rad, m, N]."""
    poses = np.concatenate([sample_set.poses for sample_set in samples.values()])
    loads = np.concatenate([sample_set.loads[:, AXIAL_FORCE] for sample_set in samples.values()])
    low, high = poses.min(axis=0), poses.max(axis=0)
    path = ReferencePath.constant(float(low[0]), 0.5 * (low + high)[1:])
    offsets = 0.5 * (high - low)[[1, 2, 3, 5]]
    load = np.array([loads.min(), loads.max()])
    return SampleSpace(path, np.array([low[0], high[0]]), offsets, load)


def fit(
    samples: Mapping[str, Samples] | ArrayLike,
    loads: ContactLoads | None = None,
    *,
    space: SampleSpace | None = None,
    family: str = "kriging",
    formulation: str = "inverted",
    settings: Any = None,
    seed: int = 0,
) -> ContactSurrogate:
    """Fit a surrogate to the samples of each compartment.

    Parameters
    ----------
    samples : mapping, or (N, 6) array_like
        Samples of each compartment by its name, as of `pipeline.sample`, or poses of the femur
        [rad, m].
    loads : ContactLoads, optional
        Loads at the poses; a compartment leaves out the poses at which it is out of contact.
    space : SampleSpace, optional
        Box of the samples, beyond which loads are flagged; by default the least box around the
        samples.
    family : {"kriging", "polynomial", "poly_fourier", "network", "spline"}
        Regressor (`surrogates.families.registry.FAMILIES`).
    formulation : {"inverted", "direct"}
        What is learnt (docs/theory.md).
    settings : optional
        Settings of the family; by default the defaults of its class.
    seed : int
        Seed of what a fit draws.

    Raises
    ------
    InputError
        If a name is unknown, poses come without loads, or the samples do not allow a fit.
    """
    from surrogates.families.registry import FAMILIES, fit_family
    from surrogates.formulations.compartment_fit import Fitted, Fitter, fit_compartment

    def regress(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Fitted:
        return fit_family(family, x, y, settings, np.random.default_rng(seed), weights)

    data = samples_of(samples, loads)
    box = space or space_of(data)
    fitter = Fitter(regress, family in FAMILIES and FAMILIES[family].joint)
    parts = {
        name: fit_compartment(formulation, box, sample_set, fitter)
        for name, sample_set in data.items()
    }
    header = {"family": family, "formulation": formulation}
    return ContactSurrogate({name: trained.surrogate for name, trained in parts.items()}, header)
