"""Compilation of the library, one translation unit, by a C compiler or the package `ziglang`."""
# For x86-64 there are builds for every processor, AVX2 and AVX-512. This file imports nothing of
# the project, so that `python foundation/core/building.py` works before there is a library.

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
#: Folders of sources, in the order of their dependencies.
FOLDERS = tuple(
    FOLDER.parents[1] / package / "core" for package in ("foundation", "surrogates", "dynamics")
)
#: Processor of each build, from the plainest to the fastest; the plain one runs everywhere.
BUILDS = {"plain": "", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}
#: No product is fused with a sum but where the sources say so, and no sum changes its order.
OPTIONS = (
    *("-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fvisibility=hidden", "-fPIC", "-shared"),
)
INCLUDES = tuple(f"-I{each}" for each in FOLDERS)
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
#: Compilers in the order of preference.
COMPILERS = ("cc", "gcc", "clang")
ZIGLANG = (sys.executable, "-m", "ziglang", "cc")


def compiler() -> list[str]:
    """Return the command of a C compiler: `CC`, one on the path, or that of `ziglang`."""
    if os.environ.get("CC"):
        return os.environ["CC"].split()
    path = next(filter(None, map(shutil.which, COMPILERS)), None)
    if path:
        return [path]
    if importlib.util.find_spec("ziglang"):
        return [*ZIGLANG]
    raise OSError(
        f"C compiler: expected one of {', '.join(COMPILERS)} or the package ziglang, found none; "
        "install one of them, for example by: pip install ziglang"
    )


def options(compiler: list[str], build: str) -> list[str]:
    """Return the options of a compiler for a build."""
    processor = BUILDS[build]
    if "ziglang" in compiler:  # which otherwise compiles for this processor
        machine = [f"-mcpu={processor.replace('-', '_') or 'baseline'}", "-s"]
    else:
        machine = [f"-march={processor}"] if processor else []
    return [*OPTIONS, *machine, *INCLUDES]


def library(build: str, folder: Path = FOLDER) -> Path:
    """Return the path of a build of the library."""
    return folder / f"libknee-{build}{SUFFIX}"


def builds(machine: str = platform.machine()) -> list[str]:
    """Return the builds for a kind of processor, by default this one."""
    return list(BUILDS) if machine.lower().startswith(("x86_64", "amd64")) else ["plain"]


def build(folder: Path = FOLDER) -> None:
    """Compile all builds for this machine, by default beside the sources, or raise `OSError`."""
    compiled(compiler(), {name: library(name, folder) for name in builds()})


def compiled(compiler: list[str], made: dict[str, Path]) -> None:
    """Compile each build of the library to its path."""
    for name, path in made.items():
        temporary = path.with_suffix(f".{os.getpid()}")  # another process may build or load it too
        command = [*compiler, *options(compiler, name), str(FOLDER / "core.c")]
        command += ["-o", str(temporary), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(command)}: failed: {done.stderr.strip()[-2000:]}")
        temporary.replace(path)


#: What pages compute with, and its build for WebAssembly.
PAGE = FOLDERS[-1] / "page.c"
PAGE_LIBRARY = PAGE.with_suffix(".wasm.gz")
_TO_PAGE = (
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-msimd128", "-Wl,--export-dynamic"),
    *("-Wl,--strip-all", "-Wl,-z,stack-size=262144"),
)


def page_digest() -> bytes:
    """Return the SHA-256 of the sources of the library for pages, in hexadecimal digits."""
    known, waiting = dict[str, bytes](), [PAGE.name]
    while waiting:
        name = waiting.pop()
        if name not in known:
            known[name] = next(
                folder / name for folder in FOLDERS if (folder / name).exists()
            ).read_bytes()
            waiting += re.findall(r'#include "(.+)"', known[name].decode("ascii"))
    return hashlib.sha256(b"".join(known[name] for name in sorted(known))).hexdigest().encode()


def build_page(path: Path = PAGE_LIBRARY) -> None:
    """Compile the library for pages by `ziglang`, or raise `OSError`."""
    temporary = path.with_suffix(".part")
    options = [option for option in OPTIONS if option not in ("-fPIC", "-shared")]
    command = [*ZIGLANG, *_TO_PAGE, *options, *INCLUDES, str(PAGE), "-o", str(temporary), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: failed: {done.stderr.strip()[-2000:]}")
    # A custom section, which WebAssembly ignores, ends with the digest of the sources.
    name, digest = b"\x07sources", page_digest()
    section = b"\x00" + bytes([len(name) + len(digest)]) + name + digest
    path.write_bytes(gzip.compress(temporary.read_bytes() + section, 9, mtime=0))
    temporary.unlink()


def build_if_stale() -> None:
    """Compile the library if a build is missing or older than a source."""
    sources = [Path(__file__), *(path for folder in FOLDERS for path in folder.glob("*.[ch]"))]
    newest = max(path.stat().st_mtime for path in sources)
    made = [library(name) for name in builds()]
    if any(not path.exists() or path.stat().st_mtime < newest for path in made):
        build()


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        build_page()
    else:
        build_if_stale()
