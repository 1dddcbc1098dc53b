"""Area and peak of a patch from the pressures of a grid, for the pressure of Hertz."""

import numpy as np
import pytest

from foundation import kernels
from foundation.finite_element.compartment import EDGE_OFFSET


def measured(a, b, turn, middle, spacing=1.0, half=14):
    """Area, edge, peak and sharpness of p² = 1 - u²/a² - v²/b² on a square grid."""
    line = np.arange(-half, half + 1)
    x, z = np.meshgrid(line, line, indexing="ij")
    index = np.arange(x.size).reshape(x.shape)
    points = spacing * np.column_stack([z.ravel(), 0.0 * x.ravel(), x.ravel()])
    neighbours = np.full((x.size, 2, 2), -1)
    neighbours[index[:-1].ravel(), 0, 0] = index[1:].ravel()
    neighbours[index[1:].ravel(), 0, 1] = index[:-1].ravel()
    neighbours[index[:, :-1].ravel(), 1, 0] = index[:, 1:].ravel()
    neighbours[index[:, 1:].ravel(), 1, 1] = index[:, :-1].ravel()
    corners = (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:])
    quads = np.stack([corner.ravel() for corner in corners], axis=1)
    quads_at = np.full((x.size, 4), -1)
    for k in range(4):
        quads_at[quads[:, k], k] = np.arange(len(quads))
    cosine, sine = np.cos(turn), np.sin(turn)
    dx, dz = spacing * x.ravel() - middle[0], spacing * z.ravel() - middle[1]
    u, v = cosine * dx + sine * dz, cosine * dz - sine * dx
    squares = 1.0 - (u / a) ** 2 - (v / b) ** 2
    active = np.flatnonzero(squares > 0.0)
    level, weight = np.zeros(x.size), np.zeros(x.size)
    found = kernels.measure_patch(
        neighbours, quads, quads_at, points, active, squares[active], 0.5, False, level, weight,
        np.zeros(4 * x.size, dtype=np.int64),
    )  # fmt: skip
    assert not level.any()
    assert not weight.any()
    return np.array(found)


@pytest.mark.parametrize(("a", "b"), [(6.3, 6.3), (5.2, 9.1), (4.1, 12.0)])
def test_area_edge_and_peak_of_hertz(a, b):
    rng = np.random.default_rng(0)
    for _ in range(10):
        turn, middle = rng.uniform(0.0, np.pi), rng.uniform(-0.5, 0.5, 2)
        area, edge, peak, sharpness = measured(a, b, turn, middle)
        # The square is extrapolated on a straight line, and is concave: the strip is taken off.
        assert area - EDGE_OFFSET * edge == pytest.approx(np.pi * a * b, rel=0.015)
        ellipse = np.pi * (3 * (a + b) - np.sqrt((3 * a + b) * (a + 3 * b)))
        assert edge == pytest.approx(ellipse, rel=0.02)
        # p² is a quadratic, which the fit finds; half of the smoothing by shape functions is added.
        assert peak**2 == pytest.approx(1.0 + (1 / a**2 + 1 / b**2) / 6.0 / 2.0, rel=0.02)
        assert 0.5 / max(a, b) ** 2 < sharpness < 2.0 / min(a, b) ** 2


def test_area_scales_with_the_square_of_the_spacing():
    first = measured(5.0, 8.0, 0.3, (0.1, 0.2))
    second = measured(1.0, 1.6, 0.3, (0.02, 0.04), spacing=0.2)
    np.testing.assert_allclose(second[:2], first[:2] * (0.04, 0.2), rtol=1e-9)
    assert second[2] == pytest.approx(first[2], rel=1e-9)


def test_a_single_node_has_an_area_and_its_own_pressure():
    area, _, peak, sharpness = measured(0.4, 0.4, 0.0, (0.0, 0.0))
    assert 0.0 < area < 1.0
    assert peak == pytest.approx(1.0)
    assert sharpness == 1.0
