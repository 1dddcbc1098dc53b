"""A run's surrogate for other programs: as C source, or as an FMU."""

from __future__ import annotations

from pathlib import Path

import surrogates
from foundation.errors import InputError
from pipeline.files import replacing
from pipeline.store.made_with import check_configuration
from surrogates.export.c_export import export_knee
from surrogates.export.fmu import export_fmu
from surrogates.formulations.knee import KneeSurrogate


def export_c(source: Path, out: Path | None = None, prefix: str = "knee") -> tuple[Path, Path]:
    """Write a surrogate as C (`surrogates.export.c_export`); return the paths of header and source.

    Parameters
    ----------
    source : path
        A run directory, or the `.npz` file of a surrogate.
    out : path, optional
        Where to write; beside the surrogate if left out.
    prefix : str
        Name of the files, and what every name in them begins with.

    Raises
    ------
    SurrogateFileError
        If there is no usable surrogate.
    InputError
        If the prefix is no C identifier, or the formulation one of the whole knee.
    """
    file, knee = _knee_of(source)
    files = export_knee(knee, prefix)
    folder = out or file.parent
    folder.mkdir(parents=True, exist_ok=True)
    return files.write(folder, prefix)


def write_fmu(
    source: Path,
    version: str,
    out: Path | None = None,
    prefix: str = "knee",
    compiled: bool = True,
) -> Path:
    """Write a surrogate as an FMU (`surrogates.export.fmu`), ``<prefix>.fmu``; return its path.

    Parameters
    ----------
    source : path
        A run directory, or the `.npz` file of a surrogate.
    version : {"2.0", "3.0"}
        Of the FMI standard.
    out : path, optional
        Folder to write to; that of the surrogate if left out.
    prefix : str
        Name of the model and of its file.
    compiled : bool
        Whether to add the library for this machine to the sources.

    Raises
    ------
    SurrogateFileError
        If there is no usable surrogate.
    InputError
        If the version is not known, the prefix is no C identifier, the formulation is one of the
        whole knee, or the sources do not compile.
    """
    file, knee = _knee_of(source)
    content = export_fmu(knee, version, prefix, compiled)
    target = (out or file.parent) / f"{prefix}.fmu"
    with replacing(target) as partial:
        partial.write_bytes(content)
    return target


def _knee_of(source: Path) -> tuple[Path, KneeSurrogate]:
    """Return the file of a surrogate and the surrogate, which has compartments."""
    file = source / "knee.npz" if source.is_dir() else source
    check_configuration(file.parent if source.is_dir() else source)
    knee = surrogates.load(file)
    if not isinstance(knee, KneeSurrogate):
        raise InputError(
            f"{file}: expected a formulation of the compartments, found {knee.formulation!r}; "
            "those of the whole knee are not exported"
        )
    return file, knee
