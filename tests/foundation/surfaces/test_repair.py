"""Repair of damaged surfaces: what is told, and that loads are those of the sound surface."""

import re

import numpy as np
import pytest
import shapes
import trimesh
from numpy.testing import assert_allclose, assert_array_equal
from solids import bone, closed_insert, joined, shell

from foundation import CondylarImplant, ElasticFoundation, LinearLaw
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.surfaces.mesh_checks import check_mesh
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.repair import repaired
from foundation.surfaces.spikes import level_spikes
from foundation.surfaces.surface_shape import is_closed, selected
from foundation.surfaces.triangle_mesh import TriangleMesh

TOLERANCE = 20e-6
IMPLANT = CondylarImplant()
LAW = LinearLaw(463e6, 0.46, 8e-3)


@pytest.fixture(scope="module")
def sound():
    """Surfaces without normals, as files have them: femur of one piece, tibia of two plateaus."""
    femur, tibia, _ = IMPLANT.tessellate(2e-3)
    return {
        "femur": TriangleMesh(femur.vertices, femur.faces, "femur"),
        "tibia": TriangleMesh(tibia.vertices, tibia.faces, "tibia"),
    }


def changed(mesh, faces, vertices=None):
    return TriangleMesh(mesh.vertices if vertices is None else vertices, faces, mesh.name)


def soup(mesh, noise, seed=0):
    """Return all triangles without common vertices, each corner rounded on its own [m]."""
    corners = mesh.vertices[mesh.faces].reshape(-1, 3)
    corners = corners + np.random.default_rng(seed).uniform(-noise, noise, corners.shape)
    return TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3), mesh.name)


def turned(mesh, which):
    return changed(mesh, np.where(which[:, None], mesh.faces[:, ::-1], mesh.faces))


def open_edges(mesh):
    return int((find_edges(mesh.faces, len(mesh.vertices)).count == 1).sum())


def model_of(femur, tibia):
    labels = (tibia.centroids[:, 2] > 0).astype(np.int8)
    return ElasticFoundation(femur, tibia, LAW, compartments=labels)


@pytest.fixture(scope="module")
def sound_model(sound):
    return model_of(**sound)


def forces(model, raised=0.0):
    """Return the axial forces of both compartments, pressed by 0.15 mm less what is raised [m]."""
    home = IMPLANT.home_pose(flexion=0.3).array
    pose = Pose.from_array(home - [0, 0, 0, 0, 0.15e-3 - raised, 0])
    return [float(model.compartment_loads(pose, name)[0][1]) for name in ("medial", "lateral")]


def assert_loads_between(sound, found, off):
    """Check that forces are those of the sound surfaces raised or lowered by at most `off` [m]."""
    least, most = (forces(sound, raised=sign * off) for sign in (1.0, -1.0))
    for low, value, high in zip(least, forces(found), most, strict=True):
        assert 100.0 < low < value < high


@pytest.mark.parametrize("body", ["femur", "tibia"])
def test_sound_surfaces_stay_and_zero_repairs_nothing(sound, body):
    mesh = sound[body]
    assert repaired(mesh, TOLERANCE, body) == (mesh, ())
    damaged = soup(mesh, 1e-6)
    assert repaired(damaged, 0.0, body) == (damaged, ())
    with pytest.raises(InputError, match="tolerance"):
        repaired(mesh, -1e-6, body)


@pytest.mark.parametrize("noise", [1e-9, 4e-6])
def test_corners_apart_by_rounding_are_welded(sound, sound_model, noise):
    found = {}
    for body, mesh in sound.items():
        fixed, told = repaired(soup(mesh, noise), TOLERANCE, body)
        assert (len(fixed.faces), len(fixed.vertices)) == (len(mesh.faces), len(mesh.vertices))
        assert open_edges(fixed) == open_edges(mesh)
        closed = 3 * len(mesh.faces) - open_edges(mesh)
        assert len(told) == 1
        assert told[0].startswith(f"{closed} open edges closed by welding: corners moved by at m")
        assert told[0].endswith(" um (tolerance 20 um)")
        # The corner of a vertex moves by at most the noise in each direction.
        near = np.abs(fixed.vertices[fixed.faces] - mesh.vertices[mesh.faces])
        assert near.max() <= noise
        found[body] = fixed
    assert_loads_between(sound_model, model_of(**found), 2.0 * noise + 1e-9)


def slit(mesh, width):
    """Return a plate cut open along x = 0, the sides of the cut `width` apart [m]."""
    line = np.flatnonzero(np.abs(mesh.vertices[:, 0]) < 1e-9)
    inner = line[np.abs(mesh.vertices[line, 2]) < 0.8 * np.abs(mesh.vertices[line, 2]).max()]
    copies = np.arange(len(mesh.vertices))
    copies[inner] = len(mesh.vertices) + np.arange(len(inner))
    ahead = mesh.centroids[:, 0] > mesh.vertices[inner, 0].max()
    faces = np.where(ahead[:, None], copies[mesh.faces], mesh.faces)
    moved = mesh.vertices[inner] + np.array([width, 0.0, 0.0])
    return TriangleMesh(np.concatenate([mesh.vertices, moved]), faces, "slit")


@pytest.mark.parametrize("rounded", [False, True])
def test_a_slit_stays_open(rounded):
    plate = shapes.plate(40e-3, 20)
    cut = slit(plate, 60e-6)
    assert open_edges(cut) > open_edges(plate) + 20
    fixed, told = repaired(soup(cut, 3e-6) if rounded else cut, TOLERANCE, "tibia")
    assert open_edges(fixed) == open_edges(cut)
    assert len(told) == rounded
    # The same cut without a width is a seam of rounding.
    closed, told = repaired(slit(plate, 2e-6), TOLERANCE, "tibia")
    assert open_edges(closed) == open_edges(plate)
    assert "moved by at most 1 um" in told[0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("noise", [0.0, 2e-6])
def test_surfaces_that_occur_twice_occur_once(sound, noise, reverse):
    mesh = sound["tibia"]
    rng = np.random.default_rng(1)
    again = mesh.vertices + rng.uniform(-noise, noise, mesh.vertices.shape)
    faces = mesh.faces[: len(mesh.faces) // 3]
    faces = faces[:, ::-1] if reverse else faces
    if noise:
        faces = faces + len(mesh.vertices)
    vertices = np.concatenate([mesh.vertices, again])
    twice = changed(mesh, np.concatenate([mesh.faces, faces]), vertices)
    fixed, told = repaired(twice, TOLERANCE, "tibia")
    assert_array_equal(fixed.vertices[fixed.faces], mesh.vertices[mesh.faces])
    words = "triangles removed that repeat others within 20 um" if noise else "duplicate triangles"
    assert len(told) == 1
    assert told[0].startswith(f"{len(faces)} ")
    assert words in told[0]


def test_stray_pieces_are_dropped_and_named(sound):
    mesh = sound["femur"]
    speck = 1e-3 * np.array([[0, 0, 0], [2, -1, 0], [0, 0, 2], [2, -1, 2]])
    lowest = mesh.vertices[np.argmin(mesh.vertices[:, 1])]
    count, place = len(mesh.vertices), lowest.round(3) - np.array([0.0, 3.2e-3, 0.0])
    strewn = changed(
        mesh,
        np.concatenate([mesh.faces, count + np.array([[0, 2, 1], [1, 2, 3]])]),
        np.concatenate([mesh.vertices, place + speck]),
    )
    fixed, told = repaired(strewn, TOLERANCE, "femur")
    assert_array_equal(fixed.vertices[fixed.faces], mesh.vertices[mesh.faces])
    away = np.linalg.norm(mesh.vertices[:, None] - (place + speck), axis=2).min(axis=0)
    x, y, z = 1e3 * place + np.array([1.0, -0.5, 1.0])
    assert told == (
        f"2 stray triangles in 1 loose piece dropped, {1e3 * away.min():.2g} to "
        f"{1e3 * away.max():.2g} mm off the surface, about ({x:.0f}, {y:.0f}, {z:.0f}) mm",
    )


@pytest.mark.parametrize("part", [0.3, 0.7])
@pytest.mark.parametrize("body", ["femur", "tibia"])
def test_mixed_winding_is_made_consistent(sound, body, part):
    """Also where most triangles are wrong: the shape tells the outer side."""
    mesh = sound[body]
    wrong = np.random.default_rng(2).random(len(mesh.faces)) < part
    fixed, told = repaired(turned(mesh, wrong), TOLERANCE, body)
    assert ((fixed.normals * mesh.normals).sum(axis=1) > 0.999).all()
    assert told == (
        f"{wrong.sum()} triangles turned, whose winding disagreed with that of the neighbours",
    )


@pytest.mark.parametrize("name", ["medial", "lateral"])
def test_one_plateau_inside_out_is_turned_alone(sound, name):
    mesh = sound["tibia"]
    which = mesh.centroids[:, 2] < 0.0 if name == "medial" else mesh.centroids[:, 2] > 0.0
    fixed, told = repaired(turned(mesh, which), TOLERANCE, "tibia")
    assert_array_equal(fixed.faces, mesh.faces)
    side = "-" if name == "medial" else ""
    pattern = rf"the piece about \(.*, {side}\d+\) mm was inside out: its {which.sum()} triangles"
    assert len(told) == 1
    assert re.match(pattern, told[0])


def plateau():
    solid, top = closed_insert()
    return selected(solid, np.arange(len(solid.faces)) < top)


def bone_and_cavity(cut):
    """Return a tibial bone, and the wall of its medullary cavity with normals into the cavity."""
    wall = bone(plateau(), -1.0, 150e-3, cut=cut)
    middle = wall.vertices.mean(axis=0)
    scale = [0.6, 0.8 if cut else 1.0, 0.6]
    return wall, changed(wall, wall.faces[:, ::-1], middle + scale * (wall.vertices - middle))


@pytest.mark.parametrize("cavity_out", [False, True])
@pytest.mark.parametrize("bone_out", [False, True])
def test_a_bone_is_turned_without_the_wall_of_its_cavity(bone_out, cavity_out):
    wall, cavity = bone_and_cavity(cut=True)
    wall = wall if bone_out else changed(wall, wall.faces[:, ::-1])
    cavity = changed(cavity, cavity.faces[:, ::-1]) if cavity_out else cavity
    mesh = joined(wall, cavity)
    fixed, told = repaired(mesh, TOLERANCE, "tibia")
    count = len(wall.faces)
    assert_array_equal(fixed.faces[count:], mesh.faces[count:])
    if bone_out:
        assert fixed is mesh
    else:
        assert told == (f"the closed surface was inside out: {count} triangles turned",)
        assert_array_equal(fixed.faces[:count], mesh.faces[:count, ::-1])


@pytest.mark.parametrize("thickness", [2.5e-3, 5.0 * TOLERANCE])
def test_the_walls_of_a_closed_shell_stay_apart(thickness):
    layer = shell(plateau(), thickness)
    assert repaired(layer, TOLERANCE, "tibia").mesh is layer
    fixed, told = repaired(soup(layer, 1e-6), TOLERANCE, "tibia")
    assert len(told) == 1
    assert is_closed(fixed)
    assert len(fixed.faces) == len(layer.faces)
    assert len(fixed.vertices) == len(layer.vertices)


@pytest.mark.parametrize(("radius", "off"), [(0.1e-3, 0.01), (1.2e-3, 0.02)])
def test_small_holes_are_filled_and_carry_load(sound, sound_model, radius, off):
    """Holes where the condyles touch; without repair the force is another one."""
    femur, tibia = sound.values()
    right = tibia.centroids[:, 2] > 0.0
    lowest = [np.flatnonzero(p)[tibia.centroids[p, 1].argmin()] for p in (right, ~right)]
    away = np.linalg.norm(tibia.centroids[:, None] - tibia.centroids[lowest], axis=2).min(axis=1)
    holed = changed(tibia, tibia.faces[away > radius])
    fixed, told = repaired(holed, TOLERANCE, "tibia")
    assert open_edges(fixed) == open_edges(tibia)
    assert len(told) == 1
    assert told[0].startswith(f"2 holes filled with {len(fixed.faces) - len(holed.faces)} triang")
    errors = [
        np.abs(np.divide(forces(model_of(femur, mesh)), forces(sound_model)) - 1.0)
        for mesh in (fixed, holed)
    ]
    assert errors[0].max() < off < errors[1].min()


TIBIA = CondylarImplant().tessellate(1e-3)[1]
#: A vertex in the middle of a plateau.
TIP = int(np.argmin(np.linalg.norm(TIBIA.vertices[:, [0, 2]] - [0.0, 20e-3], axis=1)))
NORMAL = TIBIA.normals[(TIBIA.faces == TIP).any(axis=1)].mean(axis=0)


def spiked(height, radius):
    """Return the tibia with a cone of a height and a radius [m]; radius 0 for one vertex."""
    away = np.linalg.norm(TIBIA.vertices - TIBIA.vertices[TIP], axis=1)
    cone = np.maximum(0.0, 1.0 - away / radius) if radius else away == 0.0
    return TriangleMesh(TIBIA.vertices + np.outer(cone * height, NORMAL), TIBIA.faces)


@pytest.mark.parametrize(
    ("height", "radius"), [(5e-3, 0.0), (1e-3, 0.0), (-2e-3, 0.0), (5e-3, 3e-3)]
)
def test_spikes_are_levelled(height, radius):
    found = level_spikes(spiked(height, radius))
    assert found.spikes == 1
    assert_allclose(found.height, abs(height), rtol=0.1, atol=0.0)
    assert_allclose(found.mesh.vertices, TIBIA.vertices, rtol=0.0, atol=0.08 * abs(height))


def test_a_smooth_surface_and_a_box_stay():
    assert level_spikes(TIBIA).mesh is TIBIA
    box = trimesh.creation.box((0.03, 0.02, 0.04)).subdivide().subdivide()
    mesh = TriangleMesh(np.asarray(box.vertices), np.asarray(box.faces), "box")
    assert level_spikes(mesh).mesh is mesh


PLATE = shapes.plate(1.0, 6)


def assert_same_plate(vertices, faces):
    """Check manifoldness, area and outer side of a plate without flat triangles."""
    mesh = TriangleMesh(vertices, faces)
    edges = find_edges(faces, len(vertices))
    assert edges.count.max() == 2
    assert not edges.balance[edges.count == 2].any()
    assert (edges.count == 1).sum() == 24
    assert mesh.areas.sum() == pytest.approx(1.0, abs=1e-6)
    assert (mesh.normals[:, 1] > 0.9).all()
    assert mesh.areas.min() > 1e-4


def test_a_spike_that_hangs_by_one_vertex_is_left():
    """A tip over a ring of six, below which a further sheet begins at a single vertex."""
    angles = np.arange(6) * np.pi / 3.0
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)]) * 2e-3
    ends = [[0.0, 0.0, 4e-3], [0.0, 0.0, -0.5e-3], [0.1, 0.0, -1e-3], [0.1, -0.1, -1e-3]]
    sides = [[[k, (k + 1) % 6, 6], [(k + 1) % 6, k, 7]] for k in range(6)]
    mesh = TriangleMesh(np.vstack([ring, ends]), np.vstack([*sides, [[7, 8, 9]]]), "hanging")
    assert np.isfinite(level_spikes(mesh).mesh.vertices).all()


def test_everything_at_once_is_repaired_the_same_way_every_time(sound, sound_model):
    mesh = sound["tibia"]
    wrong = np.random.default_rng(3).random(len(mesh.faces)) < 0.1
    damaged = soup(turned(mesh, wrong), 2e-6)
    kept = np.ones(len(mesh.faces), dtype=bool)
    kept[[200, 700]] = False
    faces = np.concatenate([damaged.faces[kept], damaged.faces[:40]])
    first, second = (repaired(changed(damaged, faces), TOLERANCE, "tibia") for _ in range(2))
    assert len(first.repairs) == 4
    assert first.repairs == second.repairs
    assert_array_equal(first.mesh.vertices, second.mesh.vertices)
    assert_array_equal(first.mesh.faces, second.mesh.faces)
    assert check_mesh(first.mesh, "tibia") == []
    assert_loads_between(sound_model, model_of(sound["femur"], first.mesh), 4e-6)


@pytest.mark.parametrize("name", ["medial", "lateral"])
def test_without_repair_the_piece_to_flip_is_named(sound, name):
    mesh = sound["tibia"]
    which = mesh.centroids[:, 2] < 0.0 if name == "medial" else mesh.centroids[:, 2] > 0.0
    (finding,) = check_mesh(turned(mesh, which), "tibia")
    assert (finding.code, finding.is_error) == ("inverted", True)
    place = finding.text.split("on the piece about (")[1].split(")")[0]
    assert float(place.split(", ")[2]) * (-1.0 if name == "medial" else 1.0) > 5.0


def test_the_repair_tells_height_and_place():
    mesh = spiked(5e-3, 0.0)
    (text,) = repaired(mesh, 20e-6, "tibia").repairs
    place = ", ".join(f"{1e3 * x:.1f}" for x in mesh.vertices[TIP])
    assert re.fullmatch(rf"1 spike levelled, .* (4\.9|5) mm off .*, at \({place}\) mm", text)
