"""Finished fits of one compartment in files of surrogates, with their residuals in the header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from surrogates.families.cross_validation import CrossCheck
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment_fit import Trained
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import FrontPoint, Selected

_ONLY = "fit"


def write_fit(file: Path, fitted: Trained | Selected, seconds: float) -> None:
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
        save(ContactSurrogate({_ONLY: trained.surrogate}, header), file)


def read_fit(file: Path) -> tuple[Trained | Selected, float] | None:
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
