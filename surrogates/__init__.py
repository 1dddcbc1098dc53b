"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads = knee.loads(pose, order=1)  # loads.force, loads.medial.peak_pressure, loads.jacobian

Importing this package and using a trained surrogate needs only NumPy.
"""

from surrogates.files.persistence import (
    SurrogateFileError,
    load,
    save,
)
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import ReferencePath, SampleSpace

__all__ = [
    "CompartmentSurrogate",
    "ContactSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "Parameters",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "load",
    "save",
]
