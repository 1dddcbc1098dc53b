"""What simulations of an OpenSim model have in common: a model, its plant, and frames."""

from __future__ import annotations

from typing import Protocol

from dynamics.musculoskeletal import OsimModel, Plant
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads


class Simulated(Protocol):
    """A model with its multibody system along a motion."""

    @property
    def model(self) -> OsimModel:
        """The model."""
        ...

    @property
    def plant(self) -> Plant:
        """Its multibody system along the motion."""
        ...


class Frames(Protocol):
    """Results at N frames."""

    @property
    def time(self) -> FloatArray:
        """Instants (N,) [s]."""
        ...

    @property
    def secondary(self) -> tuple[str, ...]:
        """Names of the S secondary coordinates."""
        ...

    @property
    def muscles(self) -> tuple[str, ...]:
        """Names of the M muscles."""
        ...

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts."""
        ...

    @property
    def values(self) -> FloatArray:
        """Secondary coordinates (N, S) [rad, m]."""
        ...

    @property
    def speeds(self) -> FloatArray:
        """Their speeds (N, S) [per s]."""
        ...

    @property
    def activations(self) -> FloatArray:
        """Activations (N, M) [1]."""
        ...

    @property
    def muscle_forces(self) -> FloatArray:
        """Muscle forces (N, M) [N]."""
        ...

    @property
    def loads(self) -> tuple[tuple[ContactLoads, ...], ...]:
        """Loads of each contact at each frame."""
        ...
