"""Analytical contact laws on smooth surfaces fitted to the compartments of a knee."""

from foundation.fitted_surfaces.model import FittedSurfaceContact

__all__ = [
    "FittedSurfaceContact",
]
