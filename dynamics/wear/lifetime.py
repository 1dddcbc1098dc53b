"""Wear and creep of the insert over many cycles, with the surface lowered between blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import SpringContact, Wear, WearLaw, bed_wear
from foundation.base.checks import FloatArray, check_count, check_number, check_numbers
from foundation.base.errors import InputError

#: Time of the first compliance of creep [s].
_MINUTE = 60.0


@dataclass(frozen=True)
class CreepLaw:
    """Strain of the layer over the mean pressure of the cycle, a + b log10(t / 1 min), >= 0."""

    #: a, after one minute [1/Pa], >= 0.
    compliance: float = 0.0
    #: b, added in each further decade of time [1/Pa], >= 0.
    per_decade: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, at_least=0.0, compliance="1/Pa", per_decade="1/Pa")

    def strain(self, time: float) -> float:
        """Return the strain over the pressure [1/Pa] at a time [s]."""
        decades = np.log10(max(time, 1e-300) / _MINUTE)
        return max(self.compliance + self.per_decade * float(decades), 0.0) if time > 0.0 else 0.0


class WornContact(SpringContact, Protocol):
    """Original contact model whose tibial surface wears."""

    @property
    def layer_thickness(self) -> FloatArray:
        """Thickness of the tibial layer at each triangle (F,) [m]."""

    def worn(self, depth: FloatArray) -> Any:
        """Return the contact with the tibial triangles lowered by `depth` (F,) [m], >= 0."""


@dataclass(frozen=True, eq=False)
class LifetimeWear:
    """Wear and creep of many cycles in B blocks."""

    #: Number of cycles at the end of each block, from 0 (B + 1,) [1].
    cycles: FloatArray
    #: Medial and lateral worn volume by then (B + 1, 2) [m³].
    volume: FloatArray
    #: Depths by wear and by creep by then (B + 1, F) [m], of each triangle of the unworn surface.
    worn_depth: FloatArray
    creep_depth: FloatArray
    #: Wear of one cycle at the start of each block.
    blocks: tuple[Wear, ...]
    #: Contact of the worn insert.
    model: WornContact


def extrapolate_wear(
    model: WornContact,
    simulate_cycle: Callable[[Any], SimulationResult],
    law: WearLaw,
    cycles: float,
    blocks: int,
    creep: CreepLaw | None = None,
) -> LifetimeWear:
    """Return the wear of cycles in equal blocks, the surface lowered after each block."""
    # The wear of one cycle at the start of a block represents the whole block; the layer creeps by
    # the mean pressure of that cycle. `InputError` names the block that wears through the insert.
    check_number("cycles", cycles, above=0.0)
    count, creep = check_count("blocks", blocks), creep or CreepLaw()
    thickness = model.layer_thickness
    numbers = np.linspace(0.0, cycles, count + 1)
    wears: list[Wear] = []
    contact, worn, crept = model, [np.zeros(len(model.tibia.faces))], [0.0 * model.tibia.areas]
    for block in range(count):
        result = simulate_cycle(contact)
        wear = bed_wear(contact, result, law)
        wears.append(wear)
        start, end = (creep.strain(number * np.ptp(result.time)) for number in numbers[block:][:2])
        worn.append(worn[-1] + cycles / count * np.asarray(wear.depth))
        crept.append(crept[-1] + (end - start) * thickness * wear.sliding.pressure)
        try:
            # From the unworn surface, so that errors do not accumulate.
            contact = model.worn(worn[-1] + crept[-1])
        except InputError as error:
            raise InputError(
                f"block {block + 1} of {count}, {cycles / count:g} cycles each: {error}; take more "
                "blocks or fewer cycles"
            ) from error
    steps = cycles / count * np.array([wear.volume for wear in wears])
    volume = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return LifetimeWear(numbers, volume, np.array(worn), np.array(crept), tuple(wears), contact)
