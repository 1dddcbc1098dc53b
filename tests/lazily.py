"""Modules for tests that are imported with the first use: JAX takes a second, and no process can
hold CasADi beside OpenSim's own."""

import sys

import pytest


class Module:
    """A module; a test skips where it cannot be imported."""

    def __init__(self, name, reason):
        self._name, self._reason = name, reason

    def __getattr__(self, name):
        if name.startswith(("_", "pytest")):
            raise AttributeError(name)  # what pytest asks of every name of a module
        return getattr(self._imported(), name)

    def _imported(self):
        return pytest.importorskip(self._name, reason=self._reason)


class Casadi(Module):
    def _imported(self):
        if "opensim" in sys.modules:
            pytest.skip("OpenSim is loaded in this process, with a CasADi of its own: make test")
        return super()._imported()


casadi = Casadi("casadi", "CasADi is not installed (the casadi extra)")
jax = Module("jax", "JAX is not installed (the jax extra)")
