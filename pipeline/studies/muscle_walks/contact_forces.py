"""Forces and flags of the contacts of a simulation; forces of bundles of muscles and ligaments."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from dynamics.musculoskeletal import SimulatedFrames
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.flagged_instants import flagged_sentence

#: Number at the end of the name of a bundle or a head, before its side.
_NUMBER = re.compile(r"\d+(?=(_[rl])?$)")
#: Force of surfaces that touch [N].
_LEAST_FORCE = 1e-3


def compartment_forces(result: SimulatedFrames, contact: int) -> dict[str, FloatArray]:
    """Return the size of the contact force (N,) [N] in total and of each compartment, by name."""
    loads = [frame[contact] for frame in result.loads]
    parts = loads[0].compartments
    return {
        part: np.array([np.linalg.norm(each[part].force) for each in loads])
        for part in ("total", *(parts if len(parts) > 1 else ()))
    }


def medial_share(parts: Mapping[str, FloatArray]) -> float | None:
    """Return the medial share of the mean forces of both compartments (N,) [any unit].

    None without a medial and a lateral compartment, or without a force.
    """
    if not set(COMPARTMENTS) <= parts.keys():
        return None
    medial, lateral = (float(parts[part].mean()) for part in COMPARTMENTS)
    return medial / (medial + lateral) if medial + lateral > 0.0 else None


def group_of(name: str) -> str:
    """Return the name of a bundle or head without its number."""
    return _NUMBER.sub("", name)


def bundled(names: tuple[str, ...], forces: FloatArray) -> dict[str, FloatArray]:
    """Return the sums (N,) of forces (N, K) [any unit] whose names differ in their number alone."""
    sums: dict[str, FloatArray] = {}
    for name, force in zip(names, forces.T, strict=True):
        group = group_of(name)
        sums[group] = sums.get(group, 0.0) + force
    return sums


def largest_first(forces: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return rows (N,) [any unit] by name, those with the largest peaks first."""
    return dict(sorted(forces.items(), key=lambda item: -item[1].max()))


def contact_flags(result: SimulatedFrames) -> list[str]:
    """Return contacts that never touch, and each flag of a contact once with its instants."""
    found: dict[str, list[float]] = {}
    for each in result.contact_flags:
        found.setdefault(f"{each.contact}: {each.flag.without_numbers}", []).append(each.time)
    told = [f"{text} ({len(at)} frames, first at {at[0]:g} s)" for text, at in found.items()]
    return [*_untouched(result), *told]


def not_trusted(result: SimulatedFrames) -> str | None:
    """Return the sentence on the frames in which a contact has a flag, None without such frames."""
    flags = result.contact_flags
    kinds = {each.flag.kind for each in flags}
    return flagged_sentence(len({each.frame for each in flags}), len(result.time), kinds, "frames")


def _untouched(result: SimulatedFrames) -> list[str]:
    """Return a flag for each contact without a force in any frame, as wrong meshes give none."""
    count = len(result.time)
    return [
        f"{name}: the surfaces touch in none of {count} frames; check its mesh files in the model "
        "and in walk.meshes or forward.meshes, unless the joint is meant to stay lifted off"
        for k, name in enumerate(result.contacts)
        if compartment_forces(result, k)["total"].max(initial=0.0) < _LEAST_FORCE
    ]
