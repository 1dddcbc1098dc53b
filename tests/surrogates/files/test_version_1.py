"""Files of version 1: its formulas, and answers that it gave, beside those of the reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import legendre
from surrogate_files import parts, signed

from surrogates.families.training import polynomial_exponents
from surrogates.files import version_1
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.sampling.space import SampleSpace

DATA = Path(__file__).parents[1] / "data"
NAMES = ("kriging", "squared_exponential", "response_surface", "direct")
#: What was told of a fit and does not change an answer.
UNUSED = ("factor", "residuals", "ridge", "log_likelihood")
TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}


def contents(name, side="medial"):
    arrays, header = parts(DATA / f"version_1_{name}.npz")
    part = {k.split("/", 1)[1]: a for k, a in arrays.items() if k.startswith(side + "/")}
    space = SampleSpace.from_header(header["space"][side])
    return header["formulation"][side], space, part


def old_correlation(name, theta, z, points):
    """(N, n): theta multiplied the distances of Matern, and the squares of the Gaussian."""
    gap = np.abs(z[:, None] - points)
    if name == "squar_exp":
        return np.exp(-(theta * gap**2).sum(axis=2))
    u = theta * gap
    if name == "matern52":
        root = np.sqrt(5.0) * u
        return ((1 + root + 5.0 / 3.0 * u**2) * np.exp(-root)).prod(axis=2)
    root = np.sqrt(3.0) * u
    return ((1 + root) * np.exp(-root)).prod(axis=2)


def old_terms(exponents, z):
    columns = [
        np.prod([legendre.legval(z[:, j], np.eye(e + 1)[e]) for j, e in enumerate(row)], axis=0)
        for row in exponents
    ]
    return np.array(columns).T


def old_predict(part, x):
    """(N, k) as version 1 gave it."""
    z = (x - part["x_offset"]) / part["x_scale"]
    exponents = polynomial_exponents(x.shape[1], TRENDS[str(part["trend"])])
    near = old_correlation(str(part["correlation"]), part["theta"], z, part["points"])
    total = old_terms(exponents, z) @ part["beta"] + near @ part["gamma"]
    return part["y_offset"] + part["y_scale"] * total


def below(arrays, head):
    return {k.split("/", 1)[1]: a for k, a in arrays.items() if k.startswith(head + "/")}


@pytest.mark.parametrize("correlation", ["squar_exp", "matern52", "matern32"])
@pytest.mark.parametrize("trend", TRENDS)
def test_every_correlation_and_trend_is_read(correlation, trend):
    formulation, space, arrays = contents("kriging")
    rng = np.random.default_rng(1)
    terms = len(polynomial_exponents(6, TRENDS[trend]))
    changed = {
        "height/correlation": np.array(correlation),
        "height/trend": np.array(trend),
        "height/theta": rng.uniform(0.05, 2.0, 6),
        "height/beta": rng.normal(size=(terms, 1)),
    }
    arrays = arrays | changed
    model = version_1.compartment(formulation, space, arrays)
    x = rng.uniform(-1.0, 1.0, (20, 6))
    expected = old_predict(below(arrays, "height"), x)
    np.testing.assert_allclose(model.regressors[1].predict(x), expected, rtol=1e-11, atol=1e-15)


def test_a_vanishing_theta_is_a_length_without_end():
    formulation, space, arrays = contents("kriging")
    arrays["height/theta"] = arrays["height/theta"] * [1, 1, 1, 1, 0, 1]
    model = version_1.compartment(formulation, space, arrays)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, (20, 6))
    expected = old_predict(below(arrays, "height"), x)
    np.testing.assert_allclose(model.regressors[1].predict(x), expected, rtol=1e-9, atol=1e-15)


def test_coordinates_are_those_of_the_box():
    """Scaled as the samples were drawn, about the tibial origin."""
    formulation, space, arrays = contents("kriging")
    model = version_1.compartment(formulation, space, arrays)
    poses, load = space.draw(np.random.default_rng(0).random((20, 6)))
    poses[:, 4] += 3e-4
    u, over, _ = model.coordinates.variables(poses)
    expected, height = space.scaled(poses, load)
    np.testing.assert_allclose(u, expected[:, :5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(over, height, rtol=0, atol=1e-16)
    assert not model.coordinates.about_point
    assert (model.degree, model.largest) == (2.0, space.load[1])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("kriging", {"height/correlation": "abs_exp"}, "correlation: expected one of"),
        ("kriging", {"height/trend": "cubic"}, "trend: expected one of"),
        ("kriging", {"height/family": "network"}, "family: expected one of"),
        ("kriging", {"height/theta": np.ones((2, 3))}, "theta: expected shape"),
        ("kriging", {"height/x_scale": np.zeros(6)}, "x_scale: expected > 0"),
        ("response_surface", {"ratios/coefficients": np.ones(3)}, "coefficients: expected shape"),
        ("response_surface", {"ratios/exponents": np.full((4, 6), 99)}, "exponents: expected"),
        ("direct", {"height_range": np.ones(3)}, "height_range: expected shape"),
        ("direct", {"height_range": np.zeros(2)}, "depth: expected a half range"),
        ("root", {}, "formulation: expected one of"),
        ("inverse", {}, "formulation: expected one of"),
    ],
)
def test_malformed_parts_are_refused(name, change, message):
    formulation, space, arrays = contents(name if name in NAMES else "kriging")
    arrays |= {key: np.asarray(value) for key, value in change.items()}
    with pytest.raises(ValueError, match=message):
        version_1.compartment(formulation if name in NAMES else name, space, arrays)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_version_1_answer_as_they_did(name):
    """The answers are those that the package gave when it wrote that version."""
    knee = load(DATA / f"version_1_{name}.npz")
    with np.load(DATA / f"version_1_{name}_answers.npz") as data:
        where, loads, jacobians = data["poses"], data["loads"], data["jacobians"]
    found, slopes, x = knee.evaluate_batch(where)
    assert knee.header["version"] == 1
    assert (np.abs(x[35:, :, :5]) > 1.0).any(axis=(1, 2)).all()
    size = np.nanmax(np.abs(loads), axis=(0, 1))
    np.testing.assert_allclose(found / size, loads / size, rtol=0, atol=1e-11)
    peak = np.abs(jacobians).max(axis=0)
    np.testing.assert_allclose(slopes.sum(axis=1) / peak, jacobians / peak, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_version_1_is_written_again_in_todays_version(name, tmp_path):
    old = load(DATA / f"version_1_{name}.npz")
    save(old, tmp_path / "knee.npz")
    new = load(tmp_path / "knee.npz")
    assert new.header["version"] == 3
    with np.load(DATA / f"version_1_{name}_answers.npz") as data:
        where = data["poses"]
    for ours, theirs in zip(old.evaluate_batch(where), new.evaluate_batch(where), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_standard_errors_of_version_1_are_finite_where_there_is_contact():
    for name in ("kriging", "response_surface", "direct"):
        knee = load(DATA / f"version_1_{name}.npz")
        with np.load(DATA / f"version_1_{name}_answers.npz") as data:
            where, loads = data["poses"][:35], data["loads"][:35]
        touching = loads[:, 0, 1] > 0.0
        errors = knee.medial.standard_error(where)
        assert touching.any()
        assert np.isfinite(errors[touching]).all()
        assert (errors[touching, 1] > 0.0).all()
    formulation, space, arrays = contents("response_surface")
    model = version_1.compartment(formulation, space, arrays)
    for head, regressor in zip(("height", "ratios"), model.regressors[1:], strict=False):
        expected = arrays[f"{head}/deviation"]
        np.testing.assert_allclose(
            regressor.standard_error(np.zeros((1, 6)))[0], expected, rtol=1e-9
        )


def test_a_part_missing_from_a_file_of_version_1_is_refused(tmp_path):
    for origin in ("kriging", "response_surface", "direct"):
        arrays, header = parts(DATA / f"version_1_{origin}.npz")
        for name in arrays:
            if not name.startswith("medial") or name.endswith(UNUSED):
                continue
            file = tmp_path / "knee.npz"
            file.write_bytes(signed({k: a for k, a in arrays.items() if k != name}, header))
            with pytest.raises(SurrogateFileError, match="not a usable surrogate"):
                load(file)
