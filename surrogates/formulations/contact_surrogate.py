"""The trained surrogate of a contact: its compartments by name, ready for a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.flags import Flag
from foundation.base.loads import ContactLoads, check_names
from foundation.base.pose import Pose
from surrogates.core.array_record import ArrayRecord
from surrogates.core.packing import PackedContact
from surrogates.expressions.casadi_knee import casadi_knee
from surrogates.expressions.jax_knee import jax_knee
from surrogates.fields.knee_fields import PairFields, PressureField
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING, CompartmentSurrogate
from surrogates.formulations.domain import Domain
from surrogates.formulations.outside import OUTSIDE, beyond, compartment_flags, treat
from surrogates.sampling.space import SampleSpace


@dataclass(frozen=True, eq=False, repr=False)
class ContactSurrogate(ArrayRecord):
    """Surrogate of the contact of a knee, or of another pair, such as the patella on the femur.

    Implements `dynamics.protocol.ContactModel`. The compartments of a knee are "medial" and
    "lateral". Bed and target of another pair take the places of tibia and femur: loads act on the
    target, in the frame of the bed.

    Parameters
    ----------
    by_name : mapping
        Surrogate of each of the C compartments by its name.
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.
    outside : {"clamp", "warning", "error"}
        Treatment of a pose outside the trained domain.
    fields : PairFields, optional
        Pressure fields, if the surrogate was trained with pressure fields.

    Raises
    ------
    InputError
        If a name is not one (`foundation.base.loads.check_names`), or `outside` is another
        treatment.
    """

    by_name: Mapping[str, CompartmentSurrogate]
    header: Mapping[str, Any] = field(default_factory=dict)
    outside: str = "clamp"
    fields: PairFields | None = None

    def __post_init__(self) -> None:
        check_names(tuple(self.by_name))
        check_in("outside", self.outside, OUTSIDE)
        object.__setattr__(self, "by_name", MappingProxyType(dict(self.by_name)))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"by_name": dict(self.by_name)}

    def __repr__(self) -> str:
        parts = {f"{part.formulation}" for part in self.parts}
        name, family = self.header.get("name", "unnamed"), self.header.get("family", "")
        return f"<{type(self).__name__} {name}: {'/'.join(sorted(parts))} {family}>"

    @cached_property
    def compartments(self) -> tuple[str, ...]:
        """Names of the C compartments."""
        return tuple(self.by_name)

    @cached_property
    def parts(self) -> tuple[CompartmentSurrogate, ...]:
        """Surrogate of each compartment, in the order of `compartments`."""
        return tuple(self.by_name.values())

    def compartment(self, name: str) -> CompartmentSurrogate:
        """Return the surrogate of one compartment, one of `compartments`."""
        return self.by_name[check_in("name", name, self.compartments)]

    @property
    def spaces(self) -> tuple[SampleSpace, ...]:
        """Sample space of each compartment."""
        return tuple(part.space for part in self.parts)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Trained part of the sample space of each compartment."""
        return tuple(part.domain for part in self.parts)

    # ---- variants of the surrogate

    def on_leaving(self, outside: str) -> Self:
        """Return the same surrogate with another treatment of poses outside the domain."""
        return replace(self, outside=outside)

    def with_parts(self, parts: Sequence[CompartmentSurrogate]) -> Self:
        """Return the same surrogate with other compartments, of the same names."""
        return replace(self, by_name=dict(zip(self.compartments, parts, strict=True)))

    def with_domains(self, domains: Sequence[Domain]) -> Self:
        """Return the same surrogate with other trained domains, one for each compartment."""
        pairs = zip(self.parts, domains, strict=True)
        return self.with_parts([replace(part, domain=own) for part, own in pairs])

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Return the same surrogate with wrenches twice continuously differentiable in the pose.

        First contact and the border of the box, where second derivatives jump, are rounded
        (docs/theory.md). Within the trained domain only loads of less than `width` in the root of
        the load, (F / F_max)^(1/p), change: at the recommended width no load by more than 0.1 % of
        its peak. Beyond the samples the loads continue with a constant fall instead of a tangent.

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
        return self.with_parts([part.smoothed(width) for part in self.parts])

    # ---- loads

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
        loads, slopes, x = self.packed.one(pose)
        flags: tuple[Flag, ...] = ()
        if x is not None:
            flags = self.flags_of(x[None], np.array(loads)[None])[0]
            treat(flags, self.outside, calls=2)
        return ContactLoads.trusted_parts(loads, self.compartments, flags), slopes

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, C, 12), jacobians (N, C, 6, 6) and scaled variables (N, C, 7) at poses.

        From and to arrays of all compartments, as of `CompartmentSurrogate.evaluate_batch`: poses
        (N, 6) [rad, m], loads and jacobians [SI]. Raises `OutsideDomainError` if a pose is outside
        the trained domain and `outside` is "error".
        """
        loads, jacobian, x = self.fill(check_array("poses", poses, (None, 6)))
        if self.outside != "clamp":
            rows = np.flatnonzero(beyond(x).any(axis=(1, 2)))
            for flags in self.flags_of(x[rows], loads[rows]):
                treat(flags, self.outside)
        return loads, jacobian, x

    def standard_error(self, pose: Pose) -> FloatArray:
        """Return the predicted standard errors of all compartments' loads, (C, 12) [SI].

        In the order of `foundation.base.loads.LOAD_COLUMNS`; NaN where the family predicts none or
        the pose is outside the compartment's trained domain, zero where the compartment is expected
        to be out of contact.

        Raises
        ------
        OutsideDomainError
            If the pose is outside the trained domain and `outside` is "error".
        """
        poses = pose.array[None]
        loads, _, x = self.fill(poses)
        treat(self.flags_of(x, loads)[0], self.outside)
        errors = np.concatenate([part.standard_error(poses) for part in self.parts])
        errors[beyond(x[0]).any(axis=1)] = np.nan
        return errors

    def flags_of(self, variables: FloatArray, loads: FloatArray) -> list[tuple[Flag, ...]]:
        """Return how poses of variables (N, C, 7) [1] leave the trained domain, for each pose.

        Variables and loads (N, C, 12) [SI] are those of `evaluate_batch`.
        """
        if not len(variables):
            return []
        found = [
            compartment_flags(name, part.space, part.domain, variables[:, c], loads[:, c])
            for c, (name, part) in enumerate(self.by_name.items())
        ]
        return [tuple(chain.from_iterable(own)) for own in zip(*found, strict=True)]

    def _flags_of_one(self, variables: FloatArray, loads: FloatArray) -> tuple[Flag, ...]:
        return self.flags_of(variables, loads)[0]

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
        hessians: FloatArray = self.packed.loads(points, 2)[1][3]
        return hessians

    # ---- compiled evaluation

    def fill(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the arrays of `evaluate_batch` at poses (N, 6) [rad, m], whatever the domain."""
        variables, loads, jacobians = self.packed.loads(np.ascontiguousarray(poses))[1]
        return loads, jacobians, variables

    @cached_property
    def packed(self) -> PackedContact:
        """The compartments for the library."""
        return PackedContact([part.packed for part in self.parts])

    # ---- pressure fields

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
        outside, (x, loads, _) = self.packed.loads(poses)
        if not outside:
            return PressureField(fields.pressure(poses))
        if self.outside != "clamp":
            flags = self.flags_of(x, loads)[0]
            treat(flags, self.outside)
            reasons = partial(tuple, flags)
        else:
            reasons = partial(self._flags_of_one, x, loads)
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

    # ---- expressions

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
            `surrogates.expressions.compartment.CRITERIA`.

        Raises
        ------
        InputError
            If the dissipation is negative, or CasADi is not installed.
        """
        return casadi_knee(self.packed.parts, dissipation)

    def jax(
        self, dissipation: float | None = None, kernels: bool = False, wrench_only: bool = False
    ) -> Callable[..., Any]:
        """Return the loads as a pure function of JAX, for `jit`, `vmap` and derivatives.

        Parameters
        ----------
        dissipation : float, optional
            As of `casadi`.
        kernels : bool
            If True, the compiled kernels compute the loads, and the first and second derivatives of
            the wrench, on the host, in double precision and for all poses of a batch at once, which
            is faster for batches on a CPU. Third derivatives of the wrench raise an InputError. JAX
            alone computes the domain and the derivatives of the six loads that follow the wrench,
            unless the compilation of JAX removes these as not used.
        wrench_only : bool
            If True, the function returns the wrench in place of the loads. With `kernels`,
            derivatives in reverse mode and second derivatives need `wrench_only` to be fast: the
            compilation of JAX cannot remove the derivatives of the other loads there.

        Returns
        -------
        callable
            pose (6,) [rad, m], with a dissipation also rate (6,) [rad/s, m/s], to loads (C, 12) or
            wrench (C, 6) [SI], and domain (C, 12) [1], in the floating-point type of the pose.

        Raises
        ------
        InputError
            If the dissipation is negative, or JAX is not installed.
        """
        return jax_knee(self.packed.parts, dissipation, kernels, wrench_only)
