"""The families of surrogates: time of one evaluation, and of the search for Kriging's lengths.

Both on the same samples: 1000 static analyses of each compartment of the built-in implant.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from smt.surrogate_models import KRG

from benchmarks.timing import seconds, table
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.statics.height import pose_at_load
from pipeline.config.schema import ImplantConfig
from pipeline.originals.knee_surfaces import build_implant
from surrogates import CompartmentSurrogate, ContactSurrogate, ReferencePath, SampleSpace, compiled
from surrogates.compiled.layout import new_work
from surrogates.families.cross_validation import Fitted
from surrogates.families.kriging import KrigingSettings, fit_kriging
from surrogates.families.registry import FAMILIES, fit_family
from surrogates.formulations.compartment_fit import Fitter, Samples, fit_compartment

_SAMPLES, _JUDGED = 1000, 500
_SETTINGS = {
    "Kriging, 1000 points": ("kriging", {"correlation": "squared_exponential"}),
    "polynomial of total degree 5": ("polynomial", {"basis": "total_degree", "degree": (5,)}),
    "anisotropic polynomial, 462 terms": ("polynomial", {}),
    "anisotropic Poly-Fourier, 462 terms": ("poly_fourier", {}),
    "network 6-96-96-12": ("network", {"steps": 2000}),
}


@cache
def _space() -> SampleSpace:
    path = ReferencePath.constant(0.0, [0.0, 0.0, 0.0, 33e-3, 0.0])
    flexion, offsets = np.radians([-5.0, 60.0]), [np.radians(2), np.radians(10), 8e-3, 3e-3]
    return SampleSpace(path, flexion, offsets, [2.0, 4000.0])


@cache
def _samples(compartment: str, count: int, seed: int) -> Samples:
    """Static analyses of the smooth implant in its flat dishes, over a box wider than gait."""
    shape = ImplantConfig(
        condyles="single_radius", dish_sagittal_radius_mm=80.0, dish_coronal_radius_mm=40.0,
        dish_half_length_mm=26.0,
    )  # fmt: skip
    femur, insert, labels = build_implant(shape).tessellate(1e-3)
    law = LinearLaw(463e6, 0.46, 8e-3)
    model = ElasticFoundation(femur, insert, law, compartments=labels)
    poses, load = _space().draw(qmc.Sobol(6, rng=seed).random_base2(10)[:count], spread=1.0)
    found = [
        pose_at_load(model, Pose.from_array(pose), compartment, float(axial))
        for pose, axial in zip(poses, load, strict=True)
    ]
    return Samples(np.array([f.pose.array for f in found]), np.array([f.loads for f in found]))


@cache
def _compartment(
    name: str, family: str, settings: tuple[tuple[str, object], ...]
) -> tuple[CompartmentSurrogate, float]:
    chosen = FAMILIES[family].settings(**dict(settings))

    def fit(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Fitted:
        return fit_family(family, x, y, chosen, np.random.default_rng(1), weights)

    start = time.perf_counter()
    fitter = Fitter(fit, joint=family == "network")
    found = fit_compartment("inverted", _space(), _samples(name, _SAMPLES, 1), fitter)
    return found.surrogate, time.perf_counter() - start


def evaluation() -> str:
    """Return the time of one evaluation of a knee, all loads of both compartments."""
    poses = _samples("medial", _JUDGED, 2).poses
    rows = []
    for name, (family, settings) in _SETTINGS.items():
        both = [_compartment(side, family, tuple(settings.items())) for side in COMPARTMENTS]
        knee = ContactSurrogate(both[0][0], both[1][0])
        pose = Pose.from_array(poses[0])
        loop = seconds(lambda k=knee: _loop(k, poses)) / len(poses)
        one = seconds(lambda k=knee, p=pose: k.loads_and_jacobian(p))
        rows.append([f"{name}: value and jacobian of all loads, compiled loop", loop])
        rows.append([f"{name}: the same by one Python call", one])
    rows += _libraries()
    slowest = max(t for _, t in rows)
    shown = [[name, f"{1e6 * t:.1f}", f"{slowest / t:.0f}"] for name, t in rows]
    return table("One evaluation of a knee's surrogate", ["model", "us", "times faster"], shown)


def _loop(knee: ContactSurrogate, poses: np.ndarray) -> None:
    n = len(poses)
    loads, jacobian, x = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 6))
    compiled.knee_loads_of_all(poses, *knee.arguments, loads, jacobian, x, new_work(knee.workspace))


def _height_data(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    surrogate = _compartment("medial", "polynomial", ())[0]
    samples = _samples("medial", count, seed)
    x = surrogate.inputs_at_load(samples.poses, samples.loads[:, 1])
    return x, surrogate.coordinates.variables(samples.poses)[1][:, None]


def _libraries() -> list[list[object]]:
    """Times of one prediction of one output by the libraries' own models of 1000 points."""
    x, y = _height_data(1, _SAMPLES)
    smt = KRG(
        theta0=[0.05] * 6, corr="squar_exp", poly="linear", hyper_opt="NoOp", print_global=False
    )
    smt.set_training_values(x, y)
    smt.train()
    kernel = ConstantKernel(1.0, "fixed") * RBF([2.0] * 6, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=1e-9, optimizer=None, normalize_y=True)
    process.fit(x, y)
    point = x[:1]

    def with_derivatives() -> None:
        smt.predict_values(point)
        for k in range(6):
            smt.predict_derivatives(point, k)

    return [
        ["SMT's KRG, 1000 points, one output, value", seconds(lambda: smt.predict_values(point))],
        ["SMT's KRG, the same with its six derivatives", seconds(with_derivatives)],
        [
            "scikit-learn's GaussianProcessRegressor, one output, value",
            seconds(lambda: process.predict(point)),
        ],
    ]


def searches() -> str:
    """Return seconds and held-out error of the searches for Kriging's lengths, height at a load."""
    x, y = _height_data(1, _SAMPLES)
    judged_x, judged_y = _height_data(2, _JUDGED)
    rows = []
    for search in ("likelihood", "scikit-learn", "smt"):
        settings = KrigingSettings(correlation="squared_exponential", search=search)
        start = time.perf_counter()
        regressor = fit_kriging(x, y, settings, np.random.default_rng(1)).regressor
        spent = time.perf_counter() - start
        error = regressor.predict(judged_x) - judged_y
        rows.append([search, f"{spent:.1f}", f"{1e6 * np.sqrt((error**2).mean()):.3g}"])
    header = ["search", "fit [s]", "height at a load, RMS [um]"]
    return table("Kriging's correlation lengths, 1000 points, by three searches", header, rows)
