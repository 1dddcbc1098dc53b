"""Files of surrogates over designs."""

from __future__ import annotations

import json

import designed_condyles as made
import numpy as np
import pytest

import surrogates
from surrogates.files.persistence import digest

DESIGN = np.array([17.0, 5e-3, 9.5])


@pytest.fixture
def file(tmp_path):
    surrogates.save_parametric(made.knee(), tmp_path / "knee.npz")
    return tmp_path / "knee.npz"


def altered(file, change):
    """Change the arrays of a file, and sign it anew."""
    with np.load(file) as stored:
        arrays = dict(stored)
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    header["sha256"] = digest(header, arrays)
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    with file.open("wb") as stream:
        np.savez(stream, **arrays, header=text)


def test_a_file_gives_the_surrogate_back(file):
    found = surrogates.load_parametric(file)
    poses = made.space_of(DESIGN).draw(np.random.default_rng(0).random((20, 6)))[0]
    np.testing.assert_array_equal(
        found.at(DESIGN).evaluate_batch(poses)[0], made.knee().at(DESIGN).evaluate_batch(poses)[0]
    )
    assert found.parameters.names == made.PARAMETERS.names
    assert found.header["parameters"][2] == {"name": "thickness_mm", "low": 6.0, "high": 12.0}


def test_a_single_design_is_saved_as_any_knee(file, tmp_path):
    single = surrogates.load_parametric(file).at(DESIGN)
    surrogates.save(single, tmp_path / "single.npz")
    found = surrogates.load(tmp_path / "single.npz")
    poses = made.space_of(DESIGN).draw(np.random.default_rng(0).random((5, 6)))[0]
    np.testing.assert_array_equal(found.evaluate_batch(poses)[0], single.evaluate_batch(poses)[0])
    with pytest.raises(surrogates.SurrogateFileError, match=r"use `surrogates\.load`"):
        surrogates.load_parametric(tmp_path / "single.npz")


def test_the_readers_name_each_other(file):
    with pytest.raises(surrogates.SurrogateFileError, match=r"use `surrogates\.load_parametric`"):
        surrogates.load(file)


@pytest.mark.parametrize(
    "name",
    ["medial/constants", "medial/space/load", "medial/space/path/flexion", "lateral/domain/limits",
     "lateral/coordinates/middle", "medial/coordinates/centre/exponents",
     "medial/first/weights"],
)  # fmt: skip
def test_a_file_without_an_array_is_refused(file, name):
    altered(file, lambda header, arrays: arrays.pop(name))
    with pytest.raises(surrogates.SurrogateFileError, match="not a usable surrogate"):
        surrogates.load_parametric(file)


def test_a_file_with_other_parameters_is_refused(file):
    altered(file, lambda header, arrays: header["parameters"].pop())
    with pytest.raises(surrogates.SurrogateFileError, match="expected 2 parameters, found 3"):
        surrogates.load_parametric(file)


def test_a_file_of_a_later_version_is_refused(file):
    altered(file, lambda header, arrays: header.update(version=9))
    with pytest.raises(surrogates.SurrogateFileError, match="expected version 1, found 9"):
        surrogates.load_parametric(file)


def test_an_altered_file_is_refused(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(surrogates.SurrogateFileError):
        surrogates.load_parametric(file)
