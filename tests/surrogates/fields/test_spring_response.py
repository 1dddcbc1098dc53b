"""Laws of springs found from indentations and pressures."""

from __future__ import annotations

import numpy as np
import pytest

from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw
from surrogates.fields.spring_response import LOGARITHMIC, POWER, SpringResponse

COUNT = 30
THICKNESS = np.linspace(4e-3, 9e-3, COUNT)


def pairs(law, share=0.0, seed=0):
    """Triangles, indentations, largest indentations and pressures of a law over 40 poses."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(40):
        largest = rng.uniform(0.1e-3, 0.8e-3)
        triangle = rng.permutation(COUNT)[:12]
        depth = rng.uniform(share + 0.05, 1.0, 12) * largest
        depth[0] = largest
        whole = np.zeros(COUNT)
        whole[triangle] = depth
        pressure = law.pressure(whole)[triangle]
        parts.append((triangle, depth, np.full(12, largest), pressure))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


@pytest.mark.parametrize(
    ("law", "kind", "exponent", "share"),
    [
        (LinearLaw(463e6, 0.46, THICKNESS), POWER, 1.0, 0.0),
        (LogarithmicLaw(5e6, 0.45, THICKNESS), LOGARITHMIC, 1.0, 0.0),
        (ModifiedLaw(463e6, 0.46, THICKNESS, f=4.0, m=0.8), POWER, 0.8, 0.25),
    ],
)
def test_the_law_is_found(law, kind, exponent, share):
    triangle, depth, largest, pressure = pairs(law, share)
    found, known = SpringResponse.fit(triangle, depth, largest, pressure)
    assert found is not None
    assert found.constants == pytest.approx([kind, exponent, share], abs=2e-3)
    depths = np.linspace(0.6e-3, 0.7e-3, len(known))
    fitted = found.pressures(depths, 0.7e-3)
    truth = np.zeros(COUNT)
    truth[known] = depths
    assert fitted == pytest.approx(law.pressure(truth, 0.7e-3)[known], rel=2e-3)


def test_a_layer_is_not_a_bed_of_springs():
    triangle, depth, largest, _ = pairs(LinearLaw(463e6, 0.46, THICKNESS))
    other = np.random.default_rng(3).uniform(0.5, 1.5, len(depth)) * 1e11 * depth
    assert SpringResponse.fit(triangle, depth, largest, other)[0] is None


def test_refusals():
    with pytest.raises(InputError, match="kind"):
        SpringResponse(np.array([7.0, 1.0, 0.0]), np.ones((3, 2)))
    with pytest.raises(InputError, match="law"):
        SpringResponse(np.array([0.0, 1.0, 0.0]), np.zeros((3, 2)))
    with pytest.raises(InputError, match="missing"):
        SpringResponse.from_arrays({"law": np.ones((3, 2))})
