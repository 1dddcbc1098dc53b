"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads = knee.loads(pose, order=1)  # loads.force, loads.medial.peak_pressure, loads.jacobian

Importing this package and using a trained surrogate needs only NumPy.
"""

from surrogates.files.persistence import (
    SurrogateFileError,
    load,
    load_parametric,
    save,
    save_parametric,
)
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.parametric.parameters import Parameters
from surrogates.parametric.surrogate import ParametricSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace

__all__ = [
    "CompartmentSurrogate",
    "ContactSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "Parameters",
    "ParametricSurrogate",
    "ReferencePath",
    "SampleSpace",
    "SurrogateFileError",
    "load",
    "load_parametric",
    "save",
    "save_parametric",
]
