"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads, jacobian = knee.loads_and_jacobian(pose)

Importing this package and using a trained surrogate needs only NumPy, and numba for speed.
"""

from foundation.former_names import redirect
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

redirect(
    {
        "surrogates.c_export": "surrogates.export.c_export",
        "surrogates.compartment": "surrogates.formulations.compartment",
        "surrogates.cross_validation": "surrogates.families.cross_validation",
        "surrogates.designs": "surrogates.sampling.designs",
        "surrogates.domain": "surrogates.formulations.domain",
        "surrogates.domain_fit": "surrogates.formulations.domain_fit",
        "surrogates.fmu": "surrogates.export.fmu",
        "surrogates.knee": "surrogates.formulations.knee",
        "surrogates.persistence": "surrogates.files.persistence",
        "surrogates.regressor": "surrogates.families.regressor",
        "surrogates.space": "surrogates.sampling.space",
        "surrogates.validation": "surrogates.formulations.validation",
        "surrogates.whole_knee": "surrogates.formulations.whole_knee",
    }
)
