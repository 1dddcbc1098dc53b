"""Coarse surfaces of a check give the loads of the surfaces of the study."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from foundation.implant.condylar_implant import CondylarImplant
from foundation.statics.height import pose_at_load
from pipeline.config import load_config
from pipeline.originals.coarse_surfaces import coarse_surfaces
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.spring_bed import springs_beside

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


@pytest.mark.slow
def test_heights_and_forces_are_those_of_the_study(folder):
    config = load_config(folder / "dense.toml")
    full = load_surfaces(config)
    coarse = coarse_surfaces(config, full)
    assert len(full.femur.faces) > 25_000
    assert len(coarse.femur.faces) < 13_000
    assert len(coarse.compartments) == len(coarse.tibia.faces)
    start = KneeInputs(config, full).start
    beds = [springs_beside(config.contact, each) for each in (full, coarse)]
    for name in beds[0].compartment_names:
        found = [pose_at_load(bed, start, name, 500.0) for bed in beds]
        heights = [each.pose.superior for each in found]
        np.testing.assert_allclose(heights[1], heights[0], atol=2e-6)


def test_tables_of_thicknesses_keep_the_triangles(folder):
    config = load_config(folder / "dense.toml")
    full = load_surfaces(config)
    (folder / "thickness.csv").write_text("thickness_mm\n" + "8\n" * len(full.tibia.vertices))
    table = ("contact.thickness_mm=underside", "contact.thickness_file=thickness.csv")
    by_table = load_config(folder / "dense.toml", table)
    assert coarse_surfaces(by_table, full) is full


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
