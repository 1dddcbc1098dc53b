"""Configuration, stages a to h, sample store, runner, report and command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.sampling import sample as sample
    from pipeline.stages.run_folder import TrainedRun


def open_run(folder: str | Path) -> TrainedRun:
    """Open the folder of a finished run; errors as of `pipeline.stages.run_folder.TrainedRun`."""
    from pipeline.stages.run_folder import TrainedRun

    return TrainedRun.open(Path(folder))


def __getattr__(name: str) -> Any:
    # Imported when used, since the command line starts without SciPy.
    if name == "sample":
        from pipeline.sampling import sample

        return sample
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
