"""The exported C of a surrogate, compiled and loaded as a function of CasADi."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from foundation.base.errors import InputError
from foundation.base.files import replacing
from foundation.core.building import COMPILERS
from surrogates.export.c_export import CFiles, c_compiler, export_knee
from surrogates.expressions.of_casadi import casadi
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: With -O3, GCC unrolls the short loops of the source before it makes vector instructions of them.
_OPTIONS = ("-std=c99", "-O2", "-ftree-vectorize", "-funroll-loops", "-shared", "-fPIC")
#: Options for the instructions of this processor; the first that the compiler knows is used.
_PROCESSOR = ("-march=native", "-mcpu=native", "")


def has_compiler() -> bool:
    """Return whether `compiled_wrench` finds a C compiler on the path."""
    return c_compiler() is not None


def compiled_wrench(knee: ContactSurrogate, folder: Path | str, prefix: str = "knee") -> Any:
    """Return the contact wrench as compiled C, with exact first and second derivatives.

    For Kriging and networks a call takes a small share of the time of `knee.casadi()`, and there
    are no expressions to build. The function is external, and there is no domain.

    Parameters
    ----------
    knee : ContactSurrogate
        The contact, smoothed (`knee.smoothed()`) for optimisers.
    folder : path
        Folder for the library, made if it is missing. A library that was compiled from the same
        source for the same kind of processor is loaded again. Keep the folder as long as the
        function is in use. Several programs may use one folder at a time.
    prefix : str
        First part of every name in C; also the name of the function.

    Returns
    -------
    casadi.Function
        ``<prefix>_wrench``: pose (6) [rad, m] to force and moment about the tibial origin (6, C)
        [N, N m], a column for each compartment.

    Raises
    ------
    InputError
        If CasADi is not installed, no C compiler is on the path, the compiler fails, the folder
        cannot be written, or the prefix is not a C identifier.
    """
    ca, compiler = casadi(), c_compiler()
    if compiler is None:
        raise InputError(
            f"C compiler: expected one of {', '.join(COMPILERS)} on the path, found none; install "
            "a compiler or use knee.casadi()"
        )
    files = export_knee(knee, prefix, casadi=True)
    options, target = _options_for(compiler)
    # A library that is in use must not be overwritten, nor one of another processor be loaded.
    text = "\0".join((*options, target, files.header, files.source))
    name = f"{prefix}_{hashlib.sha256(text.encode('ascii')).hexdigest()[:16]}"
    library = Path(folder).resolve() / f"{name}.so"
    if not library.is_file():
        try:
            library.parent.mkdir(parents=True, exist_ok=True)
            _compile(compiler, options, files, prefix, library)
        except OSError as error:
            raise InputError(
                f"folder: expected a folder for the library {library.name}, found {error}; choose "
                "a folder that can be written"
            ) from error
    return ca.external(f"{prefix}_wrench", str(library))


def _options_for(compiler: str) -> tuple[tuple[str, ...], str]:
    """Return the options, and the predefined macros, which name compiler and instructions."""
    for processor in _PROCESSOR:
        options = (*_OPTIONS, *filter(None, [processor]))
        done = _run([compiler, *options, "-dM", "-E", "-x", "c", os.devnull])
        if done.returncode == 0:
            return options, done.stdout
    return _OPTIONS, ""


def _compile(
    compiler: str, options: tuple[str, ...], files: CFiles, prefix: str, library: Path
) -> None:
    """Compile sources to a shared library; raise InputError if the compiler fails."""
    with tempfile.TemporaryDirectory() as folder, replacing(library) as unfinished:
        source = files.write(folder, prefix)[1]
        done = _run([compiler, *options, "-o", str(unfinished), str(source), "-lm"])
        if done.returncode:
            raise InputError(
                f"{compiler}: could not compile the surrogate with {' '.join(options)}, found "
                f"{done.stderr.strip()[-300:]!r}; check the compiler or use knee.casadi()"
            )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
