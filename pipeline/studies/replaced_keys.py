"""Keys of [simulation] by which the configuration of a study replaces those of its run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dynamics.simulator.waveform_tables import ACTIVITIES, LEVEL_WALKING


def with_absolute_waveforms(simulation: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return keys of [simulation] with the path of a table of waveforms made absolute.

    The path is relative to the configuration `file`; the name of a shipped table stays.
    """
    waveforms = simulation.get("waveforms", LEVEL_WALKING.stem)
    if waveforms in ACTIVITIES:
        return dict(simulation)
    return {**simulation, "waveforms": str((file.parent / waveforms).resolve())}
