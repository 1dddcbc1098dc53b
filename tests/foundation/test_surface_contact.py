"""What is a contact of surfaces: the models that have surfaces, and no surrogate."""

import numpy as np
import pytest
from beds import model_of
from shapes import ellipsoid, plate

from foundation.base.errors import InputError
from foundation.base.loads import SpringState
from foundation.base.pose import Pose
from foundation.elastic_foundation import model as elastic_foundation
from foundation.surface_contact import SurfaceContact
from surrogates.formulations.contact_surrogate import ContactSurrogate


def test_elastic_foundation_is_a_contact_of_surfaces():
    model = model_of(ellipsoid((30e-3,) * 3, 2), plate(60e-3, 8))
    assert isinstance(model, SurfaceContact)
    assert isinstance(model.spring_state(Pose(superior=31e-3)), SpringState)
    assert model.compartment_flags(Pose(), "medial") == ()
    assert elastic_foundation.SpringState is SpringState


def test_springs_give_pressures_at_the_triangles_of_a_compartment():
    model = model_of(ellipsoid((30e-3,) * 3, 2), plate(60e-3, 8))
    pose = Pose(superior=29e-3, lateral=10e-3)
    places, whole = model.pressure_places("lateral"), model.spring_state(pose)
    found = model.place_state(pose, "lateral")
    np.testing.assert_array_equal(places.triangles, np.flatnonzero(model.compartments == 1))
    np.testing.assert_array_equal(places.points, model.tibia.centroids[places.triangles])
    np.testing.assert_array_equal(found.pressure, whole.pressure[places.triangles])
    np.testing.assert_array_equal(found.indentation, whole.indentation[places.triangles])
    assert found.pressure.max() > 0.0
    assert places.corners is None
    with pytest.raises(InputError, match="compartment"):
        model.place_state(pose, "upper")


def test_surrogates_have_no_surfaces():
    assert not isinstance(object.__new__(ContactSurrogate), SurfaceContact)
