"""Kinds of flags in tables, and one sentence on the flagged instants of a motion."""

from __future__ import annotations

from collections.abc import Iterable

from foundation.base.flags import FlagKind

#: Key of the run that widens the trained domain where a pose leaves it.
_KEYS = {
    FlagKind.OUTSIDE_FLEXION: "space.flexion_deg",
    FlagKind.OUTSIDE_ADDUCTION: "space.adduction_deg",
    FlagKind.OUTSIDE_ROTATION: "space.rotation_deg",
    FlagKind.OUTSIDE_ANTERIOR: "space.anterior_mm",
    FlagKind.OUTSIDE_LATERAL: "space.lateral_mm",
    FlagKind.OUTSIDE_LOAD: "space.load_N",
    FlagKind.OUTSIDE_AP_RATIO: "feasibility.ap_ratio",
    FlagKind.OUTSIDE_AP_SAMPLES: "feasibility.ap_ratio",
    FlagKind.OUTSIDE_ML_RATIO: "feasibility.ml_ratio",
    FlagKind.OUTSIDE_ML_SAMPLES: "feasibility.ml_ratio",
    FlagKind.OUTSIDE_PEAK_PRESSURE: "feasibility.peak_pressure_MPa",
}
#: Kinds of a trained domain that ends at large errors, which more samples widen.
_ERRORS = frozenset({FlagKind.OUTSIDE_ERRORS, FlagKind.OUTSIDE_TOO_FEW_SAMPLES})
#: Keys of the number of samples of a run, and of a run over designs; and of the number of designs.
SAMPLES, DESIGN_SAMPLES, DESIGNS = "design.budget", "design_space.poses", "design_space.designs"
#: Between the kinds of a row of a table.
_BETWEEN = "; "


def joined_kinds(kinds: Iterable[FlagKind]) -> str:
    """Return kinds as a text for a column of a table."""
    return _BETWEEN.join(dict.fromkeys(kinds))


def kinds_of(column: Iterable[str]) -> set[FlagKind]:
    """Return the kinds in a column of texts of `joined_kinds`."""
    return {FlagKind(name) for text in column if text for name in text.split(_BETWEEN)}


def flagged_sentence(
    flagged: int,
    instants: int,
    kinds: Iterable[FlagKind],
    noun: str = "instants",
    samples: str = SAMPLES,
) -> str | None:
    """Return how many instants are flagged, what this means and what to do; None without a flag.

    `noun` names the instants, and `samples` is the key with the number of samples of the run.
    """
    if not flagged:
        return None
    present = set(kinds)
    keys = dict.fromkeys(key for kind, key in _KEYS.items() if kind in present)
    steps = []
    if keys:
        steps.append(f"widen {', '.join(keys)} in the configuration of the run and train again")
    if present & _ERRORS:
        steps.append(f"train with more samples ({samples})")
    if FlagKind.OUTSIDE_DESIGN in present:
        steps.append(f"train with more designs ({DESIGNS})")
    reason = "are outside the trained domain" if steps else "have flags"
    remedy = ", and ".join(steps) or "see the flags"
    return f"{flagged} of {instants} {noun} {reason}: do not trust the results there; {remedy}"
