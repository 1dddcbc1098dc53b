"""Shells are closed, and layers of tetrahedra fill the space below a surface once."""

import numpy as np
import pytest

from foundation.implant.condylar_implant import CondylarImplant
from tests.oracles.shells import layers, shell


@pytest.mark.parametrize("body", [0, 1])
def test_shell_is_closed(body):
    mesh = CondylarImplant().tessellate(2e-3)[body]
    vertices, faces = shell(mesh, 2e-3)
    ends = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)]).tolist()
    directed = {tuple(e) for e in ends}
    assert len(directed) == len(ends)
    assert {(b, a) for a, b in directed} == directed
    # Closed surfaces enclose a positive volume when their normals point outwards.
    assert np.linalg.det(vertices[faces]).sum() > 0.0


def test_layers_fill_the_space_under_the_insert_once():
    insert = CondylarImplant().tessellate(1e-3)[1]
    depth = 1e-3
    points, cells = layers(insert, depth)
    volumes = np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]) / 6.0
    assert volumes.min() > 0.0
    # Every inner face belongs to two cells.
    corners = [np.delete(cells, k, axis=1) for k in range(4)]
    _, uses = np.unique(np.sort(np.concatenate(corners), axis=1), axis=0, return_counts=True)
    assert uses.max() == 2
    # 2.5 mm along the normals, which part under a concave surface: area times depth and more.
    assert 1.0 < volumes.sum() / (2.5 * depth * insert.areas.sum()) < 1.1
