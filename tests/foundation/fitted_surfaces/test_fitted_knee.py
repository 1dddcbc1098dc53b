"""Surfaces fitted to the built-in implant, and laws fitted to another model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import fitted
import numpy as np
import pytest
from beds import IMPLANT, POLYETHYLENE, implant_meshes
from numpy.testing import assert_allclose

from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.contact_laws import HertzLaw, HookeLaw, effective_modulus
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.fitted_surfaces.compartment import fit_compartments
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.fitted_surfaces.stiffness import (
    calibrated_laws,
    calibrated_modulus,
    secant_laws,
)

FLEXIONS = np.radians([-10.0, 0.0, 15.0, 30.0, 45.0, 60.0, 70.0])
MODULUS = effective_modulus(np.inf, 0.3, *POLYETHYLENE[:2])


def poses():
    return [IMPLANT.home_pose(float(flexion)) for flexion in FLEXIONS]


@cache
def fitted_implant():
    femur, insert, sides = implant_meshes(2e-3)
    return FittedSurfaceContact(femur, insert, MODULUS, poses(), compartments=sides)


def pressed(pose):
    return replace(pose, superior=pose.superior - 0.1e-3)


def test_residuals_are_the_distances_of_the_vertices():
    femur, _, _ = implant_meshes(2e-3)
    medial, lateral = fitted_implant().surfaces
    for fit in (medial, lateral):
        assert 2e-6 < fit.tibia_residual.rms < 6e-6
        assert 40e-6 < fit.femur_residual.rms < 70e-6
        # The plateau is fitted far better than the condyle, whose radius steps from 34 to 22 mm.
        assert fit.gap_residual == pytest.approx(fit.femur_residual.rms, rel=0.05)
        inside = (femur.vertices >= fit.femur_residual.low) & (
            femur.vertices <= fit.femur_residual.high
        )
        away = np.abs(fit.femur.distances(femur.vertices[inside.all(axis=1)]))
        assert away.max() >= fit.femur_residual.largest > fit.femur_residual.rms


def test_a_single_radius_is_fitted_better():
    shape = type(IMPLANT).single_radius()
    femur, insert, sides = shape.tessellate(2e-3)
    single = [shape.home_pose(float(f)) for f in FLEXIONS]
    medial, _ = fit_compartments(femur, insert, single, compartments=sides)
    # The gap is fitted, not each surface for itself.
    assert medial.gap_residual < 0.1 * fitted_implant().surfaces[0].gap_residual
    assert medial.gap_residual < 0.5 * medial.femur_residual.rms


def test_heights_of_the_poses_do_not_matter():
    femur, insert, sides = implant_meshes(2e-3)
    raised = [replace(pose, superior=pose.superior + 3e-3) for pose in poses()]
    medial, _ = fit_compartments(femur, insert, raised, compartments=sides)
    expected = fitted_implant().surfaces[0]
    assert_allclose(medial.femur.semi_axes, expected.femur.semi_axes, rtol=1e-5)


def test_a_symmetric_knee_bears_symmetrically():
    for pose in poses():
        loads = fitted_implant().evaluate(pressed(pose))
        assert loads.flags == ()
        assert loads.medial.force[1] > 0.0
        mirrored = loads.lateral.force * [1, 1, -1]
        assert_allclose(loads.medial.force, mirrored, rtol=0.0, atol=1e-3 * loads.medial.force[1])


def test_a_pose_beyond_the_fitted_range_is_flagged():
    femur, insert, sides = implant_meshes(2e-3)
    straight = FittedSurfaceContact(femur, insert, MODULUS, poses()[:4], compartments=sides)
    bent = IMPLANT.home_pose(0.9)
    flags = straight.evaluate(fitted.pressed(straight, bent, 0.1e-3)).flags
    assert any(flag.kind is FlagKind.OUTSIDE_FEMORAL_FIT for flag in flags)


def test_laws_are_recovered_by_calibration():
    knee = fitted_implant()
    low = [pressed(pose) for pose in poses()]
    truth = (HertzLaw(4e8), HertzLaw(6e8))
    for own, found in zip(truth, calibrated_laws(knee, knee.with_law(truth), low), strict=True):
        assert found.stiffness == pytest.approx(own.stiffness, rel=1e-3)
    linear = (HookeLaw(4e6), HookeLaw(6e6))
    for own, found in zip(
        linear, calibrated_laws(knee, knee.with_law(linear), low, HookeLaw), strict=True
    ):
        assert found.stiffness == pytest.approx(own.stiffness, rel=1e-3)
    stiffer = knee.with_law(None, 2.0 * MODULUS)
    assert calibrated_modulus(knee, stiffer, low) == pytest.approx(2.0 * MODULUS, rel=1e-9)


def test_secant_of_hertz():
    """F = K d^(3/2): the secant at F is F / d."""
    knee = fitted.balls(30e-3, -45e-3)
    pose = Pose(superior=30e-3 - 0.2e-3)
    force = float(knee.evaluate(pose).medial.force[1])
    medial, lateral = secant_laws(knee, [pose, Pose(superior=1.0)], force)
    assert medial.stiffness == pytest.approx(force / 0.2e-3, rel=1e-9)
    assert lateral.stiffness == pytest.approx(medial.stiffness, rel=1e-9)


def test_calibration_is_closest_to_an_elastic_foundation():
    """Of least squares: a modulus or stiffness 5 % off is farther from the forces of the bed."""
    femur, insert, sides = implant_meshes(2e-3)
    bed = ElasticFoundation(femur, insert, LinearLaw(*POLYETHYLENE), compartments=sides)
    low = [pressed(pose) for pose in poses()]
    knee = fitted_implant()
    rows = np.array([pose.array for pose in low])

    def forces(model):
        return np.linalg.norm(model.evaluate_batch(rows)[:, :, :3], axis=2)

    def error(law, modulus=None):
        return ((forces(knee.with_law(law, modulus)) - forces(bed)) ** 2).sum()

    modulus = calibrated_modulus(knee, bed, low)
    stiff = calibrated_laws(knee, bed, low)
    for part in (0.95, 1.05):
        assert error(None, modulus) < error(None, part * modulus)
        other = (HertzLaw(part * stiff[0].stiffness), stiff[1])
        assert error(stiff) < error(other)
    assert error(None, modulus) < error(None, MODULUS)
