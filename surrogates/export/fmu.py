"""Export to an FMU: the C export of a knee behind the functions of FMI 2.0 or 3.0."""

from __future__ import annotations

# `templates/fmi/variables.csv` lists the variables in the order of their value references, which
# `templates/fmi/model.c` repeats.
import csv

# One file serves co-simulation and model exchange: loads depend on the pose alone, so that there
# are no states to integrate.
import hashlib
import io
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.core.building import COMPILERS
from surrogates.export.c_export import (
    array,
    c_compiler,
    check_prefix,
    export_knee,
    rendered,
    template,
    verdict_of,
)
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Versions of the standard that can be exported.
VERSIONS = ("2.0", "3.0")
_TABLE = Path(__file__).with_name("templates") / "fmi" / "variables.csv"
_TITLE = "Contact of the knee: loads over the pose of the femur, by a surrogate"


class Variable(NamedTuple):
    """A variable of the FMU: name, unit (empty for a flag), causality and description."""

    name: str
    unit: str
    causality: str
    text: str


class Content(NamedTuple):
    """Contents of an FMU that differ from one knee to the next."""

    #: Name of the model, its library and its sources.
    identifier: str
    #: Identifies library and description as parts of one FMU.
    token: str
    #: Pose (6,) [rad, m].
    start: FloatArray
    sources: tuple[str, ...]
    #: Name and version of the exporting package.
    tool: str
    compartments: tuple[str, ...] = COMPARTMENTS
    #: Verdict of the surrogate; "" without.
    verdict: str = ""


#: Variables in the order of their value references; of the compartments, those of the first.
with _TABLE.open(encoding="ascii", newline="") as _stream:
    _ROWS = tuple(Variable(**row) for row in csv.DictReader(_stream))
_INPUTS = [k for k, variable in enumerate(_ROWS) if variable.causality == "input"]
_MODEL = COMPARTMENTS[0]


def variables_of(compartments: tuple[str, ...]) -> tuple[Variable, ...]:
    """Return the variables of a surrogate with these compartments in the order of references."""
    variables: list[Variable] = []
    for is_flag in (False, True):  # the flags follow all outputs
        rows = [v for v in _ROWS if (not v.unit) == is_flag]
        model = [v for v in rows if v.name.startswith(f"{_MODEL}_")]
        first, end = rows.index(model[0]), rows.index(model[-1]) + 1
        repeated = [_renamed(v, name) for name in compartments for v in model]
        variables += [*rows[:first], *repeated, *rows[end:]]
    return tuple(variables)


def _renamed(variable: Variable, name: str) -> Variable:
    kind = "condyle" if name in COMPARTMENTS else "compartment"
    text = variable.text.replace(f"{_MODEL} condyle", f"{name} {kind}").replace(_MODEL, name)
    return variable._replace(name=variable.name.replace(_MODEL, name, 1), text=text)


#: All variables of a knee.
VARIABLES = variables_of(COMPARTMENTS)


def model_description(version: str, content: Content) -> bytes:
    """Return `modelDescription.xml` of a version of the standard, UTF-8."""
    names = [VARIABLES[k].name for k in _INPUTS]
    return _rendered(
        "modelDescription.xml", content, version=version, inputs=_INPUTS,
        start=dict(zip(names, map(repr, content.start.tolist()), strict=True)),
        outputs=[
            k for k, variable in enumerate(variables_of(content.compartments))
            if variable.causality == "output"
        ],
    )  # fmt: skip


def build_description(content: Content) -> bytes:
    """Return `sources/buildDescription.xml` of FMI 3.0, UTF-8."""
    return _rendered("buildDescription.xml", content)


def _rendered(name: str, content: Content, **values: Any) -> bytes:
    title = f"{_TITLE}. {content.verdict}" if content.verdict else _TITLE
    known = content._asdict() | {"variables": variables_of(content.compartments)}
    known |= {"title": escape(title, {'"': "&quot;"}), **values}
    return rendered(f"fmi/{name}", **known).encode()


_PACKAGE = "knee-contact"
#: Options without -march=native, so that the library runs on every machine of its kind.
_OPTIONS = ("-std=c99", "-O3", "-fPIC", "-shared", "-fvisibility=hidden")
#: Earliest date of a ZIP file, so that the same knee gives the same file.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Names of operating systems in FMI 2.0 and 3.0, and the suffix of their libraries.
_SYSTEMS = {
    "linux": ("linux", "linux", ".so"),
    "darwin": ("darwin", "darwin", ".dylib"),
    "win32": ("win", "windows", ".dll"),
}
#: Spellings of FMI 2.0 for names that both versions have.
_SPELLED_2 = {
    "fmiXInstance": "fmiXComponent",
    "fmiXFloat64": "fmiXReal",
    "GetFloat64": "GetReal",
    "SetFloat64": "SetReal",
    "FMUState": "FMUstate",
    "Deserialize": "DeSerialize",
}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i686": "x86"}


class FmuError(InputError):
    """An FMU cannot be built; the message states the reason and the remedy."""


class Platform(NamedTuple):
    """Folder of `binaries` for a machine, and the suffix of libraries there."""

    folder: str
    suffix: str


def export_fmu(
    knee: ContactSurrogate,
    version: str = "3.0",
    prefix: str = "knee",
    compiled: bool = True,
) -> bytes:
    """Return the content of an FMU, a ZIP file to be named ``<prefix>.fmu``.

    Inputs are the six coordinates of the pose, outputs the loads, the generalised forces and three
    flags (`variables_of`). The same knee and
    compiler give the same bytes.

    Parameters
    ----------
    knee : ContactSurrogate
        The knee, or another contact pair, to export.
    version : {"2.0", "3.0"}
        Version of the FMI standard.
    prefix : str
        Name of the model, its library and its sources.
    compiled : bool
        Whether to add the library for this machine; otherwise the importer compiles the sources.

    Raises
    ------
    InputError
        If the version is not supported or the prefix is not a C identifier.
    FmuError
        If a C compiler is not found or fails.
    """
    check_in("version", version, VERSIONS)
    check_prefix(prefix)
    loads = export_knee(knee, prefix)
    names = f"{prefix}.c", f"{prefix}_fmu.c"
    head = knee.compartments, verdict_of(knee.header)
    content = Content(prefix, "", _start(knee), names, _tool(), *head)
    token = _token(f"{version}{content.tool}{loads.source}{_wrapper(version, content)}")
    content = content._replace(token=token)
    sources = {f"{prefix}.h": loads.header, names[0]: loads.source}
    sources[names[1]] = _wrapper(version, content)
    texts = {name: text.encode("ascii") for name, text in sources.items()}
    files = {f"sources/{name}": text for name, text in texts.items()}
    files["modelDescription.xml"] = model_description(version, content)
    files["documentation/licenses/license.txt"] = _licence().encode()
    if version == "3.0":
        files["sources/buildDescription.xml"] = build_description(content)
    if compiled:
        target = this_platform(version)
        library = compile_library(texts, content.sources, version, prefix + target.suffix)
        files[f"binaries/{target.folder}/{prefix}{target.suffix}"] = library
    return _zip(files)


def this_platform(version: str) -> Platform:
    """Return the platform of this machine in the terms of a version, or raise `FmuError`."""
    if sys.platform not in _SYSTEMS:
        raise FmuError(
            f"platform: expected one of {', '.join(_SYSTEMS)}, found {sys.platform}; export only "
            "the sources (--sources-only)"
        )
    old, new, suffix = _SYSTEMS[sys.platform]
    if version == "2.0":
        return Platform(f"{old}{64 if sys.maxsize > 2**32 else 32}", suffix)
    machine = platform.machine().lower()
    return Platform(f"{_MACHINES.get(machine, machine)}-{new}", suffix)


def compile_library(
    files: Mapping[str, bytes], sources: tuple[str, ...], version: str, name: str
) -> bytes:
    """Return a shared library of C `sources` among files, for a version of the standard."""
    compiler = c_compiler()
    if compiler is None:
        raise FmuError(
            f"C compiler: expected one of {', '.join(COMPILERS)} on the path, found none; install "
            "a compiler or export only the sources (--sources-only)"
        )
    plain_names = f"-DFMI{version[0]}_OVERRIDE_FUNCTION_PREFIX"
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file).write_bytes(text)
        # Names without a folder, so that the library contains no path of this machine.
        command = [compiler, *_OPTIONS, plain_names, "-s", "-o", name, *sources, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = (line.strip() for line in done.stderr.splitlines() if "error" in line)
            raise FmuError(
                f"{compiler}: could not compile the sources of the FMU, found "
                f"{next(errors, 'no message')!r}; check the compiler or export only the sources "
                "(--sources-only)"
            )
        return (Path(folder) / name).read_bytes()


def _wrapper(version: str, content: Content) -> str:
    """Return the source of the FMI functions around ``<prefix>_loads``."""
    prefix, number = content.identifier, version[0]
    includes = "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"
    head = [f'#include "{prefix}.h"', "", *(f"#include <{name}>" for name in includes), ""]
    head.append(f'#define {prefix.upper()}_TOKEN "{content.token}"')
    head.append(f"enum {{ {prefix.upper()}_PARTS = {len(content.compartments)} }};")
    head.append(array(f"{prefix}_start", content.start))
    parts = ("names", f"fmi{number}_types", "model", "common", f"fmi{number}")
    text = "\n".join([*head, *(template(prefix, f"fmi/{part}") for part in parts)])
    for word, other in _SPELLED_2.items() if version == "2.0" else ():
        text = text.replace(word, other)
    return text.replace("FMIX", f"FMI{number}").replace("fmiX", f"fmi{number}")


def _start(knee: ContactSurrogate) -> FloatArray:
    """Return the pose (6,) of the reference path at the middle of the trained flexion."""
    space = knee.spaces[0]
    return space.path.poses([np.mean(space.flexion)])[0]


def _token(text: str) -> str:
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    return "{" + "-".join(re.findall("(.{8})(.{4})(.{4})(.{4})(.{12})", digest[:32])[0]) + "}"


def _tool() -> str:
    try:
        return f"{_PACKAGE} {distribution(_PACKAGE).version}"
    except PackageNotFoundError:
        return _PACKAGE


def _licence() -> str:
    """Return the text of the licence, from the installed package or the repository."""
    try:
        text = distribution(_PACKAGE).read_text("licenses/LICENSE")
    except PackageNotFoundError:
        text = None
    return text or Path(__file__).parents[2].joinpath("LICENSE").read_text(encoding="utf-8")


def _zip(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3  # Unix, whose permissions follow
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return target.getvalue()
