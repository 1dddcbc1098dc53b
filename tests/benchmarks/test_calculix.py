"""CalculiX as a peer: its input file, its results, and what is made of nodal pressures."""

from functools import cache

import numpy as np
import pytest

from benchmarks.exact import contact_poses
from benchmarks.peers.calculix import solve, unavailable
from benchmarks.peers.calculix_deck import Contact, HexahedralMesh, bearing_faces, write_deck
from benchmarks.peers.flat_layer import layer, paraboloid
from benchmarks.peers.layers_compared import compare
from benchmarks.peers.nodal_pressures import contact_area, peak_pressure
from benchmarks.peers.solids import curved_facets
from foundation.base.errors import InputError
from foundation.finite_element.base import PlaneBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.implant import CondylarImplant
from foundation.implant.patches import grid_faces
from foundation.surfaces import TriangleMesh

needs_calculix = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))

MODULUS, RATIO, THICKNESS = 463e6, 0.46, 8e-3
#: A paraboloid of 78 x 183 mm: exact figures of the linear layer (`benchmarks.exact_layer`).
RADII, APPROACH, LOAD, PEAK, AREA = (78e-3, 183e-3), 0.145907e-3, 1000.0, 18.715e6, 81.2e-6


def plate(half, height, spacing=1e-3):
    """A flat rigid square seen from below, its centre at (1, 2) mm."""
    line = np.linspace(-half, half, round(2.0 * half / spacing) + 1)
    x, z = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    points = np.stack([x + 1e-3, np.full(len(x), height), z + 2e-3], axis=1)
    faces = grid_faces(len(line), len(line), flip=False)
    return points, faces


def bearing_grid(half, spacing, offset):
    """A flat grid of quadrilaterals, as points (C, 3) and faces (Q, 4)."""
    line = np.arange(-half, half + 0.5 * spacing, spacing)
    x, z = np.meshgrid(line + offset[0], line + offset[1], indexing="ij")
    points = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    number = np.arange(x.size).reshape(x.shape)
    corners = (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    return points, np.stack([c.ravel() for c in corners], axis=1)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.21e-3, -0.37e-3), (0.5e-3, 0.5e-3)])
def test_peak_and_area_of_an_elliptic_pressure(offset):
    points, faces = bearing_grid(9e-3, 1e-3, offset)
    inside = 1.0 - (points[:, 0] / 4.0e-3) ** 2 - (points[:, 2] / 6.3e-3) ** 2
    pressures = 20e6 * np.sqrt(np.maximum(inside, 0.0))
    assert peak_pressure(points, faces, pressures) == pytest.approx(20e6, rel=0.005)
    exact = np.pi * 4.0e-3 * 6.3e-3
    assert contact_area(points, faces, pressures) == pytest.approx(exact, rel=0.01)


def test_peak_at_an_edge_is_the_largest_node_and_no_pressure_has_no_area():
    points, faces = bearing_grid(4e-3, 1e-3, (0.0, 0.0))
    pressures = np.maximum(1.0 + points[:, 0] / 2e-3, 0.0)
    assert peak_pressure(points, faces, pressures) == pressures.max()
    assert contact_area(points, faces, np.zeros(len(points))) == 0.0


def test_contact_of_the_whole_surface_has_the_whole_area():
    points, faces = bearing_grid(4e-3, 1e-3, (0.0, 0.0))
    assert contact_area(points, faces, np.ones(len(points))) == pytest.approx(64e-6, rel=1e-12)


def test_middles_of_curved_facets_lie_on_the_sphere_over_their_edges():
    line = np.arange(-0.4, 0.41, 0.1)
    x, z = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    points = np.stack([x, np.sqrt(1.0 - x**2 - z**2), z], axis=1)
    faces = grid_faces(len(line), len(line), flip=True)
    nodes, triangles = curved_facets(TriangleMesh(points, faces, "ball", vertex_normals=points))
    assert np.linalg.norm(nodes, axis=1) == pytest.approx(np.ones(len(nodes)), abs=1e-12)
    assert len(nodes) == 81 + 8 * 9 * 2 + 64
    ends = nodes[triangles[:, [0, 1, 2]]] + nodes[triangles[:, [1, 2, 0]]]
    # The sagitta is e²/8 for an edge e; the middle of another edge would be half an edge off.
    assert np.linalg.norm(nodes[triangles[:, 3:]] - 0.5 * ends, axis=2).max() < 0.1**2 / 3.0


def test_deck_has_the_layer_the_femur_and_the_bearing_faces(tmp_path):
    mesh = layer(2e-3, THICKNESS, (4e-3, 4e-3), 12e-3)
    points, triangles = paraboloid(RADII, APPROACH, (5e-3, 5e-3), 2e-3)
    path = tmp_path / "layer.inp"
    write_deck(path, mesh, (MODULUS, RATIO), Contact(points, triangles, 1e15, "SPOOLES"))
    cards = path.read_text(encoding="ascii").split("*")
    kinds = [card.splitlines()[0] for card in cards if card.startswith("ELEMENT")]
    assert kinds == ["ELEMENT,TYPE=C3D8I,ELSET=LAYER", "ELEMENT,TYPE=C3D15,ELSET=FEMUR"]
    faces = next(card for card in cards if card.startswith("SURFACE,NAME=BEARING"))
    assert len(faces.splitlines()) == 1 + len(mesh.bearing)
    assert set(bearing_faces(mesh)[:, 1]) == {1}  # S2, the second face
    with pytest.raises(InputError, match=r"\[0, 1, 2, 3\] is not a face of a hexahedron"):
        bearing_faces(
            HexahedralMesh(mesh.nodes, mesh.hexahedra, mesh.fixed, np.array([[0, 1, 2, 3]]))
        )


@needs_calculix
def test_flat_plate_on_a_layer_without_lateral_contraction():
    """p = d / (h/E + 1/K) everywhere, and the moment is that of a force at the centre."""
    mesh = layer(1e-3, 4e-3, (3e-3, 3e-3), 3e-3)
    moved = mesh.nodes + np.array([1e-3, 0.0, 2e-3])
    mesh = HexahedralMesh(moved, mesh.hexahedra, mesh.fixed, mesh.bearing)
    modulus, penalty, overlap = 10e6, 1e12, 0.2e-3
    found = solve(mesh, (modulus, 0.0), *plate(4e-3, -overlap), penalty=penalty)
    pressure = overlap / (4e-3 / modulus + 1.0 / penalty)
    force = pressure * 36e-6
    assert found.force == pytest.approx([0.0, force, 0.0], rel=1e-5, abs=1e-5 * force)
    moment = np.cross([1e-3, 0.0, 2e-3], [0.0, force, 0.0])
    assert found.moment == pytest.approx(moment, rel=1e-5, abs=1e-8 * force)
    assert found.pressures == pytest.approx(np.full(49, pressure), rel=1e-5)
    assert found.area == pytest.approx(36e-6, rel=1e-9)


@cache
def shallow(spacing, **options):
    """The paraboloid a hundred times as shallow, at a hundredth of the approach.

    Linear theory has the same patch and a hundredth of the load; the slopes that it neglects, and
    CalculiX does not, are gone.
    """
    mesh = layer(spacing, THICKNESS, (5e-3, 6.5e-3), 30e-3)
    radii = tuple(100.0 * radius for radius in RADII)
    femur = paraboloid(radii, APPROACH / 100.0, (6e-3, 8e-3), 1e-3)
    return solve(mesh, (MODULUS, RATIO), *femur, **options)


@needs_calculix
def test_shallow_paraboloid_converges_to_the_exact_linear_layer():
    coarse, fine = shallow(2e-3), shallow(1e-3)
    loads = 100.0 * np.array([coarse.force[1], fine.force[1]])
    # Second order: about 5 % at 2 mm and 1.2 % at 1 mm, next to nothing extrapolated.
    assert loads[1] / LOAD - 1.0 == pytest.approx(-0.012, abs=0.002)
    assert (4.0 * loads[1] - loads[0]) / 3.0 == pytest.approx(LOAD, rel=0.003)
    assert 100.0 * fine.peak_pressure == pytest.approx(PEAK, rel=0.01)
    assert fine.area == pytest.approx(AREA, rel=0.03)
    assert np.abs(fine.moment).max() < 1e-6 * fine.force[1]


@needs_calculix
def test_load_is_converged_in_the_penalty_and_the_solver_has_no_influence():
    load = shallow(2e-3).force[1]
    assert shallow(2e-3, penalty=4e6 * MODULUS).force[1] == pytest.approx(load, rel=1e-3)
    soft = [
        shallow(2e-3, penalty=2e5 * MODULUS, solver=solver).force[1]
        for solver in ("SPOOLES", "ITERATIVE CHOLESKY")
    ]
    assert soft[1] == pytest.approx(soft[0], rel=1e-5)
    assert soft[0] == pytest.approx(load, rel=2e-3)


@needs_calculix
def test_failures_are_told():
    mesh = layer(2e-3, THICKNESS, (4e-3, 4e-3), 6e-3)
    femur = paraboloid(RADII, APPROACH, (5e-3, 5e-3), 2e-3)
    with pytest.raises(RuntimeError, match="not finished after"):
        solve(mesh, (MODULUS, RATIO), *femur, timeout=0.01)
    with pytest.raises(InputError, match="none is within 3 mm"):
        solve(mesh, (MODULUS, RATIO), femur[0] + (0.0, 1.0, 0.0), femur[1])


@needs_calculix
def test_finite_element_model_agrees_on_the_same_mesh():
    implant = CondylarImplant()
    femur, tibia, labels = implant.tessellate(1.5e-3)
    layer_ = ElasticLayer(MODULUS, RATIO, PlaneBase(0.0))
    model = FiniteElementContact(femur, tibia, layer_, spacing=2e-3, compartments=labels)
    rows = compare(model, contact_poses(implant, 3, 7)[2])
    assert [row.compartment for row in rows] == ["lateral"]
    assert rows[0].load_difference < 0.005
    assert abs(rows[0].peak_difference) < 0.01
    assert rows[0].calculix.moment == pytest.approx(rows[0].wrench[3:], rel=0.01)
