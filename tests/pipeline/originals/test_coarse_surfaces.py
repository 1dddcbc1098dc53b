"""Coarse surfaces of a check, and the rounded edge that a tibial shell leaves out."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from solids import rounded_disc

from foundation.anatomy.bearing_surface import tibial_bearing
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config import load_config
from pipeline.originals.bearing_part import bearing_part
from pipeline.originals.coarse_surfaces import coarse_surfaces
from pipeline.originals.knee_surfaces import load_surfaces

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


def test_rounded_edge_of_a_tibia_is_left_out_and_counted():
    disc, _ = rounded_disc(15e-3, 1.2e-3)
    part, wall = bearing_part(disc, "tibia"), tibial_bearing(disc)
    assert part.edge is not None
    assert len(part.mesh.faces) + len(part.edge.faces) == len(wall.faces)
    np.testing.assert_allclose(part.mesh.areas.sum() + part.edge.areas.sum(), wall.areas.sum())
    edge = f"in {len(part.edge.faces):,} triangles of the rounded edge, with no inner wall opposite"
    assert edge in part.words
    others = len(disc.faces) - len(wall.faces)
    assert f"in {others:,} triangles that face elsewhere" in part.words
