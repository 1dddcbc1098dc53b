"""Finite elements of a study: layers, memory, stored compliances, workers, flags, path."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY, slab_study

from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS
from foundation.finite_element import condensed_layer
from foundation.finite_element.condensed_layer import ComplianceStore
from foundation.finite_element.layer import PlaneBase, SolidBase, ThicknessBase
from foundation.finite_element.model import FiniteElementContact
from pipeline.config.reading import load_config
from pipeline.originals import finite_element_layer
from pipeline.originals.contact_original import build_knee
from pipeline.originals.finite_element_layer import (
    build_elements,
)
from pipeline.originals.knee import Knee, evaluate_rows
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.spring_bed import springs_beside
from pipeline.store.samples import FAILED, OK, candidate_table

ELEMENTS = ("contact.model='finite_element'", "contact.finite_element.node_spacing_mm=2.0")


def built(monkeypatch, config, folder=None):
    """Return what a configuration builds its finite-element model of."""
    given = {}

    def record(femur, tibia, layer, **options):
        given.update(femur=femur, tibia=tibia, layer=layer, **options)
        return SimpleNamespace(size=SimpleNamespace(memory=1.0, unknowns=(1, 1)))

    monkeypatch.setattr(finite_element_layer, "FiniteElementContact", record)
    build_elements(config.contact, load_surfaces(config), folder)
    return SimpleNamespace(**given)


def test_elements_get_si_units(monkeypatch, tmp_path):
    settings = (
        *("contact.youngs_modulus_MPa=5.0", "contact.poissons_ratio=0.4"),
        "contact.finite_element.growth=1.3",
    )
    config = load_config(SMOKE, (*TINY, *ELEMENTS, *settings))
    found = built(monkeypatch, config, tmp_path)
    assert (found.layer.youngs_modulus, found.layer.poissons_ratio) == (5e6, 0.4)
    assert (found.spacing, found.growth) == (2e-3, 1.3)
    assert found.folder == tmp_path / "condensed"
    assert not hasattr(found, "femur_layer")
    np.testing.assert_array_equal(found.compartments, load_surfaces(config).compartments)


def test_base_of_the_built_in_insert_is_its_underside(monkeypatch):
    layer = built(monkeypatch, load_config(SMOKE, (*TINY, *ELEMENTS))).layer
    assert isinstance(layer.base, PlaneBase)
    assert layer.base.height == 0.0


def test_base_at_a_thickness(monkeypatch, tmp_path):
    given = load_config(SMOKE, (*TINY, *ELEMENTS, "contact.thickness_mm=7.0"))
    base = built(monkeypatch, given).layer.base
    assert isinstance(base, ThicknessBase)
    assert base.thickness == 7e-3
    count = len(load_surfaces(given).tibia.vertices)
    rows = np.linspace(6.0, 9.0, count)
    table = tmp_path / "tibial.csv"
    table.write_text("thickness_mm\n" + "\n".join(map(repr, rows.tolist())))
    read = load_config(SMOKE, (*TINY, *ELEMENTS, f"contact.thickness_file='{table}'"))
    np.testing.assert_array_equal(built(monkeypatch, read).layer.base.thickness, 1e-3 * rows)


def test_femoral_layer_has_the_thickness_of_femoral_vertices(monkeypatch, tmp_path):
    uniform = load_config(SMOKE, (*TINY, *ELEMENTS, "contact.femur_layer.thickness_mm=3.0"))
    surfaces = load_surfaces(uniform)
    femoral = built(monkeypatch, uniform).femur_layer
    assert (femoral.youngs_modulus, femoral.base.thickness) == (463e6, 3e-3)
    rows = np.linspace(2.0, 4.0, len(surfaces.femur.vertices))
    table = tmp_path / "femoral.csv"
    table.write_text("thickness_mm\n" + "\n".join(map(repr, rows.tolist())))
    read = load_config(SMOKE, (*TINY, *ELEMENTS, f"contact.femur_layer.thickness_file='{table}'"))
    np.testing.assert_array_equal(built(monkeypatch, read).femur_layer.base.thickness, 1e-3 * rows)
    # The springs beside the elements stand on the tibia and have the mean thickness.
    assert springs_beside(read.contact, surfaces).law.second.thickness == pytest.approx(
        3e-3, rel=1e-12
    )
    table.write_text("thickness_mm\n3.0\n")
    with pytest.raises(InputError, match=f"expected {len(rows)} rows, one per vertex of the femo"):
        built(monkeypatch, read)


def test_base_of_a_mesh_is_its_solid(monkeypatch, tmp_path):
    study = slab_study(tmp_path)
    config = load_config(study, (*ELEMENTS, "contact.thickness_mm='underside'"))
    base = built(monkeypatch, config).layer.base
    assert isinstance(base, SolidBase)
    np.testing.assert_array_equal(base.solid.vertices, load_surfaces(config).below.vertices)
    assert len(base.solid.faces) == 12


def test_more_memory_than_the_machine_has_is_refused(monkeypatch):
    assert condensed_layer.machine_memory() > 1e8
    config = load_config(SMOKE, (*TINY, *ELEMENTS))
    monkeypatch.setattr(condensed_layer, "machine_memory", lambda: 1e6)
    with pytest.raises(
        InputError, match=r"node_spacing_mm: .*nodes, and the .* needs .* 0\.0 GB of this machine"
    ):
        build_knee(config)
    monkeypatch.setattr(condensed_layer, "machine_memory", lambda: None)
    build_knee(config)


CONFIG = load_config(
    SMOKE,
    (*TINY, "contact.model='finite_element'", "contact.finite_element.node_spacing_mm=2.0"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("condensed") / "run"


@pytest.fixture(scope="module")
def knee(folder):
    made = build_knee(CONFIG, folder)
    assert not folder.exists()
    made.prepare(lambda text: None)
    return made


@pytest.fixture(scope="module")
def path(knee):
    return knee.reference_path(CONFIG)


@pytest.fixture(scope="module")
def drawn(path):
    poses = path.poses(np.linspace(0.1, 0.8, 4))
    parts = [candidate_table(poses, np.linspace(50.0, 900.0, 4), name) for name in COMPARTMENTS]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def done(knee, drawn):
    return evaluate_rows(knee.model, drawn, "load")


def forbid_condensing(monkeypatch):
    def condensed(self, body):
        raise AssertionError("the compliance is stored")

    monkeypatch.setattr(ComplianceStore, "_condensed", condensed)


def test_samples_carry_their_load(done):
    assert done["status"].tolist() == [OK] * len(done)
    np.testing.assert_allclose(done["force_y_N"], done["load_N"], rtol=1e-6, atol=0.0)


@pytest.mark.slow
def test_stored_compliances_give_the_same_loads(knee, folder, drawn, done, monkeypatch):
    fresh = build_knee(CONFIG)
    assert fresh.digest == knee.digest
    assert evaluate_rows(fresh.model, drawn, "load").equals(done)
    assert len(list((folder / "condensed").iterdir())) == 2
    forbid_condensing(monkeypatch)
    stored = build_knee(CONFIG, folder)
    assert evaluate_rows(stored.model, drawn, "load").equals(done)


def test_nodes_follow_from_the_contact_unless_their_distance_is_stated():
    wide, narrow = (
        build_knee(load_config(SMOKE, (*TINY, ELEMENTS[0], *more))).model.spacing
        for more in (("space.path.axial_force_N=5000.0",), ("space.path.axial_force_N=50.0",))
    )
    assert 0.7e-3 == narrow < wide < 2e-3
    few = ("contact.finite_element.node_spacing_mm=4.0", "space.path.axial_force_N=50.0")
    with pytest.raises(InputError, match=r"mm across, which is .* nodes \(expected at least 4\)"):
        build_knee(load_config(SMOKE, (*TINY, ELEMENTS[0], *few)))


def test_contact_that_leaves_the_layer_is_no_sample(knee, drawn, monkeypatch):
    def flags(self, pose, compartment):
        return (Flag(FlagKind.END_OF_NODES, compartment),) * (compartment == "medial")

    monkeypatch.setattr(FiniteElementContact, "compartment_flags", flags)
    for follow in ("load", "pose"):
        rows = drawn if follow == "load" else drawn.assign(superior_m=drawn["superior_m"] - 1e-4)
        found = evaluate_rows(knee.model, rows, follow)
        medial = found["compartment"] == "medial"
        assert (found.loc[medial, "status"] == FAILED).all()
        assert found.loc[medial, "reason"].eq(str(Flag(FlagKind.END_OF_NODES, "medial"))).all()


def test_path_of_springs_is_near_the_rest_of_the_elements(knee, path):
    """Springs are stiffer: the elements settle some micrometres deeper, and hardly elsewhere."""
    elements = Knee(knee.model, knee.start, knee.digest).reference_path(CONFIG)
    apart = np.abs(elements.poses(path.flexion) - path.poses(path.flexion)).max(axis=0)
    half = CONFIG.space
    assert apart[1] < 0.1 * np.radians(half.adduction_deg)
    assert apart[2] < 0.1 * np.radians(half.rotation_deg)
    assert apart[3] < 0.1e-3 * half.anterior_mm
    assert apart[4] < 0.1e-3
    assert apart[5] < 0.1e-3 * half.lateral_mm
