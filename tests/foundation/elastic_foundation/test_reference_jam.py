"""The customary bed (one spring per triangle) against OpenSim-JAM's results on the real meshes."""

import csv
from functools import cache

import numpy as np
import pytest
from some_slow import first_of

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, SeriesLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.mesh import load_mesh

E, NU = 10e6, 0.45
LAWS = {
    "lumped": LinearLaw(E, NU, 6e-3),
    "two layers": SeriesLaw(LinearLaw(E, NU, 3e-3), LinearLaw(E, NU, 3e-3)),
}
COORDINATES = ["flex_rad", "add_rad", "rot_rad", "tx_m", "ty_m", "tz_m"]


def table(file):
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def columns(rows, names):
    return np.column_stack([rows[name] for name in names]).astype(float)


@pytest.fixture(scope="module")
def cartilage(knee_data):
    folder = knee_data / "jam_lenhart2015_knee"
    return [load_mesh(folder / f"ACLC01-R-{body}-cart.obj") for body in ("femur", "tibia")]


@pytest.fixture(scope="module")
def model_of(cartilage):
    """A function that returns the model of a law, made once."""
    return cache(lambda law: ElasticFoundation(*cartilage, LAWS[law], surface="flat"))


@pytest.mark.parametrize("law", first_of(LAWS))
def test_lenhart2015_all_rows(knee_data, model_of, law):
    """552 poses; the table's forces act on the tibia, its moment is minus r x f."""
    rows = table(knee_data / "derived" / "jam_lenhart2015_tf_contact_reference.csv")
    poses = columns(rows, [f"knee_{c}" for c in COORDINATES])
    assert len(poses) == 552
    model = model_of(law)
    found = [model.loads(Pose.from_opensim(*pose)) for pose in poses]

    force = -columns(rows, ["force_x_N", "force_y_N", "force_z_N"])
    error = np.linalg.norm([r.force for r in found] - force, axis=1)
    assert (error <= 1e-6 * np.linalg.norm(force, axis=1)).all()
    # On the femur r x f is minus that on the tibia, which the table has negated already.
    moment = columns(rows, ["moment_x_Nm", "moment_y_Nm", "moment_z_Nm"])
    np.testing.assert_allclose([r.moment for r in found], moment, rtol=0, atol=1e-5)
    area, peak = columns(rows, ["contact_area_m2", "max_pressure_Pa"]).T
    np.testing.assert_allclose([r.area for r in found], area, rtol=1e-4, atol=0)
    np.testing.assert_allclose([r.peak_pressure for r in found], peak, rtol=1e-5, atol=0)
    centre = columns(rows, ["cop_x_m", "cop_y_m", "cop_z_m"])
    np.testing.assert_allclose([r.centre_of_pressure for r in found], centre, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def grand_challenge(knee_data):
    folder = knee_data / "grand_challenge_DM_implant"
    files = ("Femoral Component contact.stl", "Tibial Insert contact.stl")
    meshes = [load_mesh(folder / f, axes=("-x", "y", "-z")) for f in files]
    return ElasticFoundation(*meshes, LinearLaw(463e6, 0.46, 10e-3), surface="flat")


@pytest.mark.parametrize(
    ("further", "force", "half_digit", "area", "peak"),
    [
        (0.05e-3, 1.25e3, 5.0, 214e-6, 10.7e6),
        (0.1e-3, 4.30e3, 5.0, 359e-6, 21.4e6),
        (0.2e-3, 14.2e3, 50.0, 569e-6, 42.8e6),
    ],
)
def test_grand_challenge_dwell_position(grand_challenge, further, force, half_digit, area, peak):
    """The README's figures at t = (-6.5, 41.11, 0) mm of the files, whose x is posterior.

    They are met to their last digit at 41.1102 mm: 0.2 um, which its rounding leaves open, are 1 %
    of the force at the least indentation.
    """
    model = grand_challenge
    dwell = 41.1102e-3
    touching = model.loads(Pose(anterior=6.5e-3, superior=dwell))
    assert touching.force[1] < 1.0
    found = model.loads(Pose(anterior=6.5e-3, superior=dwell - further))
    assert found.force[1] == pytest.approx(force, abs=half_digit)
    assert found.area == pytest.approx(area, abs=0.5e-6)
    assert found.peak_pressure == pytest.approx(peak, abs=0.05e6)
