"""Evaluation of trained contact at poses, whatever the surrogates of the compartments are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, ContactLoads
from foundation.base.pose import Pose
from surrogates.compiled.array_record import ArrayRecord
from surrogates.compiled.knee import CompartmentArguments
from surrogates.fields.knee_fields import PairFields, PressureField
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING
from surrogates.formulations.domain import Domain
from surrogates.formulations.outside import beyond, flags_outside
from surrogates.sampling.space import SampleSpace


@runtime_checkable
class CompiledContact(Protocol):
    """Contact model that a compiled loop evaluates with `surrogates.compiled.knee_loads`."""

    @property
    def outside(self) -> str:
        """Treatment of poses outside the trained domain; "error" stops the loop there."""
        ...

    @property
    def workspace(self) -> int:
        """Size of the scratch array of `knee_loads`."""
        ...

    @property
    def compartment_arguments(self) -> tuple[CompartmentArguments, CompartmentArguments]:
        """Packed medial and lateral arguments of `knee_loads`."""
        ...

    def fill(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, 2, 12), jacobians (N, 2, 6, 6) [SI] and variables (N, 2, 7) [1]."""
        ...


class TrainedContact(ArrayRecord):
    """Evaluation of a trained contact at poses; implements `dynamics.protocol.ContactModel`.

    Attributes
    ----------
    outside : {"clamp", "warning", "error"}
        Treatment of a pose outside the trained domain.
    domains : tuple of Domain
        Trained part of the sample space of each compartment.
    fields : KneeFields or None
        Pressure fields, if the surrogate was trained with them.
    """

    outside: str
    domains: tuple[Domain, ...]
    fields: PairFields | None

    @property
    def compartments(self) -> tuple[str, ...]:
        """Names of the C compartments."""
        return COMPARTMENTS

    @property
    @abstractmethod
    def spaces(self) -> tuple[SampleSpace, ...]:
        """Sample space of each compartment."""

    @abstractmethod
    def fill_into(
        self, poses: FloatArray, loads: FloatArray, jacobian: FloatArray, variables: FloatArray
    ) -> bool:
        """Fill the arrays of `fill` [SI] at poses (N, 6); return whether one may be outside."""

    def on_leaving(self, outside: str) -> Self:
        """Return the same surrogate with another treatment of poses outside the domain."""
        return replace(self, outside=outside)  # type: ignore[type-var]

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; see `loads_and_jacobian`."""
        return self._evaluate(pose)[0]

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates), (6, 6) [N, N m per rad, m].

        Outside the trained domain the loads are those of the nearest pose of the domain, and their
        flags state the distance; `OutsideDomainError` if `outside` is "error".
        """
        return self._evaluate(pose)

    def _evaluate(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        loads, jacobian, x = self._empty(1)
        outside = self.fill_into(pose.array[None], loads, jacobian, x)
        flags = flags_outside(self, x[0], loads[0], calls=2) if outside else ()
        found = ContactLoads.trusted_parts(tuple(loads[0]), self.compartments, flags)
        return found, reduce(np.add, jacobian[0])

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Refuse: only surrogates of single compartments are smoothed (`InputError`)."""
        raise self._without_expressions

    def hessian(self, pose: Pose) -> FloatArray:
        """Refuse: only surrogates of single compartments give (C, 6, 6, 6) [SI] (`InputError`)."""
        raise self._without_expressions

    def hessian_batch(self, poses: ArrayLike) -> FloatArray:
        """Refuse: only single compartments give (N, C, 6, 6, 6) [SI] at poses (`InputError`)."""
        raise self._without_expressions

    def casadi(self, dissipation: float | None = None) -> Any:
        """Refuse: only surrogates of single compartments have expressions (`InputError`)."""
        raise self._without_expressions

    def jax(self, dissipation: float | None = None) -> Callable[..., Any]:
        """Refuse: only surrogates of single compartments have expressions (`InputError`)."""
        raise self._without_expressions

    @property
    def _without_expressions(self) -> InputError:
        return InputError(
            "knee: expected a surrogate of its own for each compartment, found a formulation of "
            "the whole knee, which has no second derivatives and no expressions in CasADi and "
            'JAX; train with formulation = "inverted"'
        )

    def _empty(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return arrays (n, C, 12), (n, C, 6, 6) and (n, C, 7) to fill."""
        count = len(self.compartments)
        return np.empty((n, count, 12)), np.empty((n, count, 6, 6)), np.empty((n, count, 7))

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, C, 12), jacobians (N, C, 6, 6) and scaled variables (N, C, 7) at poses.

        From and to arrays of all compartments, as of `CompartmentSurrogate.evaluate_batch`: poses
        (N, 6) [rad, m], loads and jacobians [SI]. Raises `OutsideDomainError` if a pose is outside
        the trained domain and `outside` is "error".
        """
        loads, jacobian, x = self.fill(check_array("poses", poses, (None, 6)))
        if self.outside != "clamp":
            for row in np.flatnonzero(beyond(x).any(axis=(1, 2))):
                flags_outside(self, x[row], loads[row])
        return loads, jacobian, x

    def pressure_field(self, pose: Pose) -> PressureField:
        """Return the pressure (F,) [Pa] of each triangle of the tibial mesh of the samples.

        The flags are those of `loads`: outside the trained domain the field is that of the nearest
        pose of the box.

        Raises
        ------
        InputError
            If the surrogate has no pressure fields.
        OutsideDomainError
            If the pose is outside the trained domain and `outside` is "error".
        """
        fields, poses = self._trained_fields, pose.array[None]
        loads, jacobian, x = self._empty(1)
        if not self.fill_into(poses, loads, jacobian, x):
            return PressureField(fields.pressure(poses))
        reasons = partial(flags_outside, self, x[0], loads[0])
        if self.outside != "clamp":
            reasons = partial(tuple, reasons())
        return PressureField(fields.pressure(self._held(poses[0], x[0])), reasons)

    def pressure_fields(self, poses: ArrayLike) -> FloatArray:
        """Return the pressures (N, F) [Pa] of the triangles of the tibial mesh at poses (N, 6).

        Poses [rad, m] and exceptions as of `evaluate_batch` and `pressure_field`.
        """
        fields, points = self._trained_fields, check_array("poses", poses, (None, 6))
        variables = self.evaluate_batch(points)[2]
        found = [
            fields.pressure(self._held(pose, own))
            for pose, own in zip(points, variables, strict=True)
        ]
        return np.array(found).reshape(len(points), fields.faces)

    @property
    def _trained_fields(self) -> PairFields:
        if self.fields is None:
            raise InputError(
                "fields: expected a surrogate with pressure fields, found one without; train the "
                "surrogate with a section [surrogate.fields]"
            )
        return self.fields

    def _held(self, pose: FloatArray, x: FloatArray) -> FloatArray:
        """Return a pose (6,) of variables (C, 7) held in each compartment's box, (C or 1, 6)."""
        if (np.abs(x[:, :5]) <= 1.0).all():
            return pose[None]
        return np.array([space.held(pose[None])[0] for space in self.spaces])

    def fill(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `evaluate_batch` does at poses (N, 6) [rad, m], whatever the domain."""
        filled = self._empty(len(poses))
        self.fill_into(poses, *filled)
        return filled
