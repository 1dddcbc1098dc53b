"""How well a mesh resolves a pressure: smooth fields, ridges, coarse meshes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pipeline.stages.pressure_roughness import resolution

RADIUS = 6e-3


def grid(edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices [m] and triangles of a plane of squares, two triangles each."""
    count = int(24e-3 / edge)
    x, z = np.meshgrid(*[np.linspace(-12e-3, 12e-3, count + 1)] * 2, indexing="ij")
    vertices = np.column_stack([x.ravel(), 0.0 * x.ravel(), z.ravel()])
    corner = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    one = np.column_stack([corner, corner + count + 1, corner + 1])
    other = np.column_stack([corner + 1, corner + count + 1, corner + count + 2])
    return vertices, np.concatenate([one, other])


def cap(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the pressure of a sphere on a linear layer: a paraboloid, 10 MPa in the middle."""
    middle = vertices[faces].mean(axis=1)
    return 1e7 * np.maximum(0.0, 1.0 - (middle[:, 0] ** 2 + middle[:, 2] ** 2) / RADIUS**2)


@pytest.mark.parametrize("edge", [0.4e-3, 0.8e-3])
def test_paraboloid_is_smooth_and_its_width_is_counted(edge: float) -> None:
    vertices, faces = grid(edge)
    found = resolution(vertices, faces, cap(vertices, faces))
    assert found is not None
    assert found.roughness_percent < 1e-9
    # An equilateral triangle of half a square has edges of 1.0746 of those of the square.
    assert_allclose(found.across, 2.0 * RADIUS / (edge * np.sqrt(2.0 / np.sqrt(3.0))), rtol=0.03)


def test_alternating_ridges_are_found_in_full() -> None:
    """Triangles that are 5 % higher and lower in turn are rough by 5 % of the mean."""
    vertices, faces = grid(0.5e-3)
    sign = np.where(np.arange(len(faces)) < len(faces) // 2, 1.0, -1.0)
    found = resolution(vertices, faces, cap(vertices, faces) * (1.0 + 0.05 * sign))
    assert found is not None
    assert 4.0 < found.roughness_percent < 7.0


def test_few_triangles_tell_nothing() -> None:
    vertices, faces = grid(8e-3)
    assert resolution(vertices, faces, cap(vertices, faces)) is None
    assert resolution(vertices, faces, np.zeros(len(faces))) is None
