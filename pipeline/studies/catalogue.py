"""What a study varies and reports: named inputs, outputs and waveforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.flagged_instants import SAMPLES
from pipeline.stages.cycle_outputs import KEY_OUTPUTS, OUTPUTS, WAVES, Output
from pipeline.studies.factors import FACTORS, Factor


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Inputs and outputs of the simulations of a study."""

    #: Inputs that can be varied, by name.
    factors: Mapping[str, Factor]
    #: Outputs of a simulation, by column.
    outputs: Mapping[str, Output]
    #: Waveforms over the time of a simulation, by column.
    waves: Mapping[str, Output]
    #: Outputs with pictures and lines on the terminal.
    key_outputs: tuple[str, ...]
    #: What is simulated, for titles.
    subject: str
    #: Label of the axis of time of the waveforms.
    axis: str
    #: A sentence about the outputs.
    note: str
    #: What runs with flags have done.
    flagged: str
    #: Key with the number of samples that a larger trained domain needs.
    samples: str = SAMPLES

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a simulation adds to its row."""
        return (
            *("status", "reason", *self.outputs),
            *("flagged_instants", "flags", "flag_kinds", "evaluations", "seconds"),
            *(f"wave_{name}" for name in self.waves),
        )


#: Studies of simulated gait cycles of a knee.
CYCLES = Catalogue(
    FACTORS,
    OUTPUTS,
    WAVES,
    KEY_OUTPUTS,
    subject="gait cycles",
    axis="gait cycle [%]",
    note="Wear is that of a cycle times a million, the surface as it was made.",
    flagged="left the trained domain",
)
