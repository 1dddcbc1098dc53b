"""Packages of the distribution and the compiled library; everything else stands in pyproject.toml.

The shipped configurations lie in `configs/` of the repository, and in a wheel in
`pipeline/configs/`, which the finder of pyproject.toml cannot say. The library is compiled into the
wheel, or, in an editable installation, beside its sources.
"""

import os
import runpy
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

PACKAGES = ("foundation", "surrogates", "dynamics", "pipeline")
CORE = Path("foundation") / "core"
#: Platforms of wheels: what `ziglang` calls them, and the ending of their libraries.
PLATFORMS = {
    "manylinux2014_x86_64": ("x86_64-linux-gnu.2.17", ".so"),
    "manylinux2014_aarch64": ("aarch64-linux-gnu.2.17", ".so"),
    "macosx_11_0_arm64": ("aarch64-macos.11.0", ".dylib"),
    "win_amd64": ("x86_64-windows-gnu", ".dll"),
}
#: Platform of the wheel, one of `PLATFORMS`; without one, that of this machine.
PLATFORM = os.environ.get("KNEE_PLATFORM")


class WithLibrary(build_py):
    """Python modules, and the library that they load."""

    def run(self):
        """Copy the modules and compile the library, for `KNEE_PLATFORM` if that is given."""
        super().run()
        building = runpy.run_path(str(CORE / "building.py"))
        if self.editable_mode:
            building["build"]()
            return
        folder = Path(self.build_lib) / CORE
        for other in folder.glob("libknee-*"):
            other.unlink()
        if PLATFORM is None:
            building["build"](folder)
            return
        target, suffix = PLATFORMS[PLATFORM]
        library, builds = building["library"], building["builds"](target)
        made = {name: library(name, folder).with_suffix(suffix) for name in builds}
        building["compiled"]([*building["ZIGLANG"], "-target", target], made)


class OfPlatform(Distribution):
    """A distribution of one platform, as one with extension modules is."""

    def has_ext_modules(self):
        """Return True."""
        return True


class ForEveryPython(bdist_wheel):
    """A wheel for every version of Python, as the library is no extension module."""

    def get_tag(self):
        """Return Python, binary interface and platform."""
        return "py3", "none", PLATFORM or super().get_tag()[2]


setup(
    packages=[
        *find_packages(include=[*PACKAGES, *(f"{name}.*" for name in PACKAGES)]),
        "pipeline.configs",
    ],
    package_dir={"pipeline.configs": "configs"},
    cmdclass={"build_py": WithLibrary, "bdist_wheel": ForEveryPython},
    distclass=OfPlatform,
)
