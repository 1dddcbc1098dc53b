"""Trained surrogates of contact: a knee with both compartments, ready for a simulation."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_in
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, ContactLoads
from foundation.pose import Pose
from surrogates.compiled import knee as compiled
from surrogates.compiled.knee import TOLERANCE, CompartmentArguments
from surrogates.compiled.layout import new_work
from surrogates.fields.knee_fields import PairFields, PressureField
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING, CompartmentSurrogate
from surrogates.formulations.domain import Domain
from surrogates.sampling.space import VARIABLES, SampleSpace

#: Treatments of a pose outside the trained domain. The loads are those of the nearest pose of the
#: domain and carry flags: "clamp" does no more, "warning" warns, "error" raises.
OUTSIDE = ("clamp", "warning", "error")


class OutsideDomainError(InputError):
    """A pose is outside the trained domain; the message names the coordinate and the distance."""


class OutsideDomainWarning(UserWarning):
    """A pose is outside the trained domain and was held at the border."""


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


class TrainedContact:
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


class CompartmentwiseContact(TrainedContact):
    """Trained contact with a surrogate of its own for each compartment.

    Attributes
    ----------
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.
    """

    header: Mapping[str, Any]

    @property
    @abstractmethod
    def parts(self) -> tuple[CompartmentSurrogate, ...]:
        """Surrogate of each compartment, in the order of `compartments`."""

    def standard_error(self, pose: Pose) -> FloatArray:
        """Return the predicted standard errors of all compartments' loads, (C, 12) [SI].

        In the order of `foundation.loads.LOAD_COLUMNS`; NaN where the formulation predicts none
        or the pose is outside the compartment's trained domain, zero where the compartment is
        expected to be out of contact.

        Raises
        ------
        OutsideDomainError
            If the pose is outside the trained domain and `outside` is "error".
        """
        poses = pose.array[None]
        loads, _, x = self.fill(poses)
        flags_outside(self, x[0], loads[0])
        errors = np.concatenate([part.standard_error(poses) for part in self.parts])
        errors[beyond(x[0]).any(axis=1)] = np.nan
        return errors

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Return the same surrogate with wrenches twice continuously differentiable in the pose.

        First contact and the border of the box, where second derivatives jump, are rounded
        (docs/theory.md). Within the trained domain only loads of less than `width` in the root of
        the load, (F / F_max)^(1/p), change: at the recommended width no load by more than 0.1 % of
        its peak. Beyond the samples the loads go on with a constant fall instead of a tangent.

        Parameters
        ----------
        width : float
            Width in the root of the load, and in the scaled variables of the box [1], 0 to 0.2; 0
            gives the surrogate without smoothing.

        Raises
        ------
        InputError
            If the width is out of range, or a correlation (Matern 3/2) has no second derivatives.
        """
        return self._of_parts([part.smoothed(width) for part in self.parts])

    @abstractmethod
    def _of_parts(self, parts: Sequence[CompartmentSurrogate]) -> Self:
        """Return the same surrogate with other compartments."""

    def with_domains(self, domains: Sequence[Domain]) -> Self:
        """Return the same surrogate with other trained domains, one for each compartment."""
        pairs = zip(self.parts, domains, strict=True)
        return self._of_parts([replace(part, domain=own) for part, own in pairs])

    def hessian(self, pose: Pose) -> FloatArray:
        """Return d2(wrench)/d(pose)2 of each compartment at a pose, (C, 6, 6, 6) [SI].

        The first axis is the compartment, the second the component of the wrench, the others are
        pose coordinates [rad, m]. The second derivatives of a surrogate that is not `smoothed` jump
        at first contact and at the border of the box; beyond the samples they leave out the change
        of the tangent, as the Jacobian does.

        Raises
        ------
        OutsideDomainError
            If the pose is outside the trained domain and `outside` is "error".
        """
        return self.hessian_batch(pose.array[None])[0]

    def hessian_batch(self, poses: ArrayLike) -> FloatArray:
        """Return the second derivatives (N, C, 6, 6, 6) [SI] of `hessian` at poses (N, 6)."""
        points = check_array("poses", poses, (None, 6))
        if self.outside != "clamp":
            self.evaluate_batch(points)
        return np.stack([part.hessians(points) for part in self.parts], axis=1)

    def __repr__(self) -> str:
        parts = {f"{part.formulation}" for part in self.parts}
        name, family = self.header.get("name", "unnamed"), self.header.get("family", "")
        return f"<{type(self).__name__} {name}: {'/'.join(sorted(parts))} {family}>"

    @cached_property
    def workspace(self) -> int:
        """Size of the scratch array that `surrogates.compiled.knee_loads` needs."""
        return max(part.workspace for part in self.parts)

    @cached_property
    def _work(self) -> FloatArray:
        return new_work(self.workspace)

    @property
    def spaces(self) -> tuple[SampleSpace, ...]:
        """Sample space of each compartment."""
        return tuple(part.space for part in self.parts)

    @property
    def domains(self) -> tuple[Domain, ...]:  # type: ignore[override]
        """Trained part of the sample space of each compartment."""
        return tuple(part.domain for part in self.parts)

    def casadi(self, dissipation: float | None = None) -> Any:
        """Return the loads as a function of CasADi, for optimal control.

        Parameters
        ----------
        dissipation : float, optional
            Of a contact that dissipates (Hunt & Crossley 1975) [s/m], >= 0; makes the rate of the
            pose an input.

        Returns
        -------
        casadi.Function
            "knee": pose (6) [rad, m], with a dissipation also rate (6) [rad/s, m/s], to loads
            (12, C) [SI], a column for each compartment, and domain (12, C) [1], the criteria
            `surrogates.expressions.domain.CRITERIA`.

        Raises
        ------
        InputError
            If the dissipation is negative, or CasADi is not installed.
        """
        from surrogates.formulations.expressed import casadi_function

        return casadi_function(self.parts, dissipation)

    def jax(self, dissipation: float | None = None) -> Callable[..., Any]:
        """Return the loads as a pure function of JAX, for `jit`, `vmap` and derivatives.

        Parameters
        ----------
        dissipation : float, optional
            As of `casadi`.

        Returns
        -------
        callable
            pose (6,) [rad, m], with a dissipation also rate (6,) [rad/s, m/s], to loads (C, 12)
            [SI] and domain (C, 12) [1], in the floating-point type of the pose.

        Raises
        ------
        InputError
            If the dissipation is negative, or JAX is not installed.
        """
        from surrogates.formulations.expressed import jax_function

        return jax_function(self.parts, dissipation)

    def compartment(self, name: str) -> CompartmentSurrogate:
        """Return the surrogate of one compartment, one of `compartments`."""
        return self.parts[self.compartments.index(check_in("name", name, self.compartments))]


@dataclass(frozen=True, eq=False, repr=False)
class KneeSurrogate(CompartmentwiseContact):
    """Surrogate of a knee's contact; implements `dynamics.protocol.ContactModel`.

    Parameters
    ----------
    medial, lateral : CompartmentSurrogate
        Surrogate of each compartment.
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.
    outside : {"clamp", "warning", "error"}
        Treatment of a pose outside the trained domain.
    fields : KneeFields, optional
        Pressure fields.
    """

    medial: CompartmentSurrogate
    lateral: CompartmentSurrogate
    header: Mapping[str, Any] = field(default_factory=dict)
    outside: str = "clamp"
    fields: PairFields | None = None

    def __post_init__(self) -> None:
        check_in("outside", self.outside, OUTSIDE)

    @property
    def parts(self) -> tuple[CompartmentSurrogate, ...]:
        """Surrogates of the medial and the lateral compartment."""
        return self.medial, self.lateral

    def fill_into(
        self, poses: FloatArray, loads: FloatArray, jacobian: FloatArray, variables: FloatArray
    ) -> bool:
        """Fill the arrays of `fill` [SI] at poses (N, 6); return whether one is outside."""
        outside: bool = compiled.knee_loads_of_all(
            poses, *self.arguments, loads, jacobian, variables, self._work
        )
        return outside

    @property
    def compartment_arguments(self) -> tuple[CompartmentArguments, CompartmentArguments]:
        """Packed medial and lateral arguments of `surrogates.compiled.knee_loads`."""
        return self.arguments

    @cached_property
    def arguments(self) -> tuple[CompartmentArguments, CompartmentArguments]:
        """Arguments of `surrogates.compiled.knee_loads` between pose and loads."""
        return self.medial.arguments, self.lateral.arguments

    def _of_parts(self, parts: Sequence[CompartmentSurrogate]) -> Self:
        medial, lateral = parts
        return replace(self, medial=medial, lateral=lateral)


def beyond(variables: ArrayLike) -> NDArray[np.bool_]:
    """Return which scaled variables (N, ...) [1], or extrapolations, are outside the domain.

    As `surrogates.compiled.knee.is_outside`, elementwise.
    """
    # written so that NaN counts as outside
    return ~(np.abs(variables) <= 1.0 + TOLERANCE)


def flags_outside(
    knee: TrainedContact, x: FloatArray, loads: FloatArray, calls: int = 1
) -> tuple[str, ...]:
    """Return messages that state how a pose leaves the trained domain of a knee.

    From the scaled variables and extrapolation x (C, 7) [1] and the loads (C, 12) [SI] of all
    compartments; `calls` is the number of calls between the user's line, which a warning names, and
    this function. Raises `OutsideDomainError` if the knee's `outside` is "error".
    """
    if not beyond(x).any():
        return ()
    flags = tuple(
        f"{name}: outside the trained domain, {text}"
        for name, space, domain, row, own in zip(
            knee.compartments, knee.spaces, knee.domains, x, loads, strict=True
        )
        for text in _excesses(space, domain, row, own)
    )
    if knee.outside == "error":
        raise OutsideDomainError("pose: " + "; ".join(flags))
    if knee.outside == "warning":
        warnings.warn("; ".join(flags), OutsideDomainWarning, stacklevel=2 + calls)
    return flags


def _excesses(space: SampleSpace, domain: Domain, x: FloatArray, loads: FloatArray) -> list[str]:
    centre, half = space.centre_and_half
    texts = []
    for k in np.flatnonzero(beyond(x[:6])):
        if VARIABLES[k] == "root_load":
            load = (centre[k] + half[k] * x[k]) ** 2
            texts.append(f"axial load of {load:.0f} N, {load - space.load[1]:.0f} N beyond")
        else:
            factor, unit = (180.0 / np.pi, "deg") if k < 3 else (1e3, "mm")
            excess = (abs(x[k]) - 1.0) * half[k] * factor
            texts.append(f"{VARIABLES[k]} by {excess:.3g} {unit} beyond")
    if beyond(x[6]):
        texts.append(domain.reason(x, loads))
    return texts
