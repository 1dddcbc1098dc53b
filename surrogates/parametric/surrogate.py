"""The trained surrogate of a knee over pose and design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import check_names
from foundation.base.pose import Pose
from surrogates.core.array_record import ArrayRecord
from surrogates.expressions.casadi_knee import casadi_knee
from surrogates.expressions.jax_knee import jax_knee
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING, CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.parametric.parameters import Design, Parameters
from surrogates.sampling.space import ReferencePath


@dataclass(frozen=True, eq=False, repr=False)
class ParametricSurrogate(ArrayRecord):
    """Surrogate of the contact of a knee for every design of a design space.

    Parameters
    ----------
    parameters : Parameters
        Parameters of the designs.
    by_name : mapping
        Surrogate of each of the C compartments by its name.
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.

    Raises
    ------
    InputError
        If a name is not one (`foundation.base.loads.check_names`), or a compartment has another
        number of parameters.
    """

    parameters: Parameters
    by_name: Mapping[str, CompartmentSurrogate]
    header: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names(tuple(self.by_name))
        for name, part in self.by_name.items():
            if part.parameters != len(self.parameters):
                raise InputError(
                    f"{name}: expected {len(self.parameters)} parameters, found {part.parameters}"
                )
        object.__setattr__(self, "by_name", MappingProxyType(dict(self.by_name)))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"by_name": dict(self.by_name)}

    def __repr__(self) -> str:
        name = self.header.get("name", "unnamed")
        return f"<{type(self).__name__} {name}: {', '.join(self.parameters.names)}>"

    @property
    def compartments(self) -> tuple[str, ...]:
        """Names of the C compartments."""
        return tuple(self.by_name)

    def at(self, design: Design) -> ContactSurrogate:
        """Return the surrogate of one design, ready for a simulation and for export.

        Parameters
        ----------
        design : mapping of str to float, or (P,) array_like
            Value of each parameter, in the unit of its name.

        Raises
        ------
        InputError
            If a parameter is missing, unknown or outside its range.
        """
        values = self.parameters.values(design)
        z = self.parameters.scaled(values)
        header = {**self.header, "design": self.parameters.named(values)}
        return ContactSurrogate({name: part.at(z) for name, part in self.by_name.items()}, header)

    def smoothed(self, width: float = RECOMMENDED_SMOOTHING) -> Self:
        """Return the same surrogate, smoothed at every design.

        The width [1], 0 to 0.2, is that of `ContactSurrogate.smoothed`. Raises `InputError` if the
        width is out of range.
        """
        parts = {name: part.smoothed(width) for name, part in self.by_name.items()}
        return replace(self, by_name=parts)

    def path(self, design: Design) -> ReferencePath:
        """Return the reference path of a design; errors as of `at`."""
        z = self.parameters.scaled(design)
        return next(iter(self.by_name.values())).space.path.at(z)

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

        Raises
        ------
        InputError
            If a parameter is missing, unknown or outside its range, or the poses are malformed.
        """
        z = self.parameters.scaled(design)
        found = [part.loads_and_slopes(poses, z) for part in self.by_name.values()]
        loads, slopes = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
        return loads, slopes * (2.0 / (self.parameters.high - self.parameters.low))

    def slopes(self, pose: Pose, design: Design) -> FloatArray:
        """Return d(total wrench)/d(parameter) (6, P) [N, N m per unit] at a pose of a design."""
        return self.loads_and_slopes(pose.array[None], design)[1][0, :, :6].sum(axis=0)

    # ---- expressions

    def casadi(self, dissipation: float | None = None) -> Any:
        """Return the loads as a function of CasADi of pose and design.

        Parameters
        ----------
        dissipation : float, optional
            As of `ContactSurrogate.casadi` [s/m]; makes the rate of the pose the second input.

        Returns
        -------
        casadi.Function
            "knee": pose (6) [rad, m] and design (P), the values of the parameters in the units of
            their names, to loads (12, C) [SI], a column for each compartment, and domain (12, C)
            [1], the criteria `surrogates.expressions.compartment.CRITERIA`. Values outside the
            ranges of the parameters are not refused; no criterion tells them.

        Raises
        ------
        InputError
            If the dissipation is negative, or CasADi is not installed.
        """
        packed = [part.packed for part in self.by_name.values()]
        return casadi_knee(packed, dissipation, (self.parameters.low, self.parameters.high))

    def jax(self, dissipation: float | None = None) -> Callable[..., Any]:
        """Return the loads as a pure function of JAX of pose and design.

        Parameters
        ----------
        dissipation : float, optional
            As of `casadi`.

        Returns
        -------
        callable
            pose (6,) [rad, m] and design (P,) [units of the names] to loads (C, 12) [SI] and domain
            (C, 12) [1], as of `casadi`, in the floating-point type of the pose.

        Raises
        ------
        InputError
            If the dissipation is negative, or JAX is not installed.
        """
        packed = [part.packed for part in self.by_name.values()]
        ranges = self.parameters.low, self.parameters.high
        return jax_knee(packed, dissipation, ranges=ranges)
