"""Configuration, stages a to h, sample store, runner, report and command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foundation.base.exports import lazy_names

if TYPE_CHECKING:
    from pipeline.stages.run_folder import TrainedRun


def open_run(folder: str | Path) -> TrainedRun:
    """Open the folder of a finished run; errors as of `pipeline.stages.run_folder.TrainedRun`."""
    from pipeline.stages.run_folder import TrainedRun

    return TrainedRun.open(Path(folder))


# Imported when used, since the command line starts without SciPy.
__getattr__ = lazy_names(
    __name__,
    {"load_config": "config.reading", "run_study": "runner", "sample": "sampling"},
)
