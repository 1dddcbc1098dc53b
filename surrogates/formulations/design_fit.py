"""Fits of a compartment over pose and design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError
from foundation.base.loads import CompartmentLoads
from surrogates.families.fixed_inputs import with_parameters
from surrogates.families.smooth_array import SmoothArray
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.compartment_fit import Fitter, Trained, fit_training_data
from surrogates.formulations.training_data import FORMULATIONS, Samples, middle_and_half
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, closest_point
from surrogates.sampling.space import ReferencePath, SampleSpace


class DesignSamples(NamedTuple):
    """Samples of one compartment at one design of scaled parameters z (P,) [1]."""

    z: FloatArray
    samples: Samples


def fit_parametric(
    formulation: str,
    space: SampleSpace,
    designs: Sequence[DesignSamples],
    fitter: Fitter,
    load_degree: float = 2.0,
) -> Trained:
    """Fit one of `FORMULATIONS` to the samples of one compartment over many designs."""
    check_in("formulation", formulation, FORMULATIONS)
    check_number("load_degree", load_degree, at_least=1.0)
    if not designs:
        raise InputError("designs: expected samples of at least one design, found none")
    kind = FORMULATIONS[formulation]
    z = check_array("z", [design.z for design in designs], (None, None))
    coordinates = fit_coordinates(space, designs, at_centre=kind.learns_heights)
    largest = float(space.load[1])
    of_designs = [coordinates.at(row) for row in z]
    heights = [c.variables(d.samples.poses)[1] for c, d in zip(of_designs, designs, strict=True)]
    depth = None if kind.learns_heights else middle_and_half(np.concatenate(heights))
    parts = [
        kind.training_data(d.samples, largest, load_degree, c, depth)
        for c, d in zip(of_designs, designs, strict=True)
    ]
    inputs = [with_parameters(training.inputs, row) for training, row in zip(parts, z, strict=True)]
    groups = zip(*(training.groups for training in parts), strict=True)
    data = parts[0]._replace(
        coordinates=coordinates,
        inputs=np.concatenate(inputs),
        groups=[np.concatenate(group) for group in groups],
    )
    return fit_training_data(formulation, space, data, fitter, _weights(designs))


def fit_coordinates(
    space: SampleSpace, designs: Sequence[DesignSamples], *, at_centre: bool
) -> CondyleCoordinates:
    """Return the coordinates in which the samples of all designs fill a box."""
    z = np.array([design.z for design in designs])
    points = [
        closest_point(design.samples.poses, design.samples.loads) if at_centre else np.zeros(3)
        for design in designs
    ]
    centre = SmoothArray.fit(z, np.array(points))
    of_designs = [
        CondyleCoordinates.about(centre.at(row), design.samples.poses, space.flexion, at_centre)
        for row, design in zip(z, designs, strict=True)
    ]
    path = ReferencePath.over_designs(z, [coordinates.path for coordinates in of_designs])
    raw = [
        replace(coordinates, path=path.at(row)).offsets(design.samples.poses)
        for coordinates, row, design in zip(of_designs, z, designs, strict=True)
    ]
    scaling = CondyleCoordinates.scaling(np.concatenate(raw))
    return CondyleCoordinates(centre.middle, path, *scaling, at_centre, centre)


def _weights(designs: Sequence[DesignSamples]) -> FloatArray | None:
    """Return the weights (N,) of the samples of all designs [1], None without weights."""
    weights = [design.samples.weights for design in designs]
    known = [w for w in weights if w is not None]
    return np.concatenate(known) if len(known) == len(weights) else None


@dataclass(frozen=True, eq=False)
class OverDesigns:
    """A compartment's surrogate at rows of poses, each of a design z (N, P) [1] of its own."""

    part: CompartmentSurrogate
    z: FloatArray

    @property
    def learns_heights(self) -> bool:
        """Whether heights over the load are learnt."""
        return self.part.learns_heights

    @property
    def largest_load(self) -> float:
        """Largest axial load of the samples [N]."""
        return self.part.largest_load

    @cached_property
    def _designs(self) -> list[tuple[NDArray[np.int64], CompartmentSurrogate]]:
        """Rows (n,) of each design, and its surrogate."""
        unique, place = np.unique(self.z, axis=0, return_inverse=True)
        rows = place.ravel()
        return [(np.flatnonzero(rows == k), self.part.at(z)) for k, z in enumerate(unique)]

    def loads(self, poses: ArrayLike, order: int = 0) -> CompartmentLoads:
        """Return the loads at poses (N, 6) [rad, m], with their variables."""
        n = len(self.z)
        points = check_array("poses", poses, (n, 6))
        values, variables = np.empty((n, 12)), np.empty((n, 7))
        slopes = tuple(np.empty((n, *[6] * axes)) for axes in range(2, order + 2))
        for rows, surrogate in self._designs:
            loads = surrogate.loads(points[rows], order)
            values[rows], variables[rows] = loads.array, loads.variables
            for whole, slope in zip(slopes, loads.derivatives, strict=True):
                whole[rows] = slope
        return CompartmentLoads.trusted(values, slopes, variables)

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the predicted first contact at poses (N, 6), (N,) [m]."""
        return self._filled(poses, np.empty(len(self.z)), lambda surrogate: surrogate.gaps)

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] of the loads at poses (N, 6)."""
        return self._filled(
            poses, np.empty((len(self.z), 12)), lambda surrogate: surrogate.standard_error
        )

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
        for rows, surrogate in self._designs:
            found[rows] = method(surrogate)(points[rows])
        return found
