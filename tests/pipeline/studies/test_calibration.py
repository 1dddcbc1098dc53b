"""Calibration of spring laws: known laws are found again, and the configuration that is written."""

import json

import numpy as np
import pytest
import shapes
from numpy.testing import assert_allclose
from some_slow import first_of
from studies import SMOKE, TINY

from foundation.base.loads import COMPARTMENTS
from foundation.elastic_foundation.laws import CoupledLaw, LinearLaw, ModifiedLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.spring_bed import build_bed
from pipeline.store.samples import candidate_table
from pipeline.studies.calibration import (
    FREE_LAWS,
    errors_of,
    fit_law,
    percentages,
    with_keys,
)
from pipeline.studies.contact_models.knee import samples_of

E, NU, H = 463e6, 0.46, 8e-3
INDENTATION = 0.1  # mm


@pytest.fixture(scope="module")
def bed():
    femur, tibia, labels = CondylarImplant().tessellate(2.5e-3)
    return ElasticFoundation(femur, tibia, LinearLaw(E, NU, H), compartments=labels)


def samples_by(model, count=8):
    """Samples of a model that stands for the finite elements."""
    import pandas as pd

    poses = shapes.pressed_poses(CondylarImplant(), count, seed=1)
    load = np.linspace(200.0, 1500.0, count)
    rows = np.array([pose.array for pose in poses])
    tables = [candidate_table(rows, load, name) for name in COMPARTMENTS]
    return samples_of(model, pd.concat(tables, ignore_index=True))


def fitted(bed, name, law, samples):
    free = FREE_LAWS[name]

    def at(values):
        return bed.with_law(with_keys(law, name, free.keys(values, INDENTATION)))

    return fit_law(free, at, samples)


@pytest.mark.slow
def test_a_coupled_law_is_found_again(bed):
    truth = bed.with_law(CoupledLaw(E, NU, H, modulus_factor=0.8, thickness_factor=1.3))
    fit = fitted(bed, "coupled", CoupledLaw(E, NU, H), samples_by(truth))
    assert_allclose(np.exp(fit.values), (0.8, 1.3), rtol=0.02)
    assert fit.cost < 1e-3


@pytest.mark.parametrize("m", first_of([0.7, 1.5]))
def test_a_modified_law_is_found_again(bed, m):
    """The exponent is on either side of 1."""
    law = ModifiedLaw(E, NU, H, f=5.0, m=m, reference_indentation=0.05e-3)
    given = ModifiedLaw(E, NU, H, f=np.inf, m=0.9)
    fit = fitted(bed, "modified", given, samples_by(bed.with_law(law)))
    keys = FREE_LAWS["modified"].keys(fit.values, INDENTATION)
    assert keys["f"] == pytest.approx(5.0, rel=0.05)
    assert keys["m"] == pytest.approx(m, rel=0.02)
    assert keys["reference_indentation_mm"] == pytest.approx(0.05, rel=0.05)


def test_errors_are_those_of_a_stiffer_bed(bed):
    """Twice the modulus: twice the force at a pose; less overlap and area under the same load."""
    samples = samples_by(bed)
    assert_allclose(errors_of(bed, samples), 0.0, atol=3e-4)
    errors = errors_of(bed.with_law(LinearLaw(2 * E, NU, H)), samples)
    assert_allclose(errors[:, 0], np.log(2.0), atol=1e-9)
    # F ~ δ² and A ~ δ of paraboloids: 2 (δ/δ0)² = 1.
    assert_allclose(errors[:, 2], np.log(np.sqrt(0.5)), atol=0.05)
    assert_allclose(errors[:, 1], np.log(np.sqrt(2.0)), atol=0.05)
    figures = percentages(errors)
    assert figures["force"] == pytest.approx(100.0)
    assert figures["area"] == pytest.approx(29.3, abs=3.0)


CALIBRATED = (
    *TINY, "contact.model='finite_element'", "contact.finite_element.node_spacing_mm=1.5",
    "calibration.samples=10", "calibration.folds=2",
)  # fmt: skip


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """Folder of a calibration of a coarse implant; not to be written to."""
    folder = tmp_path_factory.mktemp("calibrated") / "laws"
    pairs = [part for text in CALIBRATED for part in ("--set", text)]
    assert main(["run", str(SMOKE), "--out", str(folder), "--quiet", *pairs]) == 0
    return folder


def content_of(folder):
    return json.loads((folder / "calibration.json").read_text(encoding="utf-8"))


def test_errors_fall_by_the_calibration_of_the_modified_law(calibrated):
    laws = {
        (row["law"], row["calibrated"]): row["errors_percent"]
        for row in content_of(calibrated)["laws"]
    }
    assert laws["linear", False]["force"] > 50.0
    assert laws["modified", True]["force"] < 0.3 * laws["modified", False]["force"]
    # The coupled law needs no calibration for the force; the elements of this test are coarse.
    assert laws["coupled", False]["force"] < 10.0


def test_the_closest_law_is_written(calibrated):
    content = content_of(calibrated)
    squares = {
        row["law"]: sum(np.log1p(error / 100.0) ** 2 for error in row["errors_percent"].values())
        for row in content["laws"]
        if row["calibrated"]
    }
    assert content["closest"] == min(squares, key=squares.get)
    law = content["closest"]
    rows = content["laws"]
    keys = next(row["keys"] for row in rows if row["law"] == law and row["calibrated"])
    config = load_config(calibrated / "calibrated.toml")
    assert config.contact.law == law
    for key, value in keys.items():
        assert getattr(config.contact, key) == pytest.approx(value)
    bed = build_bed(config.contact, load_surfaces(config))
    assert type(bed.law).__name__ == f"{law.capitalize()}Law"
