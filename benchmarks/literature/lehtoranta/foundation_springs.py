"""Section 3.6: the elastic foundation, eqs. 26 to 31."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.exact_layer_axisymmetric import AxisymmetricContact
from benchmarks.exact_layer_compliance import Layer
from benchmarks.literature.lehtoranta.layers import (
    CARTILAGE,
    POLYETHYLENE,
    by_springs,
    by_springs_at_load,
    loaded,
)
from benchmarks.literature.statements import Statement
from foundation.base.checks import FloatArray
from foundation.base.pose import SUPERIOR, Pose
from foundation.elastic_foundation import ElasticFoundation
from foundation.elastic_foundation.laws import LinearLaw, SeriesLaw, SpringLaw
from foundation.implant import CondylarImplant

_TIBIA, _FEMUR = LinearLaw(10e6, 0.45, 2e-3), LinearLaw(5e6, 0.4, 3e-3)


def _confined() -> Statement:
    ratios = {}
    for width in (2.0, 5.0, 20.0):
        layer = Layer(10e6, 0.3, 2e-3)
        ball = AxisymmetricContact(layer, 1.0, width * layer.thickness)
        law = LinearLaw(layer.youngs_modulus, layer.poissons_ratio, layer.thickness)
        ratios[width] = float(law.pressure([ball.approach])[0]) / ball.peak_pressure
    listed = ", ".join(f"{r:.4f} at a/h = {w:g}" for w, r in ratios.items())
    return Statement(
        "eq. 26, 27",
        "p = Kδ, K = (1 - ν)E/((1 + ν)(1 - 2ν)h)",
        f"over the exact pressure in the middle of a ball on a layer, ν = 0.3: {listed}",
        abs(ratios[20.0] - 1.0) < 2e-3,
        "the limit of a patch wide against the thickness",
    )


def paraboloid_sums(law: SpringLaw, spacing: float) -> tuple[float, float, float]:
    """Return force [N], area [m²] and largest pressure [Pa] of springs under a ball of 30 mm.

    Eq. 30 and 31 over squares of a spacing [m], pressed in by 0.2 mm.
    """
    at = np.arange(-5e-3, 5e-3, spacing) + 0.37 * spacing
    depth = 2e-4 - (at[:, None] ** 2 + at**2) / (2.0 * 30e-3)
    pressure: FloatArray = law.pressure(depth.ravel())
    cell = spacing**2
    return float(pressure.sum()) * cell, float((pressure > 0.0).sum()) * cell, pressure.max()


def _sums() -> Statement:
    series = SeriesLaw(_TIBIA, _FEMUR)
    force, area, _ = paraboloid_sums(series, 2e-4)
    stiffness = [law.confined_modulus / float(law.thickness) for law in (_TIBIA, _FEMUR)]
    both = stiffness[0] * stiffness[1] / sum(stiffness)
    wanted = math.pi * 30e-3 * both * 2e-4**2, 2.0 * math.pi * 30e-3 * 2e-4
    patches = implant_areas()
    return Statement(
        "eq. 28-31",
        "δᵢ = δ₁ + δ₂, K = K₁K₂/(K₁ + K₂), F = Σ Aᵢpᵢ, area Σ Aᵢ; several contacts of any shape",
        f"two layers under a ball, 0.2 mm: F = {force:.2f} N and {1e6 * area:.2f} mm², by the "
        f"integral {wanted[0]:.2f} N and {1e6 * wanted[1]:.2f} mm²; built-in implant at once "
        f"{patches[0]:.0f} mm² medial and {patches[1]:.0f} mm² lateral",
        abs(force / wanted[0] - 1.0) < 2e-3
        and abs(area / wanted[1] - 1.0) < 2e-2
        and min(patches) > 0.0,
    )


def implant_areas() -> tuple[float, float]:
    """Return the contact areas of both compartments of the built-in implant [mm²]."""
    implant = CondylarImplant()
    femur, insert, labels = implant.tessellate(1.5e-3)
    model = ElasticFoundation(femur, insert, LinearLaw(463e6, 0.46, 8e-3), compartments=labels)
    pose = implant.home_pose(flexion=0.0).array.copy()
    pose[SUPERIOR] -= 1e-4
    loads = model.loads(Pose.from_array(pose))
    return 1e6 * float(loads.medial.area), 1e6 * float(loads.lateral.area)


def _division() -> Statement:
    law = LinearLaw(CARTILAGE.youngs_modulus, CARTILAGE.poissons_ratio, CARTILAGE.thickness)
    fine = by_springs(CARTILAGE, 2e-4).load
    division = {h: abs(paraboloid_sums(law, h)[0] / fine - 1.0) for h in (1e-3, 5e-4, 2.5e-4)}
    model = [
        100.0 * (by_springs_at_load(case, load).peak / loaded(case, load).peak - 1.0)
        for case, load in ((CARTILAGE, 100.0), (POLYETHYLENE, 1000.0))
    ]
    listed = ", ".join(f"{100.0 * e:.2g} % at {1e3 * h:g} mm" for h, e in division.items())
    return Statement(
        "section 3.6",
        "the accuracy depends mostly on the division into elements",
        f"error of the division, force of a ball: {listed}; error of independent springs as such, "
        f"peak pressure at the same load: {model[0]:+.0f} % of cartilage at 100 N, "
        f"{model[1]:+.0f} % of polyethylene at 1 kN",
        max(division.values()) > max(abs(e) for e in model) / 100.0,
        "the coupling of the springs, which the model omits, matters more",
    )


STATEMENTS = (
    _confined,
    _sums,
    _division,
)
