"""Finished fits of a run, stored so that a run that continues does not repeat them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from foundation.base.wording import counted
from pipeline.execution.backends import Execution
from pipeline.files import writing
from pipeline.progress import bar, say
from pipeline.store.samples import digest
from surrogates.files.fit_file import read_fit, write_fit
from surrogates.formulations.compartment_fit import Trained
from surrogates.formulations.selection import Selected
from surrogates.sampling.space import SampleSpace

#: A fit of one compartment, or the choice among several, and the time that it took [s].
Fit = tuple[Trained | Selected, float]
#: Folder of the fits of a run.
FITS = "fits"


def fits_of(
    function: Callable[..., Fit],
    jobs: Sequence[tuple[Any, ...]],
    execution: Execution,
    folder: Path | None,
) -> list[Fit]:
    """Return `function(*job)` of every job, from a folder where an earlier run stored the result.

    Results are stored as jobs end; without a folder, none is read or stored.
    """
    if folder is None:
        return execution.map(function, jobs)
    files = [folder / f"{_key(job)}.npz" for job in jobs]
    found = {k: fit for k, file in enumerate(files) if (fit := read_fit(file)) is not None}
    missing = [k for k in range(len(jobs)) if k not in found]
    if found:
        say(f"  fits: {len(found)} of {counted(len(jobs), 'fit')} known")
    with writing(folder):
        folder.mkdir(exist_ok=True)
    with bar(len(missing), "fit", "fitted") as shown:
        for place, fit in execution.results(function, [jobs[k] for k in missing]):
            file = files[missing[place]]
            with writing(folder):
                write_fit(file, *fit)
            # A fit that was just made and one that is read must have the same arrays.
            found[missing[place]] = read_fit(file) or fit
            shown.update()
    return [found[k] for k in range(len(jobs))]


def _key(job: tuple[Any, ...]) -> str:
    """Return a digest of what a fit depends on."""

    def plain(value: Any) -> Any:
        if isinstance(value, pd.DataFrame):
            return digest(value)
        if isinstance(value, SampleSpace):
            return value.to_header()
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json")
        return list(map(plain, value)) if isinstance(value, tuple) else value

    content = json.dumps([version("knee-contact"), plain(job)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
