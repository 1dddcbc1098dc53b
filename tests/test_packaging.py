"""Wheel and sdist hold what they must, the one makes the other; lock and citation fit."""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from setuptools import find_packages

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("foundation", "surrogates", "dynamics", "pipeline")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: What is no source: environments, caches, results, and what a build leaves.
NO_SOURCE = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "runs", "site", "htmlcov", "*.egg-info", "libknee-*"
)


def build(source, out, *kinds):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *kinds]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the sources; a build writes into them."""
    copy = tmp_path_factory.mktemp("sources") / "knee"
    shutil.copytree(ROOT, copy, ignore=NO_SOURCE)
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    cache = copy / "foundation" / "__pycache__"
    cache.mkdir()
    (cache / "kernels.cpython-311.pyc").write_bytes(b"compiled")
    return copy


@pytest.fixture(scope="module")
def built(tree):
    """Return the folder of an sdist and of the wheel that was built from it."""
    build(tree, tree / "dist")
    return tree / "dist"


@pytest.fixture(scope="module")
def in_wheel(built):
    return members(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def in_sdist(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def sources(*folders):
    return {
        str(file.relative_to(ROOT))
        for folder in folders
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_packages(in_wheel):
    told = f"knee_contact-{PROJECT['version']}.dist-info/"
    carried = {name for name in in_wheel if not name.startswith(told)}
    configs = {f"pipeline/{name}" for name in sources("configs")}
    assert len(configs) >= 9
    assert carried == sources(*PACKAGES) | configs


def test_every_folder_with_modules_is_a_package():
    folders = {file.parent for name in PACKAGES for file in (ROOT / name).rglob("*.py")}
    named = {str(folder.relative_to(ROOT)).replace("/", ".") for folder in folders}
    assert named == {
        name for name in find_packages(str(ROOT)) if name.partition(".")[0] in PACKAGES
    }


@pytest.mark.slow
def test_sdist_holds_what_it_takes_to_build_test_and_read(in_sdist):
    wanted = sources(*PACKAGES, "tests", "docs", "configs", "benchmarks", ".ci", "examples")
    for name in ("Makefile", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"):
        wanted.add(name)
    wanted = {name for name in wanted if "libknee-" not in name}
    wanted |= {"requirements.lock", "pyproject.toml", "setup.py", "mkdocs.yml", "LICENSE"}
    assert wanted <= in_sdist


def test_lock_pins_every_dependency():
    pinned = re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    wanted = list(PROJECT["dependencies"])
    for name, extra in PROJECT["optional-dependencies"].items():
        wanted += [] if name in ("all", "peers") else extra
    for requirement in wanted:
        name = re.split(r"[\[<>=~ ]", requirement)[0].lower().replace("_", "-")
        assert name in pinned


def test_citation_file_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
