"""Checks and jobs of worker processes: the same environment, one thread."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from foundation.base.threads import one_thread

#: Packages of the project that compute, and packages that they compute with.
_OWN = ("foundation", "surrogates", "dynamics")
_SOURCES = ("*.py", "*.[ch]")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "pandas")

Job = tuple[int, tuple[Any, ...]]


class ExecutionError(RuntimeError):
    """Work that cannot be carried out in parallel; the message says why and what to do."""


@cache
def environment() -> dict[str, str]:
    """Return the versions of Python, of packages and of the project that this process uses."""
    versions = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "missing"
    content = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for package in _OWN:
        for file in sorted(each for kind in _SOURCES for each in (root / package).rglob(kind)):
            content.update(file.relative_to(root).as_posix().encode())
            content.update(file.read_bytes())
    return versions | {"knee-contact": f"source {content.hexdigest()[:12]}"}


def environment_error(expected: dict[str, str], found: dict[str, str]) -> str:
    """Return in what the environment of another process differs; "" if it does not."""
    differences = [
        f"{name} {found.get(name, 'missing')} (here {value})"
        for name, value in expected.items()
        if found.get(name) != value
    ]
    if not differences:
        return ""
    return f"has {', '.join(differences)}; give scheduler and workers the same environment"


def worker_error(expected: dict[str, str], dask_worker: Any) -> str:
    """Return why a Dask worker would give other results than this process; "" if it would not."""
    threads = dask_worker.state.nthreads
    if threads != 1:
        return (
            f"has {threads} threads, expected 1; start it with `--nthreads 1`, and use more "
            "workers (`--nworkers`) instead"
        )
    return environment_error(expected, environment())


def in_cluster(
    expected: dict[str, str], function: Callable[..., Any], job: Job, *shared: Any
) -> tuple[int, Any]:
    """Carry out a job in a Dask worker, which may have joined after the check of all workers."""
    from distributed import get_worker

    if message := _error_of_this_worker(tuple(expected.items())):
        raise ExecutionError(f"worker {get_worker().address} {message}")
    with one_thread:
        return job[0], function(*shared, *job[1])


@cache
def _error_of_this_worker(expected: tuple[tuple[str, str], ...]) -> str:
    from distributed import get_worker

    return worker_error(dict(expected), get_worker())
