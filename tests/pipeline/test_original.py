"""The original model of a study, and its evaluation over tables."""

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY, export, implant_meshes, mesh_study

from foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.loads import LOAD_COLUMNS
from pipeline.config import ConfigError, load_config
from pipeline.original import Knee, build_knee, build_law, evaluate_rows, parallel_evaluation
from pipeline.samples import CANDIDATE_COLUMNS, FAILED, OK, RESULT_COLUMNS
from pipeline.schema import ContactConfig, LayerConfig


@pytest.fixture(scope="module")
def knee() -> Knee:
    return build_knee(load_config(SMOKE, TINY))


def table(knee: Knee, *rows: tuple[str, float]) -> pd.DataFrame:
    """Return candidates (compartment, load) at the pose where the knee starts."""
    candidates = pd.DataFrame(
        [knee.start.array] * len(rows), columns=pd.Index(CANDIDATE_COLUMNS[2:8])
    )
    names, loads = zip(*rows, strict=True)
    candidates = candidates.assign(compartment=names, index=range(len(rows)), load_N=loads)
    return candidates[list(CANDIDATE_COLUMNS)]


def test_rows_carry_their_load(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 900.0), ("medial", 5.0))
    done = evaluate_rows(knee.model, drawn)
    assert set(done.columns) == {*CANDIDATE_COLUMNS, *RESULT_COLUMNS}
    assert done["status"].tolist() == [OK] * 3
    np.testing.assert_allclose(done["force_y_N"], drawn["load_N"], rtol=1e-6, atol=0.0)
    assert done["superior_m"].iloc[0] < done["superior_m"].iloc[2]
    assert (done["evaluations"] > 0).all()
    for column in ("compartment", "index", "anterior_m", "flexion_rad"):
        assert done[column].equals(drawn[column])


def test_impossible_rows_are_kept_with_the_reason(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 1e9), ("medial", 300.0), ("medial", 100.0))
    drawn.loc[2, "lateral_m"] = 0.5
    drawn.loc[3, "superior_m"] = 1.0
    done = evaluate_rows(knee.model, drawn)
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


def test_evaluating_again_gives_the_same_table(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 1e9))
    done = evaluate_rows(knee.model, drawn)
    again = evaluate_rows(knee.model, done.assign(superior_m=drawn["superior_m"]))
    assert again.equals(done)


def test_index_of_the_table_is_kept(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 900.0)).set_index(pd.Index([7, 3]))
    done = evaluate_rows(knee.model, drawn)
    assert done.index.tolist() == [7, 3]
    np.testing.assert_allclose(done["force_y_N"], drawn["load_N"], rtol=1e-6, atol=0.0)


def test_chunks_come_back_with_their_place(knee):
    drawn = table(knee, ("medial", 200.0), ("lateral", 900.0), ("medial", 5.0))
    chunks = [drawn.iloc[:1], drawn.iloc[1:]]
    found = dict(parallel_evaluation(knee.model, 1)(chunks))
    assert pd.concat([found[0], found[1]]).equals(evaluate_rows(knee.model, drawn))


@pytest.mark.parametrize(
    "changes",
    [
        ["contact.youngs_modulus_MPa=464.0"],
        ["contact.poissons_ratio=0.45"],
        ["contact.thickness_mm=8.0"],
        ["contact.law='logarithmic'"],
        ["contact.femur_layer.thickness_mm=3.0"],
        ["knee.implant.edge_mm=3.1"],
    ],
)
def test_digest_tells_surfaces_and_law(knee, changes):
    assert build_knee(load_config(SMOKE, TINY)).digest == knee.digest
    assert build_knee(load_config(SMOKE, (*TINY, *changes))).digest != knee.digest


def test_laws_get_si_units():
    layer = {"youngs_modulus_MPa": 5.0, "poissons_ratio": 0.4, "thickness_mm": 2.0}
    linear = build_law(ContactConfig(**layer), None)
    assert isinstance(linear, LinearLaw)
    assert (linear.youngs_modulus, linear.poissons_ratio, linear.thickness) == (5e6, 0.4, 2e-3)
    assert isinstance(build_law(ContactConfig(**layer, law="logarithmic"), None), LogarithmicLaw)
    modified = build_law(
        ContactConfig(**layer, law="modified", f=3.0, m=0.7, reference_indentation_mm=0.5), None
    )
    assert isinstance(modified, ModifiedLaw)
    assert (modified.f, modified.m, modified.reference_indentation) == (3.0, 0.7, 5e-4)
    series = build_law(ContactConfig(**layer, femur_layer=LayerConfig(**layer)), None)
    assert isinstance(series, SeriesLaw)


def test_underside_needs_measured_thickness():
    with pytest.raises(ValueError, match=r"thickness_mm.*built-in"):
        build_law(ContactConfig(), None)
    law = build_law(ContactConfig(), np.array([8e-3, 9e-3]))
    np.testing.assert_array_equal(law.thickness, [8e-3, 9e-3])


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
    with pytest.raises(ConfigError, match="underside"):
        load_config(study, ("contact.thickness_mm='underside'",))
