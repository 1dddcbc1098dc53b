"""Layers of contacts: measured and stated thicknesses, shared meshes, and the energy."""

import numpy as np
import pytest
import trimesh

from dynamics.musculoskeletal import OsimModel
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.originals.articular_contacts import StoredEnergy, articular_contacts
from pipeline.originals.contact_layers import ContactSurfaces, contact_law, with_thickness
from tests.dynamics.musculoskeletal.legs import leg_model

#: Half widths of the femur, and least and largest thickness of its layer [m].
WIDE, LONG, THIN, THICK = 0.025, 0.035, 2e-3, 4e-3
BED = 5e-3
BACK = (
    "<use_variable_thickness>true</use_variable_thickness><mesh_back_file>bone.stl"
    "</mesh_back_file><min_thickness>1e-3</min_thickness><max_thickness>1e-2</max_thickness>"
)


def grid(wide, long, cells):
    """Return places (K, 2) and triangles, facing up, of a rectangle."""
    x, z = np.meshgrid(
        np.linspace(-wide, wide, cells + 1), np.linspace(-long, long, cells + 1), indexing="ij"
    )
    index = np.arange(x.size).reshape(x.shape)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])
    return np.column_stack([x.ravel(), z.ravel()]), faces


@pytest.fixture
def model(tmp_path):
    """Return plateaus under a femur whose layer grows forwards, with its bone above."""
    below, faces = grid(0.018, 0.012, 6)
    plateaus = [
        np.column_stack([below[:, 0], np.zeros(len(below)), below[:, 1] + side])
        for side in (-0.02, 0.02)
    ]
    above, femoral = grid(WIDE, LONG, 10)
    layer = THIN + (THICK - THIN) * (above[:, 0] + WIDE) / (2.0 * WIDE)
    femur = np.column_stack([above[:, 0], np.zeros(len(above)), above[:, 1]])
    bone = femur + layer[:, None] * (0.0, 1.0, 0.0)
    for name, vertices, triangles in (
        ("tibia", np.vstack(plateaus), np.vstack([faces, faces + len(below)])),
        ("femur", femur, femoral[:, ::-1]),
        ("bone", bone, femoral[:, ::-1]),
    ):
        trimesh.Trimesh(vertices, triangles, process=False).export(tmp_path / f"{name}.stl")
    path = leg_model(tmp_path, right=True).path
    file = "<mesh_file>femur.stl</mesh_file>"
    path.write_text(path.read_text().replace(file, file + BACK))
    return OsimModel(path)


def test_the_layer_of_a_target_is_measured_by_triangle(model):
    (contact,) = model.contacts
    surfaces = ContactSurfaces(model)
    law, excess = contact_law(contact, surfaces)
    femur = surfaces.mesh(contact.target)
    wanted = THIN + (THICK - THIN) * (femur.centroids[:, 0] + WIDE) / (2.0 * WIDE)
    # Lumped: both layers are one.
    np.testing.assert_allclose(law.thickness + excess, BED + wanted, atol=1e-7)
    assert np.average(excess, weights=femur.areas) == pytest.approx(0.0, abs=1e-12)
    assert surfaces.mesh(contact.target) is femur


@pytest.mark.parametrize("surface", ["curved", "flat"])
def test_springs_are_those_of_the_thickness_over_them(model, surface):
    """Under even overlap, the pressure follows the layer."""
    (contact,) = articular_contacts(model, surface=surface)
    bed, overlap = contact.model, 1e-4
    pose = Pose(superior=-overlap)
    state, x = bed.spring_state(pose), bed.tibia.centroids[:, 0]
    layer = BED + THIN + (THICK - THIN) * (x + WIDE) / (2.0 * WIDE)
    wanted = state.pressure.mean() * (1.0 / layer) / (1.0 / layer).mean()
    np.testing.assert_allclose(state.pressure, wanted, rtol=3e-3 if surface == "curved" else 2e-2)
    assert np.ptp(state.pressure) > 0.1 * state.pressure.mean()
    twice = with_thickness(bed, 2.0).loads(pose).force[1]
    assert twice == pytest.approx(0.5 * bed.loads(pose).force[1], rel=1e-9)


def test_a_stated_thickness_needs_no_bone(model, tmp_path):
    (tmp_path / "bone.stl").unlink()
    told = (
        r"femur_mesh: expected the bone under the layer in .*bone\.stl, found no such file; .* "
        r"state a uniform thickness of femur_mesh in walk\.thickness_mm"
    )
    with pytest.raises(InputError, match=told):
        articular_contacts(model)
    (contact,) = articular_contacts(model, thicknesses={"femur_mesh": 3e-3}, surface="flat")
    assert contact.model.law.thickness == pytest.approx(BED + 3e-3)
    with pytest.raises(InputError, match=r"names of contact meshes of .*bad"):
        articular_contacts(model, thicknesses={"bad": 3e-3})


def test_the_energy_of_a_layer_that_varies_is_found_by_differences(model):
    (contact,) = articular_contacts(model, thicknesses={"femur_mesh": 3e-3}, energy=True)
    pose = Pose(superior=-1e-4, flexion=0.002, anterior=1e-3)
    wanted = contact.energy.wrench(pose)
    assert contact.energy.bed.conservative
    found = StoredEnergy(contact.model).wrench(pose)
    np.testing.assert_allclose(found, wanted, atol=2e-4 * np.abs(wanted).max())
    (varied,) = articular_contacts(model, energy=True)
    force, moment = np.split(varied.energy.wrench(pose), 2)
    assert not varied.energy.bed.conservative
    # The layer grows forwards: a femur that moves forwards brings thinner parts over the springs.
    assert force[1] > 0.0
    assert force[0] < found[0] - 5e-3
    assert np.isfinite(moment).all()
