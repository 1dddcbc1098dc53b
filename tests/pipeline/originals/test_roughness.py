"""Roughness of the surfaces of a knee, and what `check` says of rough surfaces."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies import export, implant_meshes, mesh_study

from foundation.surfaces.smoothing import smoothed
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.roughness import SMOOTH, loaded_patches, roughness

COUPLED = "contact.law=coupled"


def rough(mesh, height):
    """Surface with random heights [m] on its vertices."""
    noise = np.random.default_rng(0).normal(size=(len(mesh.vertices), 1))
    up = np.array([0.0, 1.0, 0.0])
    return type(mesh)(mesh.vertices + height * noise * up, mesh.faces, mesh.name)


def written(folder: Path, height: float) -> Path:
    """Study of the built-in implant as two meshes with random heights [m]."""
    files = {
        body: {"file": str(export(rough(mesh, height), folder / f"{body}.ply"))}
        for body, mesh in implant_meshes().items()
    }
    return mesh_study(folder, **files)


@pytest.fixture(scope="module")
def knee(tmp_path_factory):
    """Configuration, smooth surfaces and sample space of the implant."""
    config = load_config(written(tmp_path_factory.mktemp("knee"), 0.0))
    surfaces = load_surfaces(config)
    return config, surfaces, sample_space(config, KneeInputs(config, surfaces).path)


def roughened(surfaces, height):
    femur, tibia = (rough(mesh, height) for mesh in (surfaces.femur, surfaces.tibia))
    return replace(surfaces, femur=femur, tibia=tibia)


def roughness_of(config, surfaces, space):
    return roughness(config, surfaces, loaded_patches(config, surfaces, space))


def test_roughness_grows_with_the_ridges_and_falls_with_smoothing(knee):
    config, surfaces, space = knee
    smooth = roughness_of(config, surfaces, space)
    slightly, much = (roughened(surfaces, height) for height in (4e-6, 12e-6))
    assert smooth < SMOOTH < roughness_of(config, much, space)
    assert smooth < roughness_of(config, slightly, space) < roughness_of(config, much, space)
    femur, tibia = (smoothed(mesh, 50e-6).mesh for mesh in (much.femur, much.tibia))
    again = replace(much, femur=femur, tibia=tibia)
    assert roughness_of(config, again, space) < SMOOTH
    patches = loaded_patches(config, surfaces, space)
    assert roughness(config, much, patches) == pytest.approx(
        roughness_of(config, much, space), rel=0.2
    )


@pytest.mark.parametrize("key", [COUPLED, "contact.model=finite_element"])
def test_roughness_is_that_of_coupled_springs_whatever_the_model(knee, key, tmp_path):
    config, surfaces, space = knee
    other = load_config(written(tmp_path, 0.0), (key,))
    assert roughness_of(other, surfaces, space) == roughness_of(config, surfaces, space)
