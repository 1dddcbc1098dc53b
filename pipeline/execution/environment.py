"""What results of a process depend on besides its input: interpreter, packages, our own source."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Our packages that compute, and those of others.
_OWN = ("foundation", "surrogates", "dynamics")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "numba", "pandas", "joblib")


@cache
def environment() -> dict[str, str]:
    """Return names and versions of what this process computes with."""
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    content = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for package in _OWN:
        for file in sorted((root / package).rglob("*.py")):
            content.update(file.relative_to(root).as_posix().encode())
            content.update(file.read_bytes())
    return found | {"knee-contact": f"source {content.hexdigest()[:12]}"}


def differences(expected: dict[str, str], found: dict[str, str]) -> str:
    """Return in what an environment differs from the one expected; nothing if it does not."""
    return ", ".join(
        f"{name} {found.get(name, 'missing')} (here {told})"
        for name, told in expected.items()
        if found.get(name) != told
    )
