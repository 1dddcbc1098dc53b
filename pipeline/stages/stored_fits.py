"""Finished fits of a run, stored so that a run that continues does not repeat them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from foundation.base.wording import counted
from pipeline.execution.backends import Execution
from pipeline.files import writing
from pipeline.progress import bar, say
from pipeline.store.samples import digest
from surrogates.families.cross_validation import CrossCheck
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment_fit import Trained
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import FrontPoint, Selected
from surrogates.sampling.space import SampleSpace

#: A fit of one compartment, or the choice among several, and the time that it took [s].
Fit = tuple[Trained | Selected, float]
#: Folder of the fits of a run.
FITS = "fits"
_ONLY = "fit"


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
    found = {k: fit for k, file in enumerate(files) if (fit := _read(file)) is not None}
    missing = [k for k in range(len(jobs)) if k not in found]
    if found:
        say(f"  fits: {len(found)} of {counted(len(jobs), 'fit')} known")
    with writing(folder):
        folder.mkdir(exist_ok=True)
    with bar(len(missing), "fit", "fits") as shown:
        for place, fit in execution.results(function, [jobs[k] for k in missing]):
            found[missing[place]] = fit
            _write(files[missing[place]], *fit)
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


def _write(file: Path, fitted: Trained | Selected, seconds: float) -> None:
    """Store a fit as a surrogate of one compartment, with its residuals in the header."""
    trained = fitted.trained if isinstance(fitted, Selected) else fitted
    header: dict[str, Any] = {"seconds": seconds}
    if isinstance(fitted, Selected):
        header |= {"front": [list(point) for point in fitted.front], "chosen": fitted.chosen}
    header["checks"] = {
        name: [np.asarray(part).tolist() for part in check]
        for name, check in trained.checks.items()
    }
    numbers = [part for check in trained.checks.values() for part in check[1:3]]
    if all(np.isfinite(part).all() for part in numbers):
        with writing(file):
            save(ContactSurrogate({_ONLY: trained.surrogate}, header), file)


def _read(file: Path) -> Fit | None:
    """Return a stored fit; None if it is missing or damaged."""
    try:
        knee = load(file)
    except SurrogateFileError:
        return None
    checks = {
        name: CrossCheck(np.array(rows), np.array(residuals), np.array(errors), kind)
        for name, (rows, residuals, errors, kind) in knee.header["checks"].items()
    }
    trained = Trained(knee.compartment(_ONLY), checks)
    if "front" not in knee.header:
        return trained, knee.header["seconds"]
    front = [FrontPoint(*point) for point in knee.header["front"]]
    return Selected(trained, front, knee.header["chosen"]), knee.header["seconds"]
