"""The cheap model: sample space and designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads, jacobian = knee.loads_and_jacobian(pose)

Importing this package and using a trained surrogate needs NumPy alone, and numba for speed.
"""

from surrogates.compartment import CompartmentSurrogate
from surrogates.knee import KneeSurrogate, OutsideDomainError, OutsideDomainWarning
from surrogates.persistence import SurrogateFileError, load, save
from surrogates.space import ReferencePath, SampleSpace
from surrogates.whole_knee import WholeKneeSurrogate

__all__ = [
    "CompartmentSurrogate",
    "KneeSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "WholeKneeSurrogate",
    "load",
    "save",
]
