"""Finite elements of nearly incompressible layers are exact within a few per cent, or flagged."""

import pytest
from some_slow import first_of

from foundation.base.flags import FlagKind
from tests.oracles.flat_layer import flat_elements


@pytest.mark.parametrize("ratio", first_of([0.4999, 0.499]))
def test_coarse_nodes_of_a_nearly_incompressible_layer_are_flagged(ratio):
    force, area, flags = flat_elements(ratio, 1.5e-3, 3.0, 0.1, 0.75e-3)
    ((most_force, most_area),) = (
        flag.values[-2:] for flag in flags if flag.kind is FlagKind.COARSE_NODES
    )
    assert abs(100.0 * force) < 1.2 * most_force
    assert -100.0 * area < 1.2 * most_area


@pytest.mark.parametrize("ratio", first_of([0.46, 0.45]))
def test_ordinary_layers_are_not_flagged(ratio):
    force, _, flags = flat_elements(ratio, 3e-3, 2.0, 0.1, 1e-3)
    assert flags == ()
    assert force == pytest.approx(0.0, abs=0.01)
