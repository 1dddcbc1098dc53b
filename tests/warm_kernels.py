"""Compilation of the kernels that most tests need, shared between the processes of a whole run.

Two processes that compile the same kernel at the same time both wait for the same. In a whole run,
one process compiles the kernels of the original models (`conftest.pytest_collection` and what
follows); the others take them from numba's cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from beds import implant_model
from filelock import FileLock, Timeout

from foundation.elastic_foundation.laws import CoupledLaw, LinearLaw
from foundation.implant.condylar_implant import CondylarImplant


def springs() -> None:
    """Compile the kernels of beds of independent and of coupled springs."""
    pose, layer = CondylarImplant().home_pose(flexion=0.2), (463e6, 0.46, 8e-3)
    kinds = ((LinearLaw, "curved"), (LinearLaw, "flat"), (CoupledLaw, "curved"))
    for law, surface in kinds:
        model = implant_model(law(*layer), surface, edge=4e-3)
        lower = pose.array - np.array([0.0, 0.0, 0.0, 0.0, 1e-4, 0.0])
        model.loads_and_jacobian(type(pose).from_array(lower))
        model.compartment_loads(type(pose).from_array(lower), "medial")
        model.evaluate_batch(lower[None])


PARTS: dict[str, Callable[[], None]] = {
    "springs": springs,
}


def warm(parts: tuple[str, ...], run: str) -> None:
    """Compile parts of `PARTS` in turn, but for those that another process compiles."""
    for part in parts:
        lock = Path(tempfile.gettempdir()) / f"knee-contact-tests-{run}-{part.replace(' ', '-')}"
        try:
            with FileLock(lock.with_suffix(".lock"), blocking=False):
                PARTS[part]()
        except Timeout:
            continue
