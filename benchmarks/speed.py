"""Times of one evaluation, as ratios to the original model and to the fitting libraries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from smt.surrogate_models import KRG

from benchmarks.timing import seconds, table
from foundation import CondylarImplant, ElasticFoundation, LinearLaw
from surrogates.kriging import KrigingSettings, fit_kriging
from surrogates.response_surface import ResponseSurfaceSettings, fit_response_surface


def original() -> str:
    """Return the time of the original model over mesh size and depth, with its Jacobian."""
    implant = CondylarImplant()
    home = implant.home_pose(0.0)
    rows = []
    for edge in (2e-3, 1e-3, 0.5e-3):
        femur, insert, labels = implant.tessellate(edge)
        law = LinearLaw(463e6, 0.46, 8e-3)
        model = ElasticFoundation(femur, insert, law, compartments=labels)
        times = {}
        for name, rise in (("apart", 1e-3), ("at 20 um", -20e-6), ("at 100 um", -100e-6)):
            pose = replace(home, superior=home.superior + rise)
            times[name] = 1e6 * seconds(lambda m=model, p=pose: m.loads_and_jacobian(p))
        counts = f"{len(femur.faces)} / {len(insert.faces)}"
        rows.append([f"{1e3 * edge:g}", counts, *(f"{t:.0f}" for t in times.values())])
    header = ["edge [mm]", "triangles", "apart [us]", "at 20 um [us]", "at 100 um [us]"]
    return table("Original model, one evaluation with Jacobian", header, rows)


def regressors() -> str:
    """Return the time of one prediction against the libraries that the models are fitted with."""
    generator = np.random.default_rng(1)
    x = generator.uniform(-1.0, 1.0, (1000, 6))
    y = np.column_stack([np.sin(x[:, 0] + k) + x[:, 1] * x[:, 2] ** 2 for k in range(6)])
    kriging = fit_kriging(x, y, KrigingSettings(), generator)
    surface = fit_response_surface(x, y, ResponseSurfaceSettings(degree=4))
    smt = KRG(
        theta0=list(kriging.theta), corr="matern52", poly="linear", hyper_opt="NoOp",
        print_global=False,
    )  # fmt: skip
    smt.set_training_values(x, y[:, :1])
    smt.train()
    point = x[0].copy()
    ours = {
        "Kriging, 1000 points, 6 outputs, with Jacobian": kriging.predict_with_jacobian,
        "degree-4 polynomial, 6 outputs, with Jacobian": surface.predict_with_jacobian,
    }
    times = {name: seconds(lambda f=f: f(point)) for name, f in ours.items()}
    times["SMT's KRG, 1000 points, 1 output, without"] = seconds(
        lambda: smt.predict_values(point[None, :])
    )
    slowest = max(times.values())
    rows = [[n, f"{1e6 * t:.1f}", f"{slowest / t:.0f}"] for n, t in times.items()]
    return table("One prediction in six inputs", ["model", "us", "times faster"], rows)
