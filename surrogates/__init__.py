"""The cheap model: sample space and designs, regressors, the knee formulation, validation.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads, jacobian = knee.loads_and_jacobian(pose)

Importing this package and using a trained surrogate needs neither SMT nor scikit-learn.
"""

from surrogates.formulations import DirectCompartment, InvertedCompartment
from surrogates.knee import KneeSurrogate
from surrogates.persistence import SurrogateFileError, load, save
from surrogates.space import ReferencePath, SampleSpace

__all__ = [
    "DirectCompartment",
    "InvertedCompartment",
    "KneeSurrogate",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "load",
    "save",
]
