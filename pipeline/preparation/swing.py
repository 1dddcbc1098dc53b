"""The gait cycle of a study, tried with quick springs before hours are spent."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from dynamics.simulator.result import SimulationResult
from foundation.surface_contact import SurfaceContact
from pipeline.config.stage_schema import SimulationConfig
from pipeline.progress import bar
from pipeline.simulation import GaitSimulation
from surrogates.sampling.space import ReferencePath

#: Longest trial, of processor time [s].
LONGEST = 60.0
#: Keys of a trial. The edges of coarse surfaces cost a finer integration four times the steps, and
#: change offsets and peak pressures by 0.2 % (measured on two knees).
_TRIAL = {"cycles": 1, "relative_tolerance": 1e-2}


class TooLong(RuntimeError):
    """A trial took longer than `LONGEST`; `done` is the fraction of the cycle."""

    def __init__(self, done: float) -> None:
        super().__init__(f"{100.0 * done:.0f} % of the cycle in {LONGEST:g} s")
        self.done = done


def swing(
    config: SimulationConfig,
    path: ReferencePath,
    model: SurfaceContact,
    clock: Callable[[], float] = time.process_time,
) -> SimulationResult:
    """Return one gait cycle of a study, simulated with a contact model that is quick to evaluate.

    Of several cycles, the first is simulated. `clock` returns the processor time [s]. Raises
    `EquilibriumError` or `SimulationError` if the knee does not complete the cycle, `TooLong` if
    the cycle takes longer than `LONGEST`.
    """
    begun = clock()
    with bar(100.0, "%", "gait cycle") as shown:

        def progress(done: float) -> None:
            shown.update(100.0 * done - shown.n)
            if done < 1.0 and clock() - begun > LONGEST:
                raise TooLong(done)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `check` gives the same warnings
            simulation = GaitSimulation.of(config.model_copy(update=_TRIAL), path)
        return simulation(model, progress=progress)
