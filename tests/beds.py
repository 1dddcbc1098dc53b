"""Contact models of the tests: a linear law on simple shapes, and the built-in implant."""

from functools import cache

import naive
import shapes

from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant

#: Young's modulus [Pa], Poisson's ratio and thickness [m] of a layer of cartilage.
E, NU, H = 10e6, 0.45, 6e-3
LAW = LinearLaw(E, NU, H)
#: Pressure over indentation of this layer [Pa/m].
K = naive.confined_modulus(E, NU) / H
#: The same of a layer of polyethylene.
POLYETHYLENE = (463e6, 0.46, 8e-3)
IMPLANT = CondylarImplant()


def model_of(femur, tibia, law=LAW, surface="curved", labels=None, **options):
    """Return the model of two meshes; compartments are the halves of the tibia by default."""
    labels = shapes.labels(tibia) if labels is None else labels
    return ElasticFoundation(femur, tibia, law, surface=surface, compartments=labels, **options)


@cache
def implant_meshes(edge):
    """Return femur, insert and labels of the built-in implant with edges of this length [m]."""
    return IMPLANT.tessellate(edge)


def implant_model(law, surface="curved", edge=2e-3, **options):
    femur, insert, labels = implant_meshes(edge)
    return model_of(femur, insert, law, surface, labels, **options)
