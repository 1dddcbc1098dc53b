"""A finished run, opened to use its surrogate and its models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

import surrogates
from foundation.surface_contact import SurfaceContact
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.protocol import OriginalModel, contact_model
from pipeline.originals.table_original import build_original
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import check_unchanged, read_path
from pipeline.store.designs_folder import check_single_knee
from pipeline.store.documents import make_again
from pipeline.store.job import check_configuration
from pipeline.store.samples import CANDIDATE_COLUMNS, RESULT_COLUMNS, read_table
from pipeline.store.workspace_lock import RunError
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath

_FILES = ("config.toml", "path.json", "run.json", "knee.npz")


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A finished run: its configuration, trained surrogate, reference path and original model."""

    folder: Path
    config: Config
    surrogate: ContactSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedRun:
        """Open a run directory.

        Raises `RunError` if the run has not finished or is over designs, or `config.toml` was
        changed since the run was made.
        """
        check_single_knee(folder)
        for name in _FILES:
            if not (folder / name).is_file():
                raise RunError(
                    f"{folder}: is not a finished run, {name} is missing; make it with "
                    f"`{make_again(folder / name)}`"
                )
        config = load_config(folder / "config.toml")
        check_configuration(folder)
        return cls(folder, config, surrogates.load(folder / "knee.npz"))

    @cached_property
    def path(self) -> ReferencePath:
        """Reference path over flexion."""
        return read_path(self.folder)

    @cached_property
    def original(self) -> OriginalModel:
        """Original model, built when it is first used.

        Raises `InputError` if a file of the original model cannot be used or has changed since the
        run was made.
        """
        original = build_original(self.config, self.folder)
        check_unchanged(self.folder, original)
        return original

    @property
    def contact(self) -> SurfaceContact:
        """Contact model of the original model.

        Raises `InputError` as `original`, or if the original model is a table.
        """
        return contact_model(self.original)

    @cached_property
    def gait(self) -> GaitSimulation:
        """The gait cycle of the run."""
        return GaitSimulation.of(self.config.simulation, self.path)

    def samples(self, name: str) -> pd.DataFrame:
        """Return a table of evaluated samples, such as "first", "kept" or "heldout"."""
        columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
        return read_table(self.folder / "samples" / f"{name}.parquet", columns)
