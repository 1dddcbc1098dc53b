"""Correlation lengths of SMT and scikit-learn, on a function with a rapid and a slow input."""

import numpy as np
import pytest

from surrogates.families.kriging_search import other_search
from surrogates.sampling.designs import unit_design


@pytest.mark.parametrize("search", ["smt", "scikit-learn"])
@pytest.mark.parametrize("correlation", ["squared_exponential", "matern52"])
def test_the_rapid_input_has_the_shorter_length(search, correlation):
    z = 2.0 * unit_design("sobol", 32, 2, np.random.default_rng(0)) - 1.0
    y = np.sin(4.0 * z[:, :1]) + 0.2 * np.sin(z[:, 1:])
    nugget = (1e-10, 1e-2)
    found = other_search(search, correlation, z, y, nugget, np.random.default_rng(1))
    lengths = np.asarray(found[0])
    assert lengths.shape == (2,)
    assert 1.5 * lengths[0] < lengths[1]
    assert nugget[0] <= found[1] <= nugget[1]
    np.testing.assert_array_equal(found[2], 0.0)
    again = other_search(search, correlation, z, y, nugget, np.random.default_rng(1))
    np.testing.assert_array_equal(again[0], lengths)
