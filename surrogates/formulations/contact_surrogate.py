"""The trained surrogate of a contact: its compartments by name, ready for a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_in, frozen
from foundation.base.errors import InputError
from foundation.base.flags import Flag
from foundation.base.loads import ContactLoads, check_names, check_order
from foundation.base.pose import Pose, pose_array
from surrogates.core.packing import PackedContact
from surrogates.core.regressor_data import ArrayRecord
from surrogates.expressions.compartment import casadi_knee, jax_knee
from surrogates.fields.knee_fields import PairFields, PressureField
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING, CompartmentSurrogate
from surrogates.formulations.domain import OUTSIDE, Domain, beyond, compartment_flags, treat
from surrogates.formulations.training_data import Samples, samples_of
from surrogates.sampling.parameters import NO_PARAMETERS, Design, Parameters
from surrogates.sampling.space import ReferencePath, SampleSpace

if TYPE_CHECKING:
    import pandas as pd


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
    parameters : Parameters
        Parameters of the designs of a surrogate over designs, of which `at` gives one; that of a
        single knee has none.
    """

    by_name: Mapping[str, CompartmentSurrogate]
    header: Mapping[str, Any] = field(default_factory=dict)
    outside: str = "clamp"
    fields: PairFields | None = None
    parameters: Parameters = NO_PARAMETERS

    def __post_init__(self) -> None:
        check_names(tuple(self.by_name))
        check_in("outside", self.outside, OUTSIDE)
        count = len(self.parameters)
        for name, part in self.by_name.items():
            if part.parameters != count:
                raise InputError(f"{name}: expected {count} parameters, found {part.parameters}")
        object.__setattr__(self, "by_name", MappingProxyType(dict(self.by_name)))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"by_name": dict(self.by_name)}

    def __repr__(self) -> str:
        parts = {f"{part.formulation}" for part in self.parts}
        name, family = self.header.get("name", "unnamed"), self.header.get("family", "")
        over = f" over {', '.join(self.parameters.names)}" if self.parameters else ""
        return f"<{type(self).__name__} {name}: {'/'.join(sorted(parts))} {family}{over}>"

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

    # ---- poses

    def path(self, flexion: ArrayLike) -> FloatArray:
        """Return the poses of the reference path, which carry the reference load.

        Parameters
        ----------
        flexion : (N,) array_like
            Flexions [rad].

        Returns
        -------
        (N, 6) float64
            Poses of the femur [rad, m]; beyond its ends the path is extrapolated.

        Raises
        ------
        InputError
            If the surrogate is over designs, which `path_of` asks for.
        """
        self._check_single()
        return self.spaces[0].path.poses(flexion)

    def reference_pose(self, flexion_deg: float = 30.0) -> Pose:
        """Return the pose of the reference path at a flexion [deg]."""
        return Pose.from_array(self.path([math.radians(flexion_deg)])[0])

    # ---- designs

    def at(self, design: Design) -> Self:
        """Return the surrogate of one design, ready for a simulation and for export.

        Parameters
        ----------
        design : mapping of str to float, or (P,) array_like
            Value of each parameter, in the unit of its name.
        """
        values = self.parameters.values(design)
        z = self.parameters.scaled(values)
        header = {k: v for k, v in self.header.items() if k != "parameters"}
        header["design"] = self.parameters.named(values)
        parts = {name: part.at(z) for name, part in self.by_name.items()}
        return replace(self, by_name=parts, header=header, parameters=NO_PARAMETERS)

    def path_of(self, design: Design) -> ReferencePath:
        """Return the reference path of a design; errors as of `at`."""
        return self.spaces[0].path.at(self.parameters.scaled(design))

    def loads_and_slopes(self, poses: FloatArray, design: Design) -> tuple[FloatArray, FloatArray]:
        """Return the loads at poses and their derivatives by the parameters of the design.

        Parameters
        ----------
        poses : (N, 6) array_like
            Pose coordinates [rad, m].
        design : mapping of str to float, or (P,) array_like
            Value of each parameter, in the unit of its name.

        Returns
        -------
        loads : (N, C, 12) float64
            In the order of `foundation.base.loads.LOAD_COLUMNS` [SI].
        slopes : (N, C, 12, P) float64
            d(loads)/d(parameter) at the pose [SI per unit of the parameter]; zero out of contact.
        """
        z = self.parameters.scaled(design)
        found = [part.loads_and_slopes(poses, z) for part in self.parts]
        loads, slopes = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
        return loads, slopes * (2.0 / (self.parameters.high - self.parameters.low))

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
            If the width is out of range.
        """
        return self.with_parts([part.smoothed(width) for part in self.parts])

    # ---- loads

    def loads(self, poses: Pose | Sequence[Pose] | ArrayLike, order: int = 0) -> ContactLoads:
        """Return the loads at one pose or at N poses, with as many derivatives as the order.

        Outside the trained domain the loads are those of the nearest pose of the domain, and their
        flags state the distance. The second derivatives of a surrogate that is not `smoothed` jump
        at first contact and at the border of the box; beyond the samples they leave out the change
        of the tangent, as the Jacobian does.

        Parameters
        ----------
        poses : Pose, (6,) or (N, 6) array_like, sequence of Pose, or DataFrame
            Poses of the femur [rad, m] (`foundation.base.pose.pose_array`).
        order : {0, 1, 2}
            1 for the Jacobian too, 2 also for the Hessian.

        Returns
        -------
        ContactLoads
            Loads per compartment and in total, with the leading axis N for many poses.

        Raises
        ------
        InputError
            If a pose is malformed or the order is another.
        OutsideDomainError
            If a pose is outside the trained domain and `outside` is "error".
        """
        if isinstance(poses, Pose) and (order == 0 or order == 1):  # as a simulation asks
            values, x, total, slopes = self.packed.one(poses, order == 1)
            flags: tuple[Flag, ...] = ()
            if x is not None:
                flags = self.flags_of(x[None], values[None])[0]
                treat(flags, self.outside)
            names = self.compartments
            if not order:
                return ContactLoads.trusted(values=values, compartments=names, flags=flags)
            return ContactLoads.trusted(
                values=values,
                compartments=names,
                flags=flags,
                derivatives=(slopes,),
                total_jacobian=total,
            )
        rows = pose_array(poses)
        # The values with and without derivatives differ by rounding.
        outside, found = self.packed.loads(rows.reshape(-1, 6), max(check_order(order), 1))
        if outside and self.outside != "clamp":
            for flags in self._all_flags(found[0], found[1], one=False):
                treat(flags, self.outside)
        variables, values, *derivatives = (
            each.reshape(*rows.shape[:-1], *each.shape[1:]) for each in found
        )
        return ContactLoads.trusted(
            values=frozen(values),
            compartments=self.compartments,
            derivatives=tuple(derivatives[:order]),
            variables=variables,
            _flags=partial(self._all_flags, found[0], found[1], rows.ndim == 1),
        )

    def _all_flags(self, x: FloatArray, values: FloatArray, one: bool) -> tuple[Any, ...]:
        """Return the flags of each pose of variables (N, C, 7) [1] and loads (N, C, 12) [SI]."""
        flags: list[tuple[Flag, ...]] = [()] * len(x)
        rows = np.flatnonzero(beyond(x).any(axis=(1, 2)))
        for row, found in zip(rows.tolist(), self.flags_of(x[rows], values[rows]), strict=True):
            flags[row] = found
        return flags[0] if one else tuple(flags)

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
        loads = self.loads(poses)
        errors = np.concatenate([part.standard_error(poses) for part in self.parts])
        errors[beyond(loads.variables[0]).any(axis=1)] = np.nan
        return errors

    def errors(
        self, samples: Mapping[str, Samples] | ArrayLike, loads: ContactLoads | None = None
    ) -> pd.DataFrame:
        """Return the errors at samples that the fit did not use.

        Parameters
        ----------
        samples : mapping, or (N, 6) array_like
            Samples of each compartment by its name, or poses of the femur [rad, m].
        loads : ContactLoads, optional
            True loads at the poses.

        Returns
        -------
        DataFrame
            A row for each compartment and load [SI], with the columns of
            `surrogates.formulations.validation.ErrorFigures`.

        Raises
        ------
        InputError
            If a name is unknown, poses come without loads, or a compartment has fewer than two
            samples.
        """
        import pandas as pd

        from surrogates.formulations.validation import errors_at_pose

        rows = {
            (name, quantity): figures.to_dict()
            for name, own in samples_of(samples, loads).items()
            for quantity, figures in errors_at_pose(
                self.compartment(name), own.poses, own.loads
            ).items()
        }
        found = pd.DataFrame.from_dict(rows, orient="index")
        return found.rename_axis(["compartment", "quantity"])

    def flags_of(self, variables: FloatArray, loads: FloatArray) -> list[tuple[Flag, ...]]:
        """Return how poses of variables (N, C, 7) [1] leave the trained domain, for each pose.

        Variables and values (N, C, 12) [SI] are those of `loads`.
        """
        if not len(variables):
            return []
        found = [
            compartment_flags(name, part.space, part.domain, variables[:, c], loads[:, c])
            for c, (name, part) in enumerate(self.by_name.items())
        ]
        return [tuple(chain.from_iterable(own)) for own in zip(*found, strict=True)]

    # ---- compiled evaluation

    @cached_property
    def packed(self) -> PackedContact:
        """The compartments of a single knee for the library."""
        self._check_single()
        return PackedContact([part.packed for part in self.parts])

    def _check_single(self) -> None:
        if self.parameters:
            raise InputError(
                "surrogate over designs: expected that of one design; call `at` with the values of "
                f"{', '.join(self.parameters.names)}"
            )

    # ---- pressure fields

    def pressure_field(self, poses: Pose | Sequence[Pose] | ArrayLike) -> PressureField:
        """Return the pressure [Pa] of each triangle of the tibial mesh of the samples.

        One pose gives a field (F,), N poses give fields (N, F). Poses and flags are those of
        `loads`: outside the trained domain the field is that of the nearest pose of the box.

        Raises
        ------
        InputError
            If the surrogate has no pressure fields, or a pose is malformed.
        OutsideDomainError
            If a pose is outside the trained domain and `outside` is "error".
        """
        fields, points = self._trained_fields, pose_array(poses)
        loads = self.loads(points)
        variables = loads.variables.reshape(-1, *loads.variables.shape[-2:])
        rows = zip(points.reshape(-1, 6), variables, strict=True)
        found = [fields.pressure(self._held(*row)) for row in rows]
        pressure = np.array(found).reshape(*points.shape[:-1], fields.faces)
        return PressureField(pressure, lambda: loads.flags)

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

    def casadi(self) -> Any:
        """Return the loads as a function of CasADi, for optimal control.

        Returns
        -------
        casadi.Function
            "knee": pose (6) [rad, m] to loads (12, C) [SI], a column for each compartment, and
            domain (12, C) [1], the criteria `surrogates.expressions.compartment.CRITERIA`.

        Raises
        ------
        InputError
            If the surrogate is over designs, of which `at` gives one.
        """
        self._check_single()
        return casadi_knee([part.packed for part in self.parts])

    def jax(self) -> Callable[..., Any]:
        """Return the loads as a pure function of JAX, for `jit`, `vmap` and derivatives.

        Returns
        -------
        callable
            pose (6,) [rad, m] to loads (C, 12) [SI] and domain (C, 12) [1], in the floating-point
            type of the pose.

        Raises
        ------
        InputError
            If the surrogate is over designs, of which `at` gives one.
        """
        self._check_single()
        return jax_knee([part.packed for part in self.parts])
