"""Configuration, stages a to h, sample store, runner, report and command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.sampling import sample as sample
    from pipeline.stages.trained_run import TrainedRun


def open_run(folder: str | Path) -> TrainedRun:
    """Open the folder of a finished run; errors as of `pipeline.stages.trained_run.TrainedRun`."""
    from pipeline.stages.trained_run import TrainedRun

    return TrainedRun.open(Path(folder))


def __getattr__(name: str) -> Any:
    # Imported when used, since the command line starts without SciPy.
    if name == "sample":
        from pipeline.sampling import sample

        return sample
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
