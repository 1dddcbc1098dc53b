"""CasADi for tests: imported with the first use, since no process can hold OpenSim's beside it."""

from __future__ import annotations

import sys

import pytest


class Casadi:
    """The module `casadi`; a test skips where it cannot be imported."""

    def __getattr__(self, name):
        if name.startswith(("_", "pytest")):
            raise AttributeError(name)  # what pytest asks of every name of a module
        if "opensim" in sys.modules:
            pytest.skip("OpenSim is loaded in this process, with a CasADi of its own: make test")
        reason = "CasADi is not installed (the casadi extra)"
        return getattr(pytest.importorskip("casadi", reason=reason), name)


casadi = Casadi()
