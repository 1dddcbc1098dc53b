"""Compilation of the kernels that most tests need, shared between the processes of a whole run.

Two processes that compile the same kernel at the same time both wait for the same. In a whole run,
the first process begins with the kernels of the original model, the second one with those of
surrogates and dynamics; each then takes the other's from numba's cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from beds import implant_model
from filelock import FileLock

from foundation.elastic_foundation.laws import CoupledLaw, LinearLaw
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.stages.kernels import compile_kernels


def original() -> None:
    """Compile the kernels of beds of independent and of coupled springs."""
    pose, layer = CondylarImplant().home_pose(flexion=0.2), (463e6, 0.46, 8e-3)
    kinds = ((LinearLaw, "curved"), (LinearLaw, "flat"), (CoupledLaw, "curved"))
    for law, surface in kinds:
        model = implant_model(law(*layer), surface, edge=4e-3)
        lower = pose.array - np.array([0.0, 0.0, 0.0, 0.0, 1e-4, 0.0])
        model.loads_and_jacobian(type(pose).from_array(lower))
        model.compartment_loads(type(pose).from_array(lower), "medial")
        model.evaluate_batch(lower[None])


PARTS: dict[str, Callable[[], None]] = {"original": original, "surrogates": compile_kernels}
#: Part that each process begins with.
FIRST = {"gw0": "original", "gw1": "surrogates"}


def warm(process: str, run: str) -> None:
    """Compile both parts, or take them from the cache, in the order of the process."""
    for part in sorted(PARTS, key=lambda name: name != FIRST.get(process, "original")):
        lock = Path(tempfile.gettempdir()) / f"knee-contact-tests-{run}-{part}.lock"
        with FileLock(lock):
            PARTS[part]()
