"""Layers of polyethylene: under a rigid plate, where all springs are alike, and of an implant."""

from dataclasses import dataclass

import numpy as np
import shapes

from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation, SpringState
from foundation.implant.condylar_implant import CondylarImplant

#: Young's modulus [Pa], Poisson's ratio and thickness [m].
E, NU, H = 463e6, 0.46, 10e-3


@dataclass
class Pressed:
    """A plate under pressures that do not depend on the pose."""

    pressure: np.ndarray
    tibia: object
    compartments: np.ndarray

    def spring_state(self, pose):
        return SpringState(np.zeros_like(self.pressure), self.pressure)


def covered_plate(surface="flat", thickness=H):
    """Return the contact of the plates."""
    tibia = shapes.plate(20e-3, 4)
    law, labels = LinearLaw(E, NU, thickness), shapes.labels(tibia)
    femur = shapes.plate(30e-3, 1, up=False)
    return ElasticFoundation(femur, tibia, law, surface=surface, compartments=labels)


def round_implant(edge=3e-3, surface="curved"):
    """Return an implant of one sagittal radius, and its contact with a layer of polyethylene."""
    shape = CondylarImplant.single_radius(25e-3)
    femur, tibia, labels = shape.tessellate(edge)
    law = LinearLaw(E, NU, H)
    return shape, ElasticFoundation(femur, tibia, law, surface=surface, compartments=labels)
