"""Packages of the distribution; everything else stands in pyproject.toml.

The shipped configurations lie in `configs/` of the repository, and in a wheel in
`pipeline/configs/`, which the finder of pyproject.toml cannot say.
"""

from setuptools import find_packages, setup

PACKAGES = ("foundation", "surrogates", "dynamics", "pipeline")

setup(
    packages=[
        *find_packages(include=[*PACKAGES, *(f"{name}.*" for name in PACKAGES)]),
        "pipeline.configs",
    ],
    package_dir={"pipeline.configs": "configs"},
)
