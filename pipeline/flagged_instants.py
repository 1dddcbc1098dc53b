"""One sentence on the flagged instants of a motion, and the keys that widen the trained domain."""

from __future__ import annotations

from collections.abc import Iterable

#: Part of a flag, and the key of the configuration of the run that removes the reason.
_KEYS = (
    ("flexion by", "space.flexion_deg"),
    ("adduction by", "space.adduction_deg"),
    ("rotation by", "space.rotation_deg"),
    ("anterior by", "space.anterior_mm"),
    ("lateral by", "space.lateral_mm"),
    ("domain, axial load of", "space.load_N"),
    ("AP force", "feasibility.ap_ratio"),
    ("ML force", "feasibility.ml_ratio"),
    ("peak pressure of", "feasibility.peak_pressure_MPa"),
)
_DOMAIN, _ERRORS = "outside the trained domain", "errors near this pose"


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
    text = "; ".join(messages)
    outside = _DOMAIN in text
    reason = "are outside the trained domain" if outside else "have flags"
    steps = []
    if keys := [key for part, key in _KEYS if outside and part in text]:
        steps.append(f"widen {', '.join(keys)} in the configuration of the run and train again")
    if _ERRORS in text:
        steps.append("train with more samples (design.budget)")
    remedy = ", and ".join(steps) or "see the flags"
    return f"{flagged} of {instants} {noun} {reason}: do not trust the results there; {remedy}"
