"""Surrogates of the contact: sample space, designs, regressors, formulations, validation, files.

    import surrogates
    knee = surrogates.load("runs/implant/knee.npz")
    loads = knee.loads(pose, order=1)  # loads.force, loads.medial.peak_pressure, loads.jacobian

    knee = surrogates.fit(poses, loads, family="kriging")
    errors = knee.errors(other_poses, other_loads)

Importing this package and using a trained surrogate needs only NumPy.
"""

from __future__ import annotations

from pathlib import Path

from surrogates.files.persistence import (
    SurrogateFileError,
    load,
    save,
)
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import OutsideDomainError, OutsideDomainWarning
from surrogates.formulations.training_data import Samples
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import ReferencePath, SampleSpace
from surrogates.training import fit

__all__ = [
    "ContactSurrogate",
    "OutsideDomainError",
    "OutsideDomainWarning",
    "Parameters",
    "ReferencePath",
    "SampleSpace",
    "Samples",
    "SurrogateFileError",
    "export_c",
    "fit",
    "load",
    "save",
]


def export_c(knee: ContactSurrogate, folder: str | Path, name: str = "knee") -> tuple[Path, Path]:
    """Write a surrogate as C source, ``<name>.h`` and ``<name>.c``; return their paths.

    Parameters
    ----------
    knee : ContactSurrogate
        The surrogate.
    folder : str or Path
        Folder, made if there is none.
    name : str
        Name of the files; the names in C begin with it.

    Raises
    ------
    InputError
        If `knee` is no surrogate or no name in C can begin with `name`.
    """
    from foundation.base.errors import InputError
    from surrogates.export.c_export import export_knee

    if not isinstance(knee, ContactSurrogate):
        raise InputError(f"knee: expected a surrogate, found {knee!r:.60}; read its file with load")
    return export_knee(knee, name).write(folder, name)
