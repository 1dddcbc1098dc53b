"""The study of the built-in implant that the statements on Lin et al. (2010) are compared with."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from pipeline import stages
from pipeline.config.reading import load_config, shipped_config
from pipeline.originals.candidates import sample_space
from pipeline.progress import silenced
from pipeline.runner import run_study
from pipeline.simulation import GaitSimulation, compare_cycles, simulation_table
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.run_documents import Combinations, Ended, RunRecord, Simulation
from pipeline.store.samples import read_table
from pipeline.store.validation_document import Validation
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Every so many instants of the cycle.
_STEP = 5


class LinStudy:
    """A finished run with what the statements are compared with; `folder` is its directory."""

    def __init__(self, folder: Path) -> None:
        self.run = TrainedRun.open(folder)
        self.counts = read_document(folder / "run.json", RunRecord).counts
        self.simulation = read_document(folder / "simulation.json", Simulation)
        self.validation = read_document(folder / "validation.json", Validation)
        combinations = read_document(folder / "combinations.json", Combinations).combinations
        self.combinations = [each for each in combinations if isinstance(each, Ended)]
        self.failed = len(combinations) - len(self.combinations)

    def samples(self, name: str) -> pd.DataFrame:
        """Return a table of samples of the run."""
        return read_table(self.run.folder / "samples" / f"{name}.parquet")

    @cached_property
    def gait(self) -> GaitSimulation:
        """Gait cycle of the study."""
        return GaitSimulation.of(self.run.config.simulation, self.run.path)

    @cached_property
    def cycle(self) -> SimulationResult:
        """Gait cycle, driven by the original model."""
        return self.gait(self.run.contact)

    @property
    def poses(self) -> list[Pose]:
        """Some poses of the cycle."""
        return [Pose.from_array(pose) for pose in self.cycle.poses[::_STEP]]

    def training(self, *names: str) -> pd.DataFrame:
        """Return the feasible samples of tables of evaluated samples, which surrogates learn."""
        tables = [self.samples(name) for name in names]
        return stages.training_samples(tables, self.run.config.feasibility)

    @cached_property
    def literal(self) -> ContactSurrogate:
        """Six loads of each compartment over the pose by Kriging, from the samples of stage g."""
        config = self.run.config
        (fitted,) = stages.fit_surrogates(
            self.training("first", "kept", "gait"),
            sample_space(config, self.run.path),
            config.surrogate,
            [("direct", "kriging")],
            config.run.seed,
        )
        return fitted.knee

    def largest_rms(self, knee: ContactSurrogate, columns: tuple[str, ...]) -> float:
        """Return the largest RMS difference over the range [1] of a gait cycle driven by `knee`.

        Infinite if the knee does not complete the cycle.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = {"original": self.cycle, "surrogate": self.gait(knee)}
        except (SimulationError, EquilibriumError):
            return float("inf")
        found = {
            each.column: each.rms_over_range or 0.0
            for each in compare_cycles(simulation_table(results))
        }
        return max(found[column] for column in columns)

    def sensitivities(self) -> FloatArray:
        """Return the median size (6, 6) of the derivatives of the loads over the cycle.

        Row: component of the wrench [N, N m]; column: pose coordinate, per degree and millimetre.
        """
        jacobians = [self.run.contact.loads_and_jacobian(pose)[1] for pose in self.poses]
        units = np.repeat([np.pi / 180.0, 1e-3], 3)
        return np.asarray(np.median(np.abs(jacobians), axis=0) * units, dtype=np.float64)


@cache
def study() -> LinStudy:
    """Run the study of the built-in implant in a temporary folder and open the run."""
    # Tables are read as they are asked for, so that the folder is removed when the program ends.
    temporary = tempfile.mkdtemp(prefix="lin-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    folder = Path(temporary) / "implant"
    with silenced():
        run_study(load_config(shipped_config("implant")), folder)
    return LinStudy(folder)
