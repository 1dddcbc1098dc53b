"""Bad arguments of the whole package are refused with a message that names the argument."""

from dataclasses import replace
from functools import cache

import made
import manufactured
import numpy as np
import pytest
from reference import cube

import surrogates
from surrogates.core.regressor_data import polynomial_terms
from surrogates.export.c_export import export_knee
from surrogates.export.fmu import export_fmu
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.kriging import KrigingSettings, fit_kriging, local_error, spread_picks
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.families.polynomial import PolyFourierSettings, PolynomialSettings, fit_polynomial
from surrogates.families.registry import fit_family
from surrogates.families.regressor import Regressor, no_outputs
from surrogates.formulations.compartment_fit import fit_compartment
from surrogates.formulations.domain import Domain
from surrogates.formulations.selection import largest_errors, load_error
from surrogates.formulations.training_data import Samples
from surrogates.formulations.validation import distance_figures, error_figures
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.designs import first_subset, unit_design
from surrogates.sampling.space import ReferencePath, SampleSpace

NAN, INF = np.nan, np.inf


def count(x):
    return np.arange(len(x), dtype=float)[:, None]


def refusals(*rows):
    """Pairs of a call and the pattern of its message, named after the pattern."""
    return pytest.mark.parametrize(
        ("call", "message"),
        rows,
        ids=[f"{k} {message[:40]}" for k, (_, message) in enumerate(rows)],
    )


def refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


PATH = ReferencePath([0.0, 1.0], np.zeros((4, 1, 5)))


@cache
def space():
    return SampleSpace(PATH, [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, 2500.0])


def space_of(**change):
    given = {"flexion": [0.0, 1.0], "offsets": np.full(4, 0.1), "load": [1.0, 2.0]}
    return SampleSpace(PATH, **given | change)


def header_without(*fields):
    header = {k: v for k, v in space().to_header().items() if k not in fields}
    return SampleSpace.from_header(header)


def coordinates_of(**change):
    true = manufactured.truth().coordinates
    return CondyleCoordinates.from_arrays(true.to_arrays() | change)


INCREASING = "path flexion: expected .* increasing"


@refusals(
    (lambda: unit_design("sobel", 5, 2, 0), "kind: expected one of .*sobol"),
    (lambda: unit_design("lhs", 0, 2, 0), "n: .*>= 1, found 0"),
    (lambda: first_subset(np.zeros((3, 2)), 4), "n: expected at most the 3 rows of the design"),
    (lambda: ReferencePath.through([0.0, 0.0], np.zeros((2, 5))), INCREASING),
    (lambda: ReferencePath.through([0.0, 1.0], np.zeros((2, 6))), r"path coordinates: .*\(2, 5\)"),
    (lambda: ReferencePath.through([0.0, NAN], np.zeros((2, 5))), "path flexion: .* finite"),
    (lambda: ReferencePath([0.0], np.zeros((4, 0, 5))), "path flexion: expected two or more"),
    (lambda: ReferencePath([0.0, 1.0], np.zeros((4, 2, 5))), r"path pieces: .* \(4, 1, 5\)"),
    (lambda: space_of(flexion=[1.0, 1.0]), "flexion range: expected low < high"),
    (lambda: space_of(offsets=[0.1, 0.1, 0.0, 0.1]), "offset half widths: expected > 0"),
    (lambda: space_of(load=[0.0, 10.0]), "load range: expected 0 < low < high"),
    *[
        (lambda field=field: header_without(field), rf"sample space: missing \['{field}'\]")
        for field in (
            "path_flexion_rad",
            "path_pieces_rad_m",
            "flexion_rad",
            "offsets_rad_m",
            "load_N",
        )
    ],
    *[
        (lambda spread=spread: space().draw(np.full((1, 6), 0.5), spread), "spread: expected > 0")
        for spread in (0.0, -1.0, NAN)
    ],
    (lambda: space().draw(np.full((1, 6), 1.01)), r"unit: expected values in \[0, 1\]"),
    (lambda: space().scaled(np.zeros((2, 6)), [1.0]), r"load: expected shape \(2\)"),
    (lambda: space().scaled(np.zeros((2, 6)), [1.0, -1.0]), "load: expected >= 0 N, found -1.0"),
    (lambda: coordinates_of(centre=np.zeros(2)), r"centre: expected shape \(3\)"),
    (lambda: coordinates_of(half=np.zeros(5)), r"half: expected > 0, found 0\.0"),
    (lambda: coordinates_of(path_flexion=[1.0, 0.0]), "path flexion: expected two or more"),
    (lambda: coordinates_of(path_pieces=np.zeros((4, 2, 5))), r"path pieces: .*\(4, 1, 5\)"),
    (lambda: coordinates_of(about_point=np.array(2)), "about_point: expected 0 or 1, found 2"),
    (lambda: CondyleCoordinates.from_arrays({}), "missing .*centre.*half.*about_point"),
    (lambda: CondyleCoordinates.fit(np.zeros((0, 6)), np.zeros((0, 12))), "at least one sample"),
)
def test_sampling(call, message):
    refused(call, message)


@cache
def kriging():
    return fit_kriging(cube(30), count(cube(30)))


def krige(x, trend="linear"):
    return fit_kriging(x, count(x), KrigingSettings(correlation="matern52", trend=trend))


def regressor_of(**change):
    return Regressor.from_arrays(made.MADE["everything"].to_arrays() | change)


def splines_of(**change):
    return Regressor.from_arrays(made.splines(3, 2, 1, KNOTS[3:-3]).to_arrays() | change)


def beside_splines():
    """Splines and a point."""
    regressor = made.splines(3, 2, 1, KNOTS[3:-3])
    weights = np.zeros((2, regressor.weights.shape[1] + 1))
    return replace(regressor, points=np.zeros((1, 3)), weights=weights)


def coincident():
    regressor = made.kriging(12, 2, 1, nugget=0.0)
    points = regressor.points.copy()
    points[4] = points[7]
    return Regressor.from_arrays(regressor.to_arrays() | {"points": points})


def without_points():
    regressor, check = kriging()
    terms = len(regressor.exponents)
    bare = replace(regressor, points=np.empty((0, 3)), weights=regressor.weights[:, :terms])
    return local_error(bare, check, cube(3))


KNOTS = np.array([-1.0, -1.0, -1.0, -1.0, -0.5, 0.1, 0.5, 0.9, 0.9, 0.9, 0.9])
FIXED_ROW = np.column_stack([np.r_[np.zeros(29), 1.0], cube(30, 2)])
TOTAL = PolynomialSettings(basis="total_degree", degree=(4, 5))
SMALL = NetworkSettings(hidden=4, steps=10)
EVERYTHING = made.MADE["everything"]


@refusals(
    (lambda: fit_family("forest", cube(9), cube(9)), "name: expected one of .*'kriging'"),
    *[
        (lambda n=n, s=s: fit_family(n, cube(9), cube(9), s), f"expected {wanted} for '{n}'")
        for n, s, wanted in (
            ("kriging", PolynomialSettings(), "KrigingSettings"),
            ("polynomial", PolyFourierSettings(), "PolynomialSettings"),
        )
    ],
    (lambda: fit_family("kriging", cube(9), cube(9), weights=np.ones(9)), "weights: expected none"),
    *[
        (lambda kind=kind, name=name, value=value: kind(**{name: value}), f"{name}: expected")
        for kind, name, value in (
            (KrigingSettings, "correlation", "cubic"), (KrigingSettings, "trend", "cubic"),
            (KrigingSettings, "nugget", (0.0, 1e-3)),
            (KrigingSettings, "nugget", (1e-3, 1e-6)), (KrigingSettings, "starts", 0),
            (KrigingSettings, "likelihood_points", 5), (KrigingSettings, "iterations", 0),
            (KrigingSettings, "refine", -1),
            (PolynomialSettings, "basis", "sparse"), (PolynomialSettings, "terms", 0),
            (PolynomialSettings, "subset", 3), (PolynomialSettings, "first_degree", 25),
            (PolynomialSettings, "other_degree", -1), (PolynomialSettings, "ridge", (-1.0,)),
            (PolynomialSettings, "degree", (30,)), (PolyFourierSettings, "period_ratio", 0.5),
            (PolyFourierSettings, "first_degree", 13), (NetworkSettings, "hidden", 0),
            (NetworkSettings, "networks", 0), (NetworkSettings, "base_degree", 9),
            (NetworkSettings, "terms", -1),
        )
    ],
    (lambda: PolynomialSettings(degree=()), "degree, ridge: expected at least one value"),
    (lambda: krige(cube(4)), "X: expected more than 5 rows for a linear trend of 3 inputs"),
    (lambda: krige(cube(10), "quadratic"), "X: expected more than 11 rows for a quadratic trend"),
    (lambda: krige(cube(60)[:, [0, 1, 0]]), "dependent columns"),
    (lambda: krige(cube(2), "auto"), "X: expected more than 2 rows for a constant trend"),
    (lambda: krige(np.where(cube(60) > 0.9, NAN, 0.1)), "X: expected finite numbers"),
    (lambda: krige(FIXED_ROW), "row 29 alone determines a coefficient of the trend"),
    (lambda: spread_picks(kriging()[0], np.zeros((4, 2)), np.ones(4), 1), r"candidates: .*any, 3"),
    (lambda: spread_picks(kriging()[0], cube(4), np.ones(4), 5), "count: expected"),
    (without_points, "regressor: expected a Kriging model"),
    (lambda: fit_polynomial(cube(2), cube(2)), "X: expected at least 3 rows, found 2"),
    (lambda: fit_polynomial(cube(30), cube(30), TOTAL), "X: expected enough rows .* found 30"),
    (lambda: fit_polynomial(cube(9), cube(9), weights=np.zeros(9)), "weights: expected > 0, found"),
    (lambda: fit_network(cube(19), cube(19), SMALL), "X: .* 20 rows for a network, found 19"),
    (lambda: fit_network(cube(30), cube(30), SMALL, weights=-np.ones(30)), "weights: .* > 0"),
    (lambda: EVERYTHING.predict(np.zeros((2, 3))), "^X: expected"),
    (lambda: coincident().standard_error(np.zeros((1, 2))), "points: expected a positive definite"),
    (lambda: made.kriging(5, 2, 1, degree=2).standard_error(np.zeros((1, 2))), "at most 5 terms"),
    (lambda: polynomial_terms(np.array([[0, 0], [3, 1], [3, 0]])), "exponents: .*before"),
    *[
        (lambda name=name, value=value: regressor_of(**{name: value}), f"{name}: expected")
        for name, value in (
            ("weights", np.zeros((10, 3))), ("x_scale", np.zeros(4)), ("lengths", -np.ones(4)),
            ("kinds", np.array([0, 1, 2, 3])), ("kinds", np.zeros(4)), ("shear", np.ones(4)),
            ("variance", -np.ones(10)), ("spread", np.zeros((10, 2))), ("wave", -1.0),
            ("nugget", NAN), ("nugget", np.ones(2)), ("exponents", np.array([[1, 0, 0, 0]])),
            ("family", "forest"),
        )
    ],
    *[
        (lambda change=change: splines_of(**change), message)
        for change, message in (
            ({"knots": np.zeros((11, 1))}, "knots: expected shape"),
            ({"knots": np.zeros(7)}, "knots: expected 2 to 257 knots and 3 more at each end"),
            ({"knots": KNOTS[::-1]}, "knots: expected rising knots"),
            ({"knots": np.r_[KNOTS[:4], -1 + 1e-7, KNOTS[5:]]}, "knots: .* each 1e-06 of"),
            ({"knots": KNOTS + 0.1 * np.eye(11)[10]}, "knots: expected 4 equal knots at each end"),
            ({"knots": np.delete(KNOTS, 5)}, "weights: expected shape"),
            ({"shear": np.eye(3)[2]}, "knots: expected splines in the first input alone"),
            ({"wave": 1.0}, "knots: .* a wave of 1"),
            ({"exponents": np.eye(3, k=-1, dtype=int)}, "knots: .* degrees up to 1 in the first"),
        )
    ],
    (lambda: made.splines(1, 1, 1, [0.0, 1.0]), "knots: expected two or more inputs"),
    (beside_splines, "knots: .* no points beside splines, found 3 inputs and 1 points"),
    (lambda: Regressor.from_arrays({}), "missing .*family.*spread"),
)  # fmt: skip
def test_families(call, message):
    refused(call, message)


@cache
def model(formulation="inverted", family="polynomial"):
    return manufactured.compartment(formulation, family)


@cache
def samples():
    return manufactured.truth().samples(manufactured.design())


def fit(formulation, given, degree=2.0):
    return fit_compartment(formulation, model().space, given, manufactured.fitter(), degree)


def level():
    """Samples of one height over the path."""
    poses = np.repeat(samples().poses[:1], 9, axis=0)
    return Samples(poses, samples().loads[:9])


def with_parts(*parts, formulation="inverted"):
    return replace(model(formulation), regressors=parts)


def without(name):
    good = model()
    arrays = {k: a for k, a in good.to_arrays().items() if not k.startswith(name)}
    return type(good).from_arrays(good.formulation, good.space, arrays)


def pick(formulation="inverted", family="kriging", **change):
    surrogate = model(formulation, family)
    n = len(surrogate.regressors[0].points)
    check = CrossCheck(np.arange(n), np.zeros((n, 1)), np.ones((n, 1)), "leave-one-out")
    given = {"poses": samples().poses[:10], "load": np.full(10, 500.0), "count": 1} | change
    return largest_errors(surrogate, check, **given)


def parts():
    return model().regressors


def one_without_load():
    return samples().loads * (np.arange(240) != 3)[:, None]


BOX = (np.ones(12), no_outputs(6))


@refusals(
    (lambda: replace(model(), formulation="inverse"), "formulation: expected one of"),
    (lambda: replace(model(), largest=0.0), "largest: expected > 0"),
    (lambda: replace(model(), degree=0.9), "degree: expected >= 1"),
    (lambda: replace(model(), depth=[0.0, 0.0]), "depth: expected a half range > 0"),
    (lambda: with_parts(parts()[1], *parts()[1:]), "expected 12 outputs, found 16"),
    (
        lambda: with_parts(no_outputs(5), *parts()[1:]),
        r"expected three of 6 inputs each, found \[5, 6, 6\]",
    ),
    (
        lambda: with_parts(no_outputs(6), model("direct").regressors[0], no_outputs(6)),
        "expected the height in the first part",
    ),
    *[
        (lambda name=name: without(name), f"missing .*{name.split('/')[-1]}")
        for name in ("constants", "coordinates/half", "first/weights", "second/points")
    ],
    (lambda: without("second/"), "expected 12 outputs, found 7"),
    *[
        (
            lambda f=f, ask=ask: getattr(model(f), ask)(np.zeros((1, 6)), [100.0]),
            f"expected 'inverted' .* found '{f}'",
        )
        for f in manufactured.ALL
        for ask in ("at_load", "errors_at_load", "inputs_at_load")
        if f != "inverted"
    ],
    (lambda: replace(samples(), loads=one_without_load()), "axial load > 0 .* 0 N"),
    (lambda: replace(samples(), poses=np.zeros((240, 5))), r"poses: expected shape \(any, 6\)"),
    (lambda: replace(samples(), weights=np.ones(7)), r"weights: expected shape \(240\)"),
    (lambda: Samples(np.zeros((0, 6)), np.zeros((0, 12))), "poses: expected at least one sample"),
    (lambda: fit("inverse", samples()), "formulation: expected one of"),
    (lambda: fit("inverted", samples(), 0.5), "load_degree: expected >= 1"),
    (lambda: fit("direct", level()), "poses: expected samples of different heights"),
    (
        lambda: Domain(np.array([0.1, 0.2, 0.0]), no_outputs(6), *BOX),
        "limits: expected > 0, found 0",
    ),
    (lambda: Domain(np.ones(3), no_outputs(5), *BOX), "regressor: expected 6 or more inputs"),
    (lambda: pick(count=11), "count: expected >= 1 and <= 10, found 11"),
    (lambda: pick(load=np.ones(9)), r"load: expected shape \(10\)"),
    (lambda: pick("direct"), "formulation: expected one of"),
    (lambda: pick(family="polynomial"), "expected a Kriging model, found 'polynomial'"),
    (lambda: load_error(model(), kriging().check, np.zeros((30, 5))), r"inputs: .*\(any, 6\)"),
    (lambda: error_figures([1.0], [1.0]), "at least 2 known values, found 1"),
    (lambda: error_figures([1.0, 2.0], [1.0]), r"prediction: expected shape \(2\)"),
    (lambda: error_figures([1.0, 2.0], [1.0, INF]), "prediction: expected finite"),
    (lambda: distance_figures(np.zeros((4, 2)), np.zeros((4, 3))), r"truth: .*\(any, 3\)"),
    (lambda: model().smoothed(0.3), "smoothing width: expected"),
    (lambda: manufactured.knee().on_leaving("ignore"), "outside: expected one of"),
    (lambda: manufactured.knee().compartment("patellar"), "name: expected one of"),
    (
        lambda: surrogates.save(manufactured.knee(), "gone/knee.npz"),
        "path: expected a file in a folder that",
    ),
    (
        lambda: manufactured.knee().loads(np.zeros(6), order=3),
        "order: expected a whole number from 0 to 2",
    ),
    (lambda: manufactured.knee().loads(np.zeros(5)), r"poses: .* found shape \(5,\)"),
    (lambda: export_knee(manufactured.knee(), "my knee"), "prefix: expected letters"),
    (lambda: export_fmu(manufactured.knee(), "4.0"), r"version: expected .*2\.0.*, found '4\.0'"),
)
def test_formulations_and_exports(call, message):
    refused(call, message)
