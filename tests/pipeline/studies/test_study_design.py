"""Designs, distributions and Sobol indices of a study."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from pipeline.config.reading import ConfigError
from pipeline.studies.design import base_runs, quantile, study_table
from pipeline.studies.schema import FactorConfig, StudyConfig
from pipeline.studies.summary import convergence, distribution_of, rank_correlations
from surrogates.sampling.sensitivity import sobol_indices, unit_design

SHARES = np.array([0.025, 0.16, 0.5, 0.84, 0.975])


def config(kind="montecarlo", runs=16, factors=None, **changes):
    if factors is None:
        factors = (
            FactorConfig(name="axial_scale", distribution="uniform", low=0.8, high=1.2),
            FactorConfig(name="period_s", distribution="fixed", value=1.1),
            FactorConfig(name="ap_offset_N", mean=3.0, sd=10.0),
        )
    return StudyConfig(kind=kind, runs=runs, factor=tuple(factors), **changes)


def test_monte_carlo_row_depends_on_seed_and_number_alone():
    few, many = unit_design("montecarlo", 5, 3, 7), unit_design("montecarlo", 50, 3, 7)
    assert np.array_equal(few, many[:5])
    assert not np.array_equal(few, unit_design("montecarlo", 5, 3, 8))
    assert len(np.unique(many)) == many.size


def test_monte_carlo_is_uniform():
    unit = unit_design("montecarlo", 4000, 2, 1)
    for column in unit.T:
        assert stats.kstest(column, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(unit.T)[0, 1]) < 0.05


def test_latin_hypercube_has_one_row_in_each_stripe():
    unit = unit_design("latin_hypercube", 20, 3, 1)
    stripes = np.sort(np.floor(20 * unit), axis=0)
    assert np.array_equal(stripes, np.tile(np.arange(20)[:, None], 3))


def test_sobol_blocks_differ_in_one_column():
    unit = unit_design("sobol", 8, 3, 1).reshape(8, 5, 3)
    for block in unit:
        for k in range(3):
            differing = block[0] != block[k + 1]
            assert differing.tolist() == [j == k for j in range(3)]
            assert block[k + 1, k] == block[4, k]


@pytest.mark.parametrize("kind", ["montecarlo", "latin_hypercube", "sobol"])
def test_design_repeats_and_is_inside(kind):
    unit = unit_design(kind, 16, 4, 3)
    assert np.array_equal(unit, unit_design(kind, 16, 4, 3))
    assert unit.min() > 0.0
    assert unit.max() < 1.0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"distribution": "uniform", "low": 2.0, "high": 6.0}, stats.uniform(2.0, 4.0)),
        ({"distribution": "normal", "mean": 2.0, "sd": 0.5}, stats.norm(2.0, 0.5)),
        (
            {"distribution": "truncated_normal", "mean": 2.0, "sd": 0.5, "low": 1.5, "high": 4.0},
            stats.truncnorm(-1.0, 4.0, 2.0, 0.5),
        ),
    ],
)
def test_quantiles_are_those_of_the_distribution(settings, expected):
    values = quantile(FactorConfig(name="ap_scale", **settings), SHARES)
    assert_allclose(values, expected.ppf(SHARES), rtol=1e-12)


def test_lognormal_has_the_stated_mean_and_deviation():
    factor = FactorConfig(name="ap_scale", distribution="lognormal", mean=30.0, sd=9.0)
    # Midpoint rule over the shares: the moments of the distribution itself.
    values = quantile(factor, (np.arange(200_000) + 0.5) / 200_000)
    assert_allclose(values.mean(), 30.0, rtol=1e-4)
    assert_allclose(values.std(), 9.0, rtol=2e-3)
    assert values.min() > 0.0


def test_table_holds_values_in_their_units_and_fixed_ones():
    table = study_table(config(runs=40))
    assert list(table.columns) == ["run", "axial_scale", "period_s", "ap_offset_N"]
    unit = unit_design("montecarlo", 40, 2, 1)
    assert_allclose(table["axial_scale"], 0.8 + 0.4 * unit[:, 0], rtol=1e-12)
    assert_allclose(table["ap_offset_N"], stats.norm.ppf(unit[:, 1], 3.0, 10.0), rtol=1e-9)
    assert (table["period_s"] == 1.1).all()


def test_sobol_table_and_its_base_matrices():
    study = config("sobol", 8)
    table = study_table(study)
    assert len(table) == 8 * 4
    chosen = base_runs(study, len(table))
    assert chosen.sum() == 16
    assert len(np.unique(table["axial_scale"][chosen])) == 16


@pytest.mark.parametrize(
    ("name", "mean", "words"),
    [
        ("ap_stiffness_N_per_mm", 1.0, "expected values >= 0"),
        ("superior_mass_kg", 1.0, "expected values > 0"),
        ("modulus_scale", 0.1, "lognormal"),
    ],
)
def test_value_that_is_not_allowed_is_named(name, mean, words):
    study = config(factors=[FactorConfig(name=name, mean=mean, sd=5.0)])
    with pytest.raises(ConfigError, match=words) as caught:
        study_table(study)
    assert f"study.factor: {name}: " in str(caught.value)


def ishigami(unit):
    x = np.pi * (2.0 * unit - 1.0)
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices():
    """Return first-order and total indices; Ishigami & Homma 1990, a = 7, b = 0.1."""
    a, b = 7.0, 0.1
    first = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2
    second = a**2 / 8.0
    both = 8.0 * b**2 * np.pi**8 / 225.0
    total = first + second + both
    return np.array([first, second, 0.0]) / total, np.array([first + both, second, both]) / total


def test_sobol_indices_of_the_ishigami_function():
    names = ["a", "b", "c"]
    found = sobol_indices(names, ishigami(unit_design("sobol", 2048, 3, 1)), seed=1)
    first, total = ishigami_indices()
    assert_allclose([found[n]["first"] for n in names], first, rtol=0, atol=0.02)
    assert_allclose([found[n]["total"] for n in names], total, rtol=0, atol=0.02)
    assert all(0.0 < found[n]["total_half_width"] < 0.1 for n in names)


def test_sobol_indices_leave_out_blocks_with_a_failed_run():
    values = ishigami(unit_design("sobol", 1024, 3, 1))
    values[[3, 507, 2222]] = np.nan
    found = sobol_indices(["a", "b", "c"], values, seed=1)
    _, total = ishigami_indices()
    assert_allclose([found[n]["total"] for n in "abc"], total, rtol=0, atol=0.04)


def test_no_sobol_indices_of_constant_or_failed_outputs():
    assert sobol_indices(["a", "b"], np.full(32, 3.0), seed=1) is None
    assert sobol_indices(["a", "b"], np.full(32, np.nan), seed=1) is None


def test_rank_correlations_are_those_of_scipy():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 3))
    outputs = np.column_stack([inputs[:, 0] ** 3, inputs @ [1.0, -2.0, 0.1], np.ones(60)])
    found = rank_correlations(inputs, outputs)
    assert_allclose(found[0, 0], 1.0, rtol=1e-12)
    for k in range(3):
        expected = stats.spearmanr(inputs[:, k], outputs[:, 1]).statistic
        assert_allclose(found[k, 1], expected, rtol=1e-12)
    assert np.isnan(found[:, 2]).all()


def test_distribution_of_known_values():
    found = distribution_of(np.arange(1001.0))
    assert found["mean"] == 500.0
    assert [found[f"q{q}"] for q in ("2.5", "25", "50", "75", "97.5")] == [25, 250, 500, 750, 975]
    assert (found["minimum"], found["maximum"]) == (0.0, 1000.0)
    assert_allclose(found["sd"], np.arange(1001.0).std(ddof=1), rtol=1e-12)
    assert distribution_of(np.ones(1)) is None


def test_convergence_ends_with_all_runs():
    values = np.random.default_rng(1).normal(5.0, 2.0, 400)
    curve = convergence(values)
    assert curve.runs[0] == 2
    assert curve.runs[-1] == 400
    assert_allclose(curve.mean[-1], values.mean(), rtol=1e-12)
    assert_allclose(curve.half_width[-1], 1.96 * values.std(ddof=1) / 20.0, rtol=1e-4)
