"""Corresponding knees: equal triangles, smooth shapes, a configuration that is ready to run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from some_slow import first_of

from pipeline.config.reading import load_config
from pipeline.originals.knee_surfaces import load_surfaces, shape_modes
from pipeline.originals.spring_bed import layer_thickness
from tests.oracles.corresponding_knees import corresponding_knees, write_corresponding_knees
from tests.oracles.knees import load_knee

pytestmark = pytest.mark.usefixtures("knee_data")


@pytest.mark.parametrize("base", first_of(["lenhart", "grand challenge"]))
def test_the_configuration_takes_the_modes_of_the_knees(tmp_path, base):
    path = write_corresponding_knees(tmp_path, base, 4, modes=3)
    modes = shape_modes(load_config(path).knee)
    assert_allclose(modes.shares.sum(), 1.0, rtol=1e-9)
    real = load_knee(base)
    knee = corresponding_knees(*real, 4)[2]
    away = np.concatenate([mesh.vertices for mesh in knee])
    away -= np.concatenate(modes.vertices(np.zeros(3)))
    left = away - np.tensordot(np.tensordot(modes.modes, away, 2), modes.modes, 1)
    assert np.abs(left).max() < 1e-7  # files in single precision
    config = load_config(path, ("knee.shape.mode_1=1.0",))
    surfaces = load_surfaces(config)
    assert_array_equal(surfaces.femur.faces, real[0].faces)
    assert_array_equal(surfaces.tibia.vertices, modes.vertices([1.0, 0.0, 0.0])[1])
    layer_thickness(config.contact, len(surfaces.tibia.vertices))
