"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads, jacobian = knee.loads_and_jacobian(pose)

Importing this package and using a trained surrogate needs only NumPy, and numba for speed.
"""

from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.sampling.space import ReferencePath, SampleSpace

__all__ = [
    "CompartmentSurrogate",
    "ContactSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "load",
    "save",
]
