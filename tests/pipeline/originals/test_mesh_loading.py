"""Meshes of a study: huge ones are decimated, missing ones named; coarse and rough surfaces."""

import re
from dataclasses import replace
from functools import partial

import layers
import numpy as np
import pytest
import trimesh
from solids import rounded_disc
from studies import export, implant_meshes, mesh_study

from foundation.anatomy.bearing_surface import tibial_bearing
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.decimation import decimate
from foundation.surfaces.smoothing import smoothed
from pipeline.config.knee_schema import MeshConfig
from pipeline.config.reading import load_config
from pipeline.originals import mesh_loading
from pipeline.originals.candidates import sample_space
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.mesh_loading import bearing_part, load_surface
from pipeline.originals.roughness import (
    SMOOTH,
    coarse_surfaces,
    loaded_patches,
    peaks_inside_rim,
    roughness,
)


@pytest.fixture
def small_is_huge(monkeypatch):
    """Count meshes of more than 10,000 triangles as huge, and decimate them to 5,000."""
    mesh_loading._loaded.cache_clear()
    mesh_loading._of_file.cache_clear()
    monkeypatch.setattr(mesh_loading, "HUGE", 10_000)
    monkeypatch.setattr(mesh_loading, "decimate", partial(decimate, fewest=5_000))
    yield
    mesh_loading._loaded.cache_clear()
    mesh_loading._of_file.cache_clear()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fine")
    femur, tibia, _ = CondylarImplant().tessellate(0.7e-3)
    return {
        "femur": export(femur, folder / "femur.stl"),
        "tibia": export(tibia, folder / "tibia.stl"),
    }


def test_huge_meshes_are_decimated_and_the_deviation_is_told(files, small_is_huge, capsys):
    config = MeshConfig(file=str(files["femur"]), decimate_um=50.0)
    loaded = load_surface(config, "right", "femur")
    assert loaded.triangles > 10_000 > len(loaded.mesh.faces)
    assert 0.0 < loaded.deviation <= 50e-6
    told = capsys.readouterr().err
    assert re.search(r"decimating [\d,]+ triangles of femur.stl \(memory \d+\.\d GB\)", told)
    assert f"femur.stl: {loaded.decimation}" in told
    pattern = r"[\d,]+ triangles decimated to [\d,]+; largest deviation [\d.]+ um"
    assert re.fullmatch(pattern, loaded.decimation)


def test_changed_files_are_read_again(tmp_path):
    femur, _, _ = CondylarImplant().tessellate(3e-3)
    file = export(femur, tmp_path / "femur.stl")
    config = MeshConfig(file=str(file))
    first = load_surface(config, "right", "femur")
    assert load_surface(config, "right", "femur") is first
    export(femur, file, scale=1.1)
    again = load_surface(config, "right", "femur")
    assert np.ptp(again.mesh.vertices[:, 0]) > 1.05 * np.ptp(first.mesh.vertices[:, 0])


STUDY = """
[knee]
source = "meshes"
femur = { file = "femur.ply", unit = "mm" }
tibia = { file = "tibia.ply", unit = "mm" }
[contact]
thickness_mm = 8.0
youngs_modulus_MPa = 463.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dense")
    femur, tibia = CondylarImplant().tessellate(0.5e-3)[0], CondylarImplant().tessellate(1.5e-3)[1]
    for body, mesh in (("femur", femur), ("tibia", tibia)):
        solid = trimesh.Trimesh(1e3 * mesh.vertices, mesh.faces, process=False)
        solid.export(folder / f"{body}.ply")
    (folder / "dense.toml").write_text(STUDY)
    return folder


def test_compartments_are_those_before_the_placement(folder):
    options = ("knee.split_lateral_mm=0.0", "knee.placement.tibia_lateral_mm=20.0")
    config = load_config(folder / "dense.toml", options)
    full = load_surfaces(config)
    coarse = coarse_surfaces(config, full)
    assert coarse.femur is not full.femur
    assert coarse.tibia is full.tibia
    np.testing.assert_array_equal(coarse.compartments, full.compartments)
    # What is kept for the surfaces is found again.
    assert load_surfaces(config).tibia is full.tibia


def test_rounded_edge_of_a_tibia_is_left_out_and_counted():
    disc, _ = rounded_disc(15e-3, 1.2e-3)
    part, wall = bearing_part(disc, "tibia"), tibial_bearing(disc)
    assert part.edge is not None
    assert len(part.mesh.faces) + len(part.edge.faces) == len(wall.faces)
    np.testing.assert_allclose(part.mesh.areas.sum() + part.edge.areas.sum(), wall.areas.sum())
    assert f"in {len(part.mesh.faces):,} of {len(disc.faces):,} triangles" in part.words


def rough(mesh, height):
    """Surface with random heights [m] on its vertices."""
    noise = np.random.default_rng(0).normal(size=(len(mesh.vertices), 1))
    up = np.array([0.0, 1.0, 0.0])
    return type(mesh)(mesh.vertices + height * noise * up, mesh.faces, mesh.name)


def written(folder, height):
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


def test_peaks_at_the_rim_tell_of_no_roughness():
    inside = Pose(superior=0.0452, lateral=20.5e-3)
    poses = [(inside, "lateral"), (replace(inside, anterior=10e-3), "lateral")]
    peaks, forces = peaks_inside_rim(layers.plates(), poses).T
    assert peaks[0] > 0.0
    assert forces[0] > 0.0
    assert np.isnan([peaks[1], forces[1]]).all()


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
