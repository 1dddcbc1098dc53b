"""Fit of the trained domain over designs, from samples of designs that no surrogate has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array
from foundation.base.loads import CompartmentLoads
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.domain_fit import DomainSamples, fit_domain
from surrogates.parametric.compartment import (
    ParametricCompartment,
    ParametricDomain,
    with_parameters,
)


@dataclass(frozen=True, eq=False)
class OverDesigns:
    """A compartment's surrogate at rows of poses, each of a design of its own.

    `z` (N, P) [1] has the scaled parameters of the design of each row.
    """

    part: ParametricCompartment
    z: FloatArray

    @property
    def learns_heights(self) -> bool:
        """Whether heights over the load are learnt."""
        return self._designs[0][1].learns_heights

    @property
    def largest_load(self) -> float:
        """Largest axial load of the samples [N]."""
        return float(self.part.space.load[1])

    @cached_property
    def _designs(self) -> list[tuple[NDArray[np.int64], CompartmentSurrogate]]:
        """Rows (n,) of each design, and its surrogate."""
        unique, place = np.unique(self.z, axis=0, return_inverse=True)
        rows = place.ravel()
        return [(np.flatnonzero(rows == k), self.part.at(each)) for k, each in enumerate(unique)]

    def loads(self, poses: ArrayLike, order: int = 0) -> CompartmentLoads:
        """Return the loads at poses (N, 6) [rad, m], with their variables."""
        n = len(self.z)
        points = check_array("poses", poses, (n, 6))
        values, variables = np.empty((n, 12)), np.empty((n, 7))
        slopes = tuple(np.empty((n, *[6] * each)) for each in range(2, order + 2))
        for rows, own in self._designs:
            part = own.loads(points[rows], order)
            values[rows], variables[rows] = part.array, part.variables
            for whole, each in zip(slopes, part.derivatives, strict=True):
                whole[rows] = each
        return CompartmentLoads.trusted(values, slopes, variables)

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the predicted first contact at poses (N, 6), (N,) [m]."""
        return self._filled(poses, np.empty(len(self.z)), lambda own: own.gaps)

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] of the loads at poses (N, 6)."""
        return self._filled(poses, np.empty((len(self.z), 12)), lambda own: own.standard_error)

    def domain_inputs(self, variables: FloatArray) -> FloatArray:
        """Return the inputs (N, 6 + P) [1] of a domain from variables (N, 6 or more)."""
        return with_parameters(variables[:, :6], self.z)

    def _filled(
        self,
        poses: ArrayLike,
        found: FloatArray,
        method: Callable[[CompartmentSurrogate], Callable[[Any], FloatArray]],
    ) -> FloatArray:
        points = check_array("poses", poses, (len(self.z), 6))
        for rows, own in self._designs:
            found[rows] = method(own)(points[rows])
        return found


def fit_parametric_domain(
    part: ParametricCompartment,
    z: FloatArray,
    samples: DomainSamples,
    limits: FloatArray,
    margin: float,
) -> ParametricCompartment:
    """Return a compartment that knows where it can be trusted at every design.

    The given compartment has the whole box as its domain; `z` (N, P) [1] has the scaled parameters
    of the design of each sample. The rest is as of `surrogates.formulations.domain_fit.fit_domain`.
    """
    domain = fit_domain(OverDesigns(part, z), samples, limits, margin)
    return replace(part, domain=ParametricDomain.of(domain))
