"""Kinds of flags of contact models, and one sentence on the flagged instants of a motion."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Kind of a flag outside the trained domain, and the key of the run that widens the domain; a
#: domain that ends at large errors is widened by more samples.
_KEYS = {
    "flexion": "space.flexion_deg",
    "adduction": "space.adduction_deg",
    "rotation": "space.rotation_deg",
    "anterior": "space.anterior_mm",
    "lateral": "space.lateral_mm",
    "axial load": "space.load_N",
    "AP force": "feasibility.ap_ratio",
    "ML force": "feasibility.ml_ratio",
    "peak pressure": "feasibility.peak_pressure_MPa",
}
_ERRORS = "errors"
#: Words of `surrogates.formulations.outside` and of `Domain.reason`, with the kind as a group.
_OUTSIDE = re.compile(
    "outside the trained domain, "
    rf"(?:samples near [^;]* trained )?({'|'.join((*_KEYS, _ERRORS))})?"
)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def outside_kinds(messages: Iterable[str]) -> set[str] | None:
    """Return how flags leave the trained domain, kinds in `_KEYS` or "errors"; None if none does.

    A message may join several flags.
    """
    found = [kind for message in messages for kind in _OUTSIDE.findall(message)]
    return set(filter(None, found)) if found else None


def without_numbers(message: str) -> str:
    """Return a message with "…" for each number: messages of one kind are equal."""
    return _NUMBER.sub("…", message)


def flagged_sentence(
    flagged: int, instants: int, messages: Iterable[str], noun: str = "instants"
) -> str | None:
    """Return how many instants are flagged, what this means and what to do; None without a flag.

    Parameters
    ----------
    flagged, instants : int
        Number of flagged instants, and of all instants.
    messages : iterable of str
        Flags of the contact model, as of `surrogates.formulations.outside.flags_outside`.
    noun : str
        Name of the instants.
    """
    if not flagged:
        return None
    kinds = outside_kinds(messages)
    reason = "have flags" if kinds is None else "are outside the trained domain"
    steps = []
    if keys := [key for kind, key in _KEYS.items() if kind in (kinds or ())]:
        steps.append(f"widen {', '.join(keys)} in the configuration of the run and train again")
    if _ERRORS in (kinds or ()):
        steps.append("train with more samples (design.budget)")
    remedy = ", and ".join(steps) or "see the flags"
    return f"{flagged} of {instants} {noun} {reason}: do not trust the results there; {remedy}"
