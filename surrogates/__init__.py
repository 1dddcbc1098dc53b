"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads, jacobian = knee.loads_and_jacobian(pose)

Importing this package and using a trained surrogate needs only NumPy, and numba for speed.
"""

from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.formulations.pair import PairSurrogate
from surrogates.formulations.whole_knee import WholeKneeSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace

__all__ = [
    "CompartmentSurrogate",
    "KneeSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "PairSurrogate",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "WholeKneeSurrogate",
    "load",
    "save",
]
