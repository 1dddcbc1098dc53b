"""Time of one evaluation of surrogates of each family: `python -m benchmarks.families`.

Of 1000 static analyses of each compartment of the built-in implant.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from smt.surrogate_models import KRG

from benchmarks.frame import Rows, measured, run
from benchmarks.timing import seconds
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.statics.height import pose_at_load
from pipeline.config.schema import ImplantConfig
from pipeline.originals.knee_surfaces import build_implant
from surrogates import CompartmentSurrogate, ContactSurrogate, ReferencePath, SampleSpace, compiled
from surrogates.compiled.layout import new_work
from surrogates.families.cross_validation import Fitted
from surrogates.families.registry import FAMILIES, fit_family
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.lessons import Samples

_SAMPLES, _POSES = 1000, 500
_SETTINGS = {
    "Kriging, 1000 points": ("kriging", {"correlation": "squared_exponential"}),
    "polynomial of total degree 5": ("polynomial", {"basis": "total_degree", "degree": (5,)}),
    "anisotropic polynomial, 462 terms": ("polynomial", {}),
    "anisotropic Poly-Fourier, 462 terms": ("poly_fourier", {}),
    "four networks of 64": ("network", {"steps": 2000}),
    "spline-polynomial of 54 terms": ("spline", {"terms": 54}),
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
) -> CompartmentSurrogate:
    chosen = FAMILIES[family].settings(**dict(settings))

    def fit(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Fitted:
        return fit_family(family, x, y, chosen, np.random.default_rng(1), weights)

    fitter = Fitter(fit, joint=FAMILIES[family].joint)
    found = fit_compartment("inverted", _space(), _samples(name, _SAMPLES, 1), fitter)
    return found.surrogate


@measured("One evaluation of a knee's surrogate", {"model": "", "time [µs]": ".1f", "ratio": ".0f"})
def evaluation() -> Rows:
    """Time of one evaluation of a knee, all loads of both compartments; slowest over each."""
    poses = _samples("medial", _POSES, 2).poses
    times: dict[str, float] = {}
    for name, (family, settings) in _SETTINGS.items():
        chosen = family, tuple(settings.items())
        knee = ContactSurrogate({side: _compartment(side, *chosen) for side in COMPARTMENTS})
        pose = Pose.from_array(poses[0])
        loop = seconds(lambda k=knee: _loop(k, poses)) / len(poses)
        times[f"{name}: value and jacobian of all loads, compiled loop"] = loop
        one = seconds(lambda k=knee, p=pose: k.loads_and_jacobian(p))
        times[f"{name}: the same by one Python call"] = one
    times |= _libraries()
    for name, spent in times.items():
        yield name, spent, max(times.values()) / spent


def _loop(knee: ContactSurrogate, poses: np.ndarray) -> None:
    n = len(poses)
    loads, jacobian, x = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 6))
    compiled.knee_loads_of_all(poses, *knee.arguments, loads, jacobian, x, new_work(knee.workspace))


def _height_data() -> tuple[np.ndarray, np.ndarray]:
    surrogate = _compartment("medial", "polynomial", ())
    samples = _samples("medial", _SAMPLES, 1)
    x = surrogate.inputs_at_load(samples.poses, samples.loads[:, 1])
    return x, surrogate.coordinates.variables(samples.poses)[1][:, None]


def _libraries() -> dict[str, float]:
    """Times of one prediction of one output by the libraries' own models of 1000 points [s]."""
    x, y = _height_data()
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

    calls = {
        "SMT's KRG, 1000 points, one output, value": lambda: smt.predict_values(point),
        "SMT's KRG, the same with its six derivatives": with_derivatives,
        "scikit-learn's GaussianProcessRegressor, one output, value": lambda: process.predict(
            point
        ),
    }
    return {name: seconds(call) for name, call in calls.items()}


if __name__ == "__main__":
    run(__doc__, [evaluation])
