"""Moduli of contact meshes of OpenSim models beside their usual ranges."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.originals.articular_contacts import material_notes
from pipeline.originals.layer_checks import unusual_modulus


def model(bed, target, *, lumped=True):
    """Return a model with a contact of two moduli [MPa]."""
    meshes = (
        SimpleNamespace(name=name, youngs_modulus=1e6 * modulus)
        for name, modulus in (("insert", bed), ("femur", target))
    )
    contact = SimpleNamespace(bed=next(meshes), target=next(meshes), lumped=lumped)
    return SimpleNamespace(contacts=(contact,), path=Path("m.osim"))


@pytest.mark.parametrize("modulus", [1.0, 5.0, 10.0, 463.0, 1000.0])
def test_usual_moduli_have_no_note(modulus):
    assert unusual_modulus(modulus) == ""
    assert material_notes(model(modulus, modulus)) == ()


@pytest.mark.parametrize(
    ("modulus", "slip"),
    [
        (46.3, "463 MPa, 10 times as much, would be usual for polyethylene"),
        (4630.0, "463 MPa, a tenth as much"),
        (463e3, "463 MPa, 1e-3 as much"),
        (463e6, "463 MPa, 1e-6 as much"),
        (10e-6, "10 MPa, 1e6 times as much, would be usual for cartilage"),
    ],
)
def test_slips_of_decimals_and_units_are_named(modulus, slip):
    (told,) = material_notes(model(modulus, modulus))
    assert told.startswith("m.osim, elastic_modulus of insert, femur: ")
    assert slip in told


def test_metal_is_usual_for_a_layer_of_its_own_alone():
    assert material_notes(model(463.0, 210e3, lumped=False)) == ()
    (told,) = material_notes(model(463.0, 210e3))
    assert told.startswith("m.osim, elastic_modulus of femur: 210000 MPa is unusual")
