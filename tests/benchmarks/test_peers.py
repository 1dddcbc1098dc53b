"""What the comparison of engines is built from; the other engines themselves are not needed."""

import numpy as np
import pytest

from benchmarks.peers.report import time_to_error
from benchmarks.peers.solids import layers, shell
from benchmarks.peers.study import Measured
from foundation.implant import CondylarImplant


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


def test_time_to_error_interpolates_the_logarithms():
    rows = [Measured("x", (1, 1), 1e-3 * 4.0**k, 0.1 / 4.0**k) for k in range(3)]
    assert time_to_error(rows, 0.05) == pytest.approx(2e-3, rel=1e-12)
    assert time_to_error(rows, 0.2) == 1e-3
    assert time_to_error(rows, 1e-3) is None
