"""Bodies in several files, further bodies, holes and single plateaus, as `init` meets them."""

import re
from pathlib import Path

import numpy as np
import pytest
import trimesh
from solids import joined, shell
from studies import export

from foundation.base.errors import InputError
from foundation.surfaces.mesh import MeshError
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.knee_schema import MeshConfig
from pipeline.originals.mesh_loading import load_surface
from pipeline.preparation.alignment import check_before_alignment
from pipeline.preparation.init_options import InitOptions
from pipeline.preparation.mesh_keys import find_mesh_keys


@pytest.fixture
def plateaus(shapes):
    """Return both plateaus of the implant, medial and lateral."""
    tibia = shapes["tibia"]
    medial = tibia.centroids[:, 2] < 0.0
    return selected(tibia, medial), selected(tibia, ~medial)


@pytest.fixture
def folder(tmp_path, monkeypatch, shapes, plateaus):
    export(shapes["femur"], tmp_path / "femur.stl", scale=1e3)
    for name, mesh in zip(("medial", "lateral"), plateaus, strict=True):
        export(mesh, tmp_path / f"{name}.stl", scale=1e3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def options(*tibia: str, femur: str = "femur.stl") -> InitOptions:
    files = tuple(map(Path, tibia))
    return InitOptions((Path(femur),), files, "polyethylene", frames="file", axes="x,y,z")


def test_files_of_a_body_are_one_mesh_in_init_and_in_the_configuration(folder, shapes):
    answers = find_mesh_keys(folder / "mine.toml", options("medial.stl", "lateral.stl"))
    assert answers.keys["tibia"]["file"] == ["medial.stl", "lateral.stl"]
    assert answers.keys["femur"]["file"] == "femur.stl"
    keys = {"file": ("medial.stl", "lateral.stl"), "unit": "mm"}
    config = MeshConfig.model_validate(keys, context={"folder": folder})
    loaded = load_surface(config, "right", "tibia")
    assert len(loaded.mesh.faces) == len(shapes["tibia"].faces)
    assert loaded.mesh.name.endswith("medial.stl, lateral.stl")


@pytest.mark.parametrize("which", [0, 1])
def test_one_plateau_is_named(shapes, plateaus, which):
    # The implant does not tell its side, but for the place of one plateau.
    with pytest.raises(InputError, match=r"the tibia has .* plateau alone, .* --tibia FILE"):
        check_before_alignment({"femur": shapes["femur"], "tibia": plateaus[which]})


def test_a_patella_is_left_out_by_init_and_where_the_mesh_is_loaded(folder, shapes):
    femur = shapes["femur"]
    front = femur.vertices[np.argmax(femur.vertices[:, 0])]
    ball = trimesh.creation.icosphere(subdivisions=3, radius=15e-3)
    at = np.asarray(ball.vertices) + front + [0.02, 0.0, -front[2]]
    patella = TriangleMesh(at, np.asarray(ball.faces), "patella")
    export(joined(femur, patella), folder / "both.stl", scale=1e3)
    given = options("medial.stl", "lateral.stl", femur="both.stl")
    told = find_mesh_keys(folder / "mine.toml", given).guesses
    pattern = r"both\.stl: a further body is left out: 1280 triangles, 30 x 30 x 30 mm, about \("
    assert sum(bool(re.match(pattern, text)) for text in told) == 1
    loaded = load_surface(MeshConfig(file=str(folder / "both.stl"), unit="mm"), "right", "femur")
    assert len(loaded.mesh.faces) == len(femur.faces)
    assert len(loaded.left_out) == 1
    kept = load_surface(MeshConfig(file=str(folder / "both.stl"), unit="mm"), "right", "femur", 0.0)
    assert len(kept.mesh.faces) == len(femur.faces) + 1280


def test_a_hole_in_the_outer_wall_of_a_shell_is_an_error_with_its_place(shapes):
    body = shell(shapes["tibia"], 2e-3)
    at = shapes["tibia"].centroids
    middle = at[np.argmin(np.linalg.norm(at[:, [0, 2]] - [0.0, 20e-3], axis=1))]
    away = np.linalg.norm(body.centroids - middle, axis=1)
    outer = body.normals[:, 1] > 0.0
    hollow = selected(body, ~(outer & (away < 6e-3)))
    with pytest.raises(MeshError, match=r"1 hole in the surface, 1[0-9] mm across at about \("):
        check_before_alignment({"femur": shapes["femur"], "tibia": hollow})
    check_before_alignment({"femur": shapes["femur"], "tibia": body})
