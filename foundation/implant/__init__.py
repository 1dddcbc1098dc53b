"""The built-in condylar implant: condyles, dishes, and how they sit in each other."""

from foundation.implant.condylar_implant import CondylarImplant

__all__ = [
    "CondylarImplant",
]
