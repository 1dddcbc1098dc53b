"""Wear over many gait cycles, with the surface of the insert lowered as the insert wears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import SpringContact, bed_wear
from dynamics.wear.wear_law import Wear, WearLaw
from foundation.base.checks import FloatArray, check_count, check_number, frozen
from foundation.base.errors import InputError

Contact = TypeVar("Contact", bound=SpringContact)


@dataclass(frozen=True, eq=False)
class LifetimeWear(Generic[Contact]):
    """Wear of many cycles in B blocks, as volumes (B + 1, 2) [m³] over cycles (B + 1,)."""

    #: Number of cycles at the end of each block, from 0 (B + 1,) [1].
    cycles: FloatArray
    #: Medial and lateral volume by then (B + 1, 2) [m³].
    volume: FloatArray
    #: Wear of one cycle at the start of each block.
    blocks: tuple[Wear, ...]
    #: Contact of the worn insert.
    model: Contact
    #: Wear of all cycles, with the depth of each triangle of the unworn surface.
    wear: Wear


def extrapolate_wear(
    model: Contact,
    simulate_cycle: Callable[[Contact], SimulationResult],
    lower_surface: Callable[[Contact, FloatArray], Contact],
    law: WearLaw,
    cycles: float,
    blocks: int,
) -> LifetimeWear[Contact]:
    """Return the wear of cycles in equal blocks, the surface lowered (F,) [m] after each block."""
    # The wear of one cycle at the start of a block represents the whole block. `InputError` names
    # the block that wears through the insert.
    check_number("cycles", cycles, above=0.0)
    count = check_count("blocks", blocks)
    each = cycles / count
    wears: list[Wear] = []
    worn, depth = model, np.zeros(len(model.tibia.faces))
    for block in range(count):
        wear = bed_wear(worn, simulate_cycle(worn), law)
        wears.append(wear)
        depth = depth + each * np.asarray(wear.depth)
        try:
            # From the unworn surface, so that errors do not accumulate.
            worn = lower_surface(model, depth)
        except InputError as error:
            raise InputError(
                f"block {block + 1} of {count}, {each:g} cycles each: {error}; take more blocks or "
                "fewer cycles"
            ) from error
    steps = each * np.array([wear.volume for wear in wears])
    volume = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    total = Wear(volume[-1], law.density, depth)
    return LifetimeWear(
        frozen(np.linspace(0.0, cycles, count + 1)), frozen(volume), tuple(wears), worn, total
    )
