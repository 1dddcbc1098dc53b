"""What is a contact of surfaces: the models that have surfaces, and no surrogate."""

from beds import model_of
from shapes import ellipsoid, plate

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


def test_surrogates_have_no_surfaces():
    assert not isinstance(object.__new__(ContactSurrogate), SurfaceContact)
