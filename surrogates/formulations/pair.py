"""Trained surrogates of contact pairs whose compartments are not those of a tibiofemoral joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

from foundation.base.checks import FloatArray, check_in
from foundation.base.loads import COMPARTMENTS, check_names
from surrogates.compiled import knee as compiled
from surrogates.compiled.knee import CompartmentArguments
from surrogates.fields.knee_fields import PairFields
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.knee import CompartmentwiseContact, KneeSurrogate
from surrogates.formulations.outside import OUTSIDE


@dataclass(frozen=True, eq=False, repr=False)
class PairSurrogate(CompartmentwiseContact):
    """Surrogate of a contact pair, for example the patella on the femur.

    Implements `dynamics.protocol.ContactModel`, and has the methods of
    `surrogates.formulations.knee.KneeSurrogate`. Bed and target of the pair take the places of
    tibia and femur: loads act on the target, in the frame of the bed.

    Parameters
    ----------
    by_name : mapping
        Surrogate of each compartment by its name.
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.
    outside : {"clamp", "warning", "error"}
        Treatment of a pose outside the trained domain.
    fields : PairFields, optional
        Pressure fields.

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

    @cached_property
    def compartments(self) -> tuple[str, ...]:
        """Names of the C compartments."""
        return tuple(self.by_name)

    @cached_property
    def parts(self) -> tuple[CompartmentSurrogate, ...]:
        """Surrogate of each compartment, in the order of `compartments`."""
        return tuple(self.by_name.values())

    @cached_property
    def arguments(self) -> tuple[CompartmentArguments, ...]:
        """Packed arguments of each compartment, as of `surrogates.compiled.knee_loads`."""
        return tuple(part.arguments for part in self.parts)

    def fill_into(
        self, poses: FloatArray, loads: FloatArray, jacobian: FloatArray, variables: FloatArray
    ) -> bool:
        """Fill the arrays of `fill` [SI] at poses (N, 6); return whether one is outside."""
        found = [
            compiled.compartment_of_all(poses, own, c, loads, jacobian, variables, self._work)
            for c, own in enumerate(self.arguments)
        ]
        return any(found)

    def _of_parts(self, parts: Sequence[CompartmentSurrogate]) -> Self:
        return replace(self, by_name=dict(zip(self.compartments, parts, strict=True)))


def surrogate_of(
    parts: Mapping[str, CompartmentSurrogate], header: Mapping[str, Any] | None = None
) -> KneeSurrogate | PairSurrogate:
    """Return the surrogate of compartments by name: a knee if they are medial and lateral.

    Raises `InputError` if a name is not one (`foundation.base.loads.check_names`).
    """
    header = {} if header is None else header
    if tuple(parts) == COMPARTMENTS:
        medial, lateral = parts.values()
        return KneeSurrogate(medial, lateral, header)
    return PairSurrogate(parts, header)
