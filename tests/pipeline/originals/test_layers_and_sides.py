"""Implausible moduli and thicknesses and contradicting sides are told; ordinary ones are not."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from studies import SMOKE

from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.originals import knee_sides
from pipeline.originals.articular_contacts import material_notes
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee_sides import check_sides
from pipeline.originals.layer_checks import unusual_modulus
from pipeline.preparation.checkup import check_study

COARSE = ("knee.implant.edge_mm=3.0", "knee.implant.femur_edge_mm=2.0")
PLATE = TriangleMesh([[0, 0, 0], [0, 0, 2], [3, 0, 0]], [[0, 1, 2]], "plate.stl")


@pytest.mark.parametrize(
    ("trochlea", "plateaus", "code"),
    [
        *((0.5, 0.7, None), (0.0, 0.04, None), (0.0, -0.025, None), (0.0, -0.04, "side")),
        *((0.0, 0.0, None), (0.5, -0.05, None)),
        *((-0.5, -0.7, "side"), (0.0, -0.7, "side"), (-0.5, 0.0, "side"), (-0.5, 0.05, "side")),
        *((-0.5, 0.7, "different-sides"), (0.5, -0.7, "different-sides")),
    ],
)
@pytest.mark.parametrize(("side", "other"), [("right", "left"), ("left", "right")])
def test_sides_by_the_shapes(monkeypatch, trochlea, plateaus, code, side, other):
    monkeypatch.setattr(knee_sides, "forward_frame", lambda _: None)
    monkeypatch.setattr(knee_sides, "trochlear_lead", lambda *_: trochlea)
    shape = type("", (), {"medial_left": plateaus})
    monkeypatch.setattr(knee_sides, "shape_of", lambda *_: shape)
    findings = check_sides({"femur": PLATE, "tibia": PLATE}, side)
    assert [finding.code for finding in findings] == ([code] if code else [])
    for finding in findings:
        assert side in finding.text
        assert other in finding.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("contact.thickness_mm=80.0", "contact.thickness_mm: a layer 80 mm thick is unusual"),
        ("contact.poissons_ratio=0.046", "contact.poissons_ratio: 0.046 is unusual"),
        ("contact.youngs_modulus_MPa=46.3", "46.3 MPa is unusual .* \\(463 MPa, 10 times as much"),
        ("contact.youngs_modulus_MPa=3e3", "contact.youngs_modulus_MPa: 3000 MPa is unusual"),
    ],
)
def test_implausible_layers_are_told(change, words):
    with pytest.warns(UserWarning, match=words):
        build_knee(load_config(SMOKE, (*COARSE, change)))


def test_a_modulus_that_carries_nothing_is_refused_before_settling(capsys):
    change = "contact.youngs_modulus_MPa=0.463"
    findings, _ = check_study(SMOKE, (*COARSE, change))
    (error,) = [finding for finding in findings if finding.is_error]
    assert "contact.youngs_modulus_MPa: 0.463 MPa is too soft" in error.text
    assert "check the unit" in error.text
    assert "settling" not in capsys.readouterr().err
    # A soft layer under a load that it carries is only unusual.
    light = ("space.path.axial_force_N=20.0", "space.load_N=[1.0, 50.0]")
    with pytest.warns(UserWarning, match="0.463 MPa is unusual"):
        build_knee(load_config(SMOKE, (*COARSE, change, *light)))


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
