"""Trained surrogates of contact: a knee with both compartments, ready for a simulation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.pose import Pose
from surrogates.compiled import knee as compiled
from surrogates.compiled.knee import CompartmentArguments
from surrogates.compiled.layout import new_work
from surrogates.fields.knee_fields import PairFields
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING, CompartmentSurrogate
from surrogates.formulations.domain import Domain
from surrogates.formulations.outside import OUTSIDE, beyond, flags_outside
from surrogates.formulations.trained_contact import TrainedContact
from surrogates.sampling.space import SampleSpace


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

        In the order of `foundation.base.loads.LOAD_COLUMNS`; NaN where the formulation predicts
        none or the pose is outside the compartment's trained domain, zero where the compartment is
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
