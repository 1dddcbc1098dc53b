"""Compilation of the library by the system's C compiler, or by the package `ziglang`.

The sources in `core/` of the packages are one translation unit, `core.c`. For x86-64 there is a
build for every processor, and builds for AVX2 and AVX-512 that are taken where the processor can
run them. This file imports nothing of the project, so that it can be run before there is a library:

    python foundation/core/building.py
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
#: Folders of sources, in the order of their dependencies.
FOLDERS = tuple(
    FOLDER.parents[1] / package / "core" for package in ("foundation", "surrogates", "dynamics")
)
#: Options of each build beside `OPTIONS`, from the plainest to the fastest.
BUILDS = {"plain": (), "avx2": ("-march=x86-64-v3",), "avx512": ("-march=x86-64-v4",)}
#: No product is fused with a sum but where the sources say so, and no sum changes its order.
OPTIONS = (
    *("-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fvisibility=hidden", "-fPIC", "-shared"),
)
INCLUDES = tuple(f"-I{each}" for each in FOLDERS)
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
#: Compilers in the order of preference.
COMPILERS = ("cc", "gcc", "clang")


def compiler() -> list[str]:
    """Return the command of a C compiler: `CC`, one on the path, or that of `ziglang`.

    Raises `OSError` if there is none.
    """
    if os.environ.get("CC"):
        return os.environ["CC"].split()
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found:
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise OSError(
        f"C compiler: expected one of {', '.join(COMPILERS)} or the package ziglang, found none; "
        "install one of them, for example by: pip install ziglang"
    )


def library(build: str, folder: Path = FOLDER) -> Path:
    """Return the path of a build of the library."""
    return folder / f"libknee-{build}{SUFFIX}"


def builds() -> list[str]:
    """Return the builds for this kind of processor."""
    return list(BUILDS) if platform.machine().lower() in ("x86_64", "amd64") else ["plain"]


def build(root: Path | None = None) -> None:
    """Compile all builds beside the sources, or where they stand under another root.

    Raises `OSError` if there is no compiler or the compiler fails.
    """
    folder = FOLDER if root is None else root / "foundation" / "core"
    for name in builds():
        made = library(name, folder)
        part = made.with_suffix(f".{os.getpid()}")  # another process may build or load it too
        command = [*compiler(), *OPTIONS, *BUILDS[name], *INCLUDES, str(FOLDER / "core.c")]
        command += ["-o", str(part), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(command)}: failed: {done.stderr.strip()[-2000:]}")
        part.replace(made)


def build_if_stale() -> None:
    """Compile the library if a build is missing or older than a source."""
    sources = [Path(__file__), *(path for each in FOLDERS for path in each.glob("*.[ch]"))]
    newest = max(path.stat().st_mtime for path in sources)
    made = [library(name) for name in builds()]
    if any(not path.exists() or path.stat().st_mtime < newest for path in made):
        build()


if __name__ == "__main__":
    build_if_stale()
