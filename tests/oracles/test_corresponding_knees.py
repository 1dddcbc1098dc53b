"""Corresponding knees: equal triangles, smooth shapes, a configuration that is ready to run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from some_slow import first_of

from pipeline.config.reading import load_config
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.layer_thickness import layer_thickness
from pipeline.originals.shape_surfaces import shape_modes
from tests.oracles.corresponding_knees import corresponding_knees, write_corresponding_knees
from tests.oracles.knees import load_knee

pytestmark = pytest.mark.usefixtures("knee_data")


def test_knees_have_the_triangles_of_the_real_one_and_come_again():
    real = load_knee("lenhart")
    knees, again = (corresponding_knees(*real, 3) for _ in range(2))
    for place, mesh in enumerate(real):
        for knee, same in zip(knees, again, strict=True):
            assert_array_equal(knee[place].faces, mesh.faces)
            assert_array_equal(knee[place].vertices, same[place].vertices)
            away = np.linalg.norm(knee[place].vertices - mesh.vertices, axis=1)
            assert 0.2e-3 < away.mean() < 4e-3
            turned = (knee[place].normals * mesh.normals).sum(axis=1)
            assert np.mean(turned > np.cos(np.radians(25.0))) > 0.99


@pytest.mark.parametrize("base", first_of(["lenhart", "grand challenge"]))
def test_the_configuration_takes_the_modes_of_the_knees(tmp_path, base):
    path = write_corresponding_knees(tmp_path, base, 4, modes=3)
    modes = shape_modes(load_config(path).knee)
    assert_allclose(modes.shares.sum(), 1.0, rtol=1e-9)
    real = load_knee(base)
    knee = corresponding_knees(*real, 4)[2]
    found = modes.weights_of(knee[0].vertices, knee[1].vertices)
    assert found.largest < 1e-7  # files in single precision
    config = load_config(path, ("knee.shape.mode_1=1.0",))
    surfaces = load_surfaces(config)
    assert_array_equal(surfaces.femur.faces, real[0].faces)
    assert_array_equal(surfaces.tibia.vertices, modes.vertices([1.0, 0.0, 0.0])[1])
    layer_thickness(config.contact, len(surfaces.tibia.vertices))
