"""A finished run over designs, opened to use its surrogate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import surrogates
from pipeline.config.designs import design_config
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import design_knee
from pipeline.originals.knee import Knee
from pipeline.store.documents import make_again
from pipeline.store.job import DESIGNS, check_configuration
from pipeline.store.job import is_over_designs as is_over_designs
from pipeline.store.workspace_lock import RunError
from surrogates.parametric.parameters import Design
from surrogates.parametric.surrogate import ParametricSurrogate

_FILES = ("config.toml", DESIGNS, "knee.npz")


@dataclass(frozen=True, eq=False)
class TrainedDesigns:
    """A finished run over designs: its configuration and its surrogate."""

    folder: Path
    config: Config
    knee: ParametricSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedDesigns:
        """Open a run directory.

        Raises `RunError` if the run has not finished, is not over designs, or `config.toml` was
        changed since.
        """
        for name in _FILES:
            if not (folder / name).is_file():
                raise RunError(
                    f"{folder}: is not a finished run over designs, {name} is missing; make it "
                    f"with `{make_again(folder / name)}` of a configuration with [design_space]"
                )
        config = load_config(folder / "config.toml")
        check_configuration(folder)
        return cls(folder, config, surrogates.load_parametric(folder / "knee.npz"))

    def config_of(self, design: Design) -> Config:
        """Return the configuration of a design, without [design_space]."""
        return design_config(self.config, self._named(design))

    def original(self, design: Design) -> Knee:
        """Return the original model of a design; raises as `build_knee`."""
        return design_knee(self.config, self._named(design))

    def _named(self, design: Design) -> dict[str, float]:
        return self.knee.parameters.named(self.knee.parameters.values(design))
