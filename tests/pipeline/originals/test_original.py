"""The original model of a study: evaluation over tables, kinds, implausible layers, sides."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY, export, implant_meshes, mesh_study, slab_study

from foundation.base.loads import LOAD_COLUMNS
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import ConfigError, load_config
from pipeline.config.schema import ContactConfig, LayerConfig
from pipeline.originals import knee_surface_checks
from pipeline.originals.articular_contacts import material_notes
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import evaluate_rows
from pipeline.originals.knee_surface_checks import check_sides
from pipeline.originals.layer_checks import unusual_modulus
from pipeline.originals.spring_bed import build_law
from pipeline.preparation.checkup import check_study
from pipeline.store.samples import CANDIDATE_COLUMNS, FAILED, OK, RESULT_COLUMNS


def table(knee, *rows):
    """Return candidates (compartment, load) at the pose where the knee starts."""
    candidates = pd.DataFrame(
        [knee.start.array] * len(rows), columns=pd.Index(CANDIDATE_COLUMNS[2:8])
    )
    names, loads = zip(*rows, strict=True)
    candidates = candidates.assign(compartment=names, index=range(len(rows)), load_N=loads)
    return candidates[list(CANDIDATE_COLUMNS)]


def test_rows_carry_their_load(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 900.0), ("medial", 5.0))
    done = evaluate_rows(knee.model, drawn, "load")
    assert set(done.columns) == {*CANDIDATE_COLUMNS, *RESULT_COLUMNS}
    assert done["status"].tolist() == [OK] * 3
    np.testing.assert_allclose(done["force_y_N"], drawn["load_N"], rtol=1e-6, atol=0.0)
    assert done["superior_m"].iloc[0] < done["superior_m"].iloc[2]
    assert (done["evaluations"] > 0).all()
    for column in ("compartment", "index", "anterior_m", "flexion_rad"):
        assert done[column].equals(drawn[column])


def test_rows_that_follow_the_pose_carry_what_is_found_there(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 900.0))
    done = evaluate_rows(knee.model, drawn, "load")
    other = done[list(CANDIDATE_COLUMNS)].assign(load_N=1.0)
    again = evaluate_rows(knee.model, other, "pose")
    assert again[["status", "evaluations"]].values.tolist() == [[OK, 1], [OK, 1]]
    np.testing.assert_allclose(again[list(LOAD_COLUMNS)], done[list(LOAD_COLUMNS)], rtol=1e-12)
    assert again["superior_m"].equals(done["superior_m"])
    assert (again["load_N"] == 1.0).all()


def test_poses_without_an_answer_keep_their_reason(knee):
    drawn = table(knee, *[("medial", 200.0)] * 2)
    height = evaluate_rows(knee.model, drawn, "load")["superior_m"]
    done = evaluate_rows(knee.model, drawn.assign(superior_m=height.add([5e-3, -12e-3])), "pose")
    assert done["status"].tolist() == [FAILED, FAILED]
    assert done["reason"].iloc[0] == "no contact at this height"
    assert done["reason"].iloc[1].startswith("the layer is pressed through (strain ")
    assert done[list(LOAD_COLUMNS)].isna().all(axis=None)
    assert done["evaluations"].tolist() == [1, 1]


def test_impossible_rows_are_kept_with_the_reason(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 1e9), ("medial", 300.0), ("medial", 100.0))
    drawn.loc[2, "lateral_m"] = 0.5
    drawn.loc[3, "superior_m"] = 1.0
    done = evaluate_rows(knee.model, drawn, "load")
    assert done["index"].tolist() == [0, 1, 2, 3]
    assert done["status"].tolist() == [OK, FAILED, FAILED, FAILED]
    assert done["reason"].iloc[0] == ""
    assert done["reason"].iloc[1].startswith("load not reached: ")
    assert "of 1e+09 N" in done["reason"].iloc[1]
    assert (
        done["reason"].iloc[2]
        == done["reason"].iloc[3]
        == "no contact within 10 mm below the start"
    )
    assert done.loc[1:, list(LOAD_COLUMNS)].isna().all(axis=None)
    assert done["superior_m"].iloc[3] == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        ["contact.youngs_modulus_MPa=464.0"],
        ["contact.law='logarithmic'"],
        ["contact.femur_layer.thickness_mm=3.0"],
        ["knee.implant.edge_mm=3.1"],
        ["contact.surface='flat'"],
        ["contact.conservative=true"],
    ],
)
def test_digest_tells_surfaces_law_and_bed(knee, changes):
    assert build_knee(load_config(SMOKE, TINY)).digest == knee.digest
    assert build_knee(load_config(SMOKE, (*TINY, *changes))).digest != knee.digest


def test_configuration_says_how_springs_stand_and_act(knee):
    assert (knee.model.surface, knee.model.conservative) == ("curved", False)
    changes = ("contact.surface='flat'", "contact.conservative=true")
    other = build_knee(load_config(SMOKE, (*TINY, *changes))).model
    assert (other.surface, other.conservative) == ("flat", True)
    modified = ("contact.law='modified'", "contact.conservative=true")
    with pytest.warns(UserWarning, match="is the linear law"):
        build_knee(load_config(SMOKE, (*TINY, *modified)))
    with pytest.raises(ValueError, match="conservative: this law has no stored energy"):
        build_knee(load_config(SMOKE, (*TINY, *modified, "contact.f=3.0")))


def test_laws_get_si_units():
    layer = {"youngs_modulus_MPa": 5.0, "poissons_ratio": 0.4, "thickness_mm": 2.0}
    linear = build_law(ContactConfig(**layer), 0)
    assert isinstance(linear, LinearLaw)
    assert (linear.youngs_modulus, linear.poissons_ratio, linear.thickness) == (5e6, 0.4, 2e-3)
    assert isinstance(build_law(ContactConfig(**layer, law="logarithmic"), 0), LogarithmicLaw)
    modified = build_law(
        ContactConfig(**layer, law="modified", f=3.0, m=0.7, reference_indentation_mm=0.5), 0
    )
    assert isinstance(modified, ModifiedLaw)
    assert (modified.f, modified.m, modified.reference_indentation) == (3.0, 0.7, 5e-4)
    series = build_law(ContactConfig(**layer, femur_layer=LayerConfig(**layer)), 0)
    assert isinstance(series, SeriesLaw)


def test_table_gives_the_thickness_of_each_vertex_and_layer(tmp_path):
    tibial, femoral = tmp_path / "tibial.csv", tmp_path / "femoral.csv"
    tibial.write_text("x_mm, thickness_mm\n0.0, 2.0\n1.0, 2.5\n2.0, 3.0\n")
    femoral.write_text("thickness_mm\n1\n2\n0.5\n")
    contact = ContactConfig(
        thickness_file=str(tibial), femur_layer=LayerConfig(thickness_file=str(femoral))
    )
    law = build_law(contact, 3)
    np.testing.assert_allclose(law.first.thickness, [2e-3, 2.5e-3, 3e-3], rtol=1e-15)
    np.testing.assert_allclose(law.second.thickness, [1e-3, 2e-3, 0.5e-3], rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("thickness_mm\n2.0\n", ["expected 3 rows", "tibial mesh as loaded, found 1"]),
        ("h\n2\n2\n2\n", ["expected columns thickness_mm", "found ['h']"]),
        (
            "thickness_mm\n2\n0.01\n3\n",
            ["expected finite thickness_mm from 0.1 to 100", "found [0.01] in row 2"],
        ),
        (None, ["cannot be read as CSV", "No such file"]),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, text, words):
    path = tmp_path / "thickness.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"thickness_file .*thickness\.csv: ") as caught:
        build_law(ContactConfig(thickness_file=str(path)), 3)
    for word in words:
        assert word in str(caught.value)


def test_built_in_insert_has_its_exact_thickness(knee):
    tibia = knee.model.tibia
    exact = CondylarImplant().thickness(tibia.vertices, tibia.vertex_normals)
    np.testing.assert_array_equal(knee.model.law.thickness, exact)


@pytest.mark.slow
def test_mesh_files_make_the_knee_of_the_built_in_shapes(tmp_path):
    surfaces = implant_meshes()
    files = {
        body: {"file": str(export(surface, tmp_path / f"{body}.ply", scale=1e3)), "unit": "mm"}
        for body, surface in surfaces.items()
    }
    study = mesh_study(tmp_path, files["femur"], files["tibia"])
    loaded = build_knee(load_config(study))
    # PLY holds single precision.
    np.testing.assert_allclose(
        loaded.model.tibia.vertices, surfaces["tibia"].vertices, rtol=0.0, atol=1e-8
    )
    split = build_knee(load_config(study, ("knee.split_lateral_mm=0.0",)))
    np.testing.assert_array_equal(loaded.model.compartments, split.model.compartments)
    moved = build_knee(load_config(study, ("knee.split_lateral_mm=25.0",)))
    assert moved.model.compartments.sum() < split.model.compartments.sum()
    left = build_knee(load_config(study, ("knee.side='left'",)))
    assert left.digest != loaded.digest
    with pytest.raises(ConfigError, match=r"underside.*\[knee.tibia_solid\]"):
        load_config(study, ("contact.thickness_mm='underside'",))


UNDERSIDE = ("contact.thickness_mm='underside'",)


def test_measured_and_tabulated_thickness_make_the_same_knee(tmp_path):
    study = slab_study(tmp_path)
    measured = build_knee(load_config(study, UNDERSIDE))
    values = 7.0 - 0.05 * 1e3 * measured.model.tibia.vertices[:, 2]
    table = tmp_path / "thickness.csv"
    pd.DataFrame({"thickness_mm": values}).to_csv(table)
    given = (*UNDERSIDE, f"contact.thickness_file='{table}'")
    tabulated = build_knee(load_config(study, given))
    np.testing.assert_allclose(
        tabulated.model.law.thickness, measured.model.law.thickness, rtol=1e-6, atol=0.0
    )
    assert load_config(study, given).contact.thickness_mm == "underside"
    with pytest.raises(ConfigError, match="thickness_file: expected only one, found 8"):
        load_config(study, given[1:])
    pd.DataFrame({"thickness_mm": values[1:]}).to_csv(table)
    with pytest.raises(ValueError, match=r"expected 162 rows.*found 161"):
        build_knee(load_config(study, given))


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
    monkeypatch.setattr(knee_surface_checks, "forward_frame", lambda _: None)
    monkeypatch.setattr(knee_surface_checks, "trochlear_lead", lambda *_: trochlea)
    shape = type("", (), {"medial_left": plateaus})
    monkeypatch.setattr(knee_surface_checks, "shape_of", lambda *_: shape)
    findings = check_sides({"femur": PLATE, "tibia": PLATE}, side)
    assert [finding.code for finding in findings] == ([code] if code else [])
    for finding in findings:
        assert side in finding.text
        assert other in finding.text


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
        (463e6, "463 MPa, 1e-6 as much"),
        (10e-6, "10 MPa, 1e6 times as much, would be usual for cartilage"),
    ],
)
def test_slips_of_decimals_and_units_are_named(modulus, slip):
    (told,) = material_notes(model(modulus, modulus))
    assert told.startswith("m.osim, elastic_modulus of insert, femur: ")
    assert slip in told
