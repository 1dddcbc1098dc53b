"""Precision of JAX."""

import pytest
from lazily import jax


@pytest.fixture
def double():
    """Switch JAX to double precision for a test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
