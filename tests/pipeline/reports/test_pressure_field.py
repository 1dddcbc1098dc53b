"""Pressure at the vertices of a mesh: analytic patches; how well a mesh resolves it."""

from dataclasses import replace
from types import SimpleNamespace

import layers
import numpy as np
import pytest
from numpy.testing import assert_allclose
from shapes import plate

from foundation.base.pose import Pose
from pipeline.reports.pressure_field import (
    outline_of,
    sides_of,
    vertex_pressures,
)
from pipeline.stages.elastic_layer import resolution
from pipeline.stages.gait_cycle import mesh_resolution

RADIUS, PEAK = 6.0, 18.0


def grid(edge, half=9.0):
    """Return a level square with edges of about `edge` [mm], its vertices a little disordered."""
    count = round(2 * half / edge) + 1
    side = np.linspace(-half, half, count)
    x, z = (each.ravel() for each in np.meshgrid(side, side))
    rng = np.random.default_rng(3)
    inner = (np.abs(x) < half - 1e-9) & (np.abs(z) < half - 1e-9)
    moved = 0.15 * edge * rng.uniform(-1.0, 1.0, (2, len(x))) * inner
    vertices = np.column_stack([x + moved[0], np.zeros_like(x), z + moved[1]])
    corner = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    lower = np.column_stack([corner, corner + count, corner + 1])
    upper = np.column_stack([corner + 1, corner + count, corner + count + 1])
    return vertices, np.concatenate([lower, upper])


def cap(points):
    """Return the pressure of a ball on a linear bed, p = peak (1 - r²/a²), in contact."""
    return np.maximum(PEAK * (1.0 - (points[:, 0] ** 2 + points[:, 2] ** 2) / RADIUS**2), 0.0)


def test_field_of_a_ball_on_a_bed_converges():
    off = []
    for edge in (1.0, 0.5):
        vertices, faces = grid(edge)
        values = vertex_pressures(vertices, faces, cap(vertices[faces].mean(axis=1))[None])[0]
        inside = np.linalg.norm(vertices, axis=1) < RADIUS - 1.0
        off.append(np.abs(values - cap(vertices))[inside].max() / PEAK)
    assert off[0] < 0.06
    # First order, as a disordered mesh has no middle in its vertices.
    assert off[1] < 0.6 * off[0]


def test_a_linear_field_is_met_inside_the_patch():
    vertices, faces = grid(1.0)
    wanted = 20.0 + vertices @ [0.7, 0.0, -0.4]
    values = vertex_pressures(vertices, faces, wanted[faces].mean(axis=1)[None])[0]
    inner = (np.abs(vertices[:, [0, 2]]) < 7.0).all(axis=1)
    assert_allclose(values[inner], wanted[inner], rtol=1e-2)


def test_field_is_positive_in_contact_alone():
    vertices, faces = grid(0.5)
    given = cap(vertices[faces].mean(axis=1))
    values = vertex_pressures(vertices, faces, np.stack([given, np.zeros_like(given)]))
    radius = np.linalg.norm(vertices, axis=1)
    assert (values[0][radius < RADIUS - 0.5] > 0.0).all()
    assert (values[0][radius > RADIUS + 0.5] < 0.0).all()
    assert (values[1] < 0.0).all()


def test_sides_are_those_of_the_centres():
    vertices, faces = grid(3.0)
    centres = np.array([[[0.0, 0.0, -4.0], [0.0, 0.0, 6.0]], [[np.nan] * 3, [0.0, 0.0, 6.0]]])
    sides = sides_of(vertices, faces, centres)
    assert_allclose(sides, vertices[faces][..., 2].mean(axis=1) > 1.0)


def test_outline_is_the_border():
    vertices, faces = grid(3.0)
    lines = outline_of(vertices, faces)
    assert len(lines) == 1
    length = np.linalg.norm(np.diff(lines[0], axis=0), axis=1).sum()
    assert_allclose(length, 4 * 18.0, rtol=1e-12)
    assert_allclose(lines[0][0], lines[0][-1])


BALL = 6e-3


def squares(edge):
    """Return the vertices [m] and triangles of a plane of squares, two triangles each."""
    mesh = plate(24e-3, int(24e-3 / edge))
    return mesh.vertices, mesh.faces


def paraboloid(vertices, faces):
    """Return the pressure of a sphere on a linear layer: a paraboloid, 10 MPa in the middle."""
    middle = vertices[faces].mean(axis=1)
    return 1e7 * np.maximum(0.0, 1.0 - (middle[:, 0] ** 2 + middle[:, 2] ** 2) / BALL**2)


@pytest.mark.parametrize("edge", [0.4e-3, 0.8e-3])
def test_paraboloid_is_smooth_and_its_width_is_counted(edge):
    vertices, faces = squares(edge)
    found = resolution(vertices, faces, paraboloid(vertices, faces))
    assert found is not None
    assert found.roughness_percent < 1e-9
    # An equilateral triangle of half a square has edges of 1.0746 of those of the square.
    assert_allclose(found.across, 2.0 * BALL / (edge * np.sqrt(2.0 / np.sqrt(3.0))), rtol=0.03)


def test_alternating_ridges_are_found_in_full():
    """Triangles that are 5 % higher and lower in turn are rough by 5 % of the mean."""
    vertices, faces = squares(0.5e-3)
    sign = np.where(np.arange(len(faces)) < len(faces) // 2, 1.0, -1.0)
    found = resolution(vertices, faces, paraboloid(vertices, faces) * (1.0 + 0.05 * sign))
    assert found is not None
    assert 4.0 < found.roughness_percent < 7.0


@pytest.mark.parametrize(("anterior", "judged"), [(0.0, ["lateral"]), (10e-3, [])])
def test_elements_with_their_peak_at_the_rim_tell_of_no_ridges(anterior, judged):
    pose = replace(Pose(superior=0.0452, lateral=20.5e-3), anterior=anterior)
    percent = np.array([13.0, 25.0, 45.0, 70.0])
    cycle = SimpleNamespace(gait_percent=percent, poses=np.tile(pose.array, (4, 1)))
    assert list(mesh_resolution(layers.plates(), cycle)) == judged
