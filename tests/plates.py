"""A plate of polyethylene under a larger rigid plate: all springs have the same indentation."""

from __future__ import annotations

import shapes

from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation

#: Young's modulus [Pa], Poisson's ratio and thickness [m].
E, NU, H = 463e6, 0.46, 10e-3


def covered_plate(surface="flat", thickness=H):
    """Return the contact of the plates."""
    tibia = shapes.plate(20e-3, 4)
    law, labels = LinearLaw(E, NU, thickness), shapes.labels(tibia)
    femur = shapes.plate(30e-3, 1, up=False)
    return ElasticFoundation(femur, tibia, law, surface=surface, compartments=labels)
