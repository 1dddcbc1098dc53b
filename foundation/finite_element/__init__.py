"""Finite-element contact: an elastic layer condensed to its bearing surface."""

from foundation.finite_element.layer import ElasticLayer, PlaneBase, SolidBase, ThicknessBase
from foundation.finite_element.model import FiniteElementContact

__all__ = [
    "ElasticLayer",
    "FiniteElementContact",
    "PlaneBase",
    "SolidBase",
    "ThicknessBase",
]
