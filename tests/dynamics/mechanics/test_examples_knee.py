"""Examples of planar knee and heel strike: they run, and their figures are right."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.pose import Pose

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mechanics"


def run(name: str) -> dict[str, float]:
    """Return what `main` of an example finds, without options."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]()


@pytest.mark.slow
def test_planar_knee_machado2010(capsys):
    found = run("planar_knee")
    assert_allclose(found["extension"], 51.0, rtol=0.0, atol=0.1)
    assert_allclose(found["indentation"], 8.52, rtol=0.0, atol=0.02)
    assert 0.12 < found["largest strain"] < 0.19
    assert found["energy error"] < 1e-6
    assert "PCL: largest strain 12." in capsys.readouterr().out


@pytest.mark.slow
def test_clearance_joint_machado2010(capsys):
    found = run("clearance_joint")
    assert_allclose(found["200 mm"], 46.09, rtol=0.0, atol=0.05)
    assert_allclose(found["1 mm"], 10.6, rtol=0.0, atol=0.1)
    assert "clearance 200 mm: the knee moves 46.1 deg, to 8.7 deg" in capsys.readouterr().out


@pytest.mark.slow
def test_two_legs_heel_strike(capsys):
    """Both feet on the ground for some time, and the energy never rises."""
    found = run("two_legs_heel_strike")
    assert 0.03 < found["heel strike"] < found["toe off"] - 0.05 < 0.1
    assert 1.2 < found["peak reaction"] < 2.5
    assert found["energy lost"] > 5.0
    assert found["largest rise"] <= 1e-9
    assert found["balance"] < 1e-6
    assert "body weights" in capsys.readouterr().out


def test_contact_laws(capsys):
    """Against the roots of a (1 + e) = ln((1 + a)/(1 - a e))."""
    found = run("contact_laws")
    factors = {"Hunt-Crossley": 0.75, "Lankarani-Nikravesh": 0.5625, "Flores": 1.6}
    for speed in (0.25, 1.0, 4.0):
        assert_allclose(found[f"Hertz, {speed:g} m/s"], 1.0, rtol=0.0, atol=1e-6)
        for name, a in (*factors.items(), ("constant factor", speed)):
            e = found[f"{name}, {speed:g} m/s"]
            assert_allclose(a * (1.0 + e), np.log((1.0 + a) / (1.0 - a * e)), atol=1e-6)
    assert "Flores" in capsys.readouterr().out


def test_fitted_surfaces(capsys):
    found = run("fitted_surfaces")
    for side in ("medial", "lateral"):
        given, scaled = (
            found[f"{side}, force, {label}"]
            for label in ("E* of the material", "scaled to the springs")
        )
        assert 5.0 < scaled < given < 90.0
    assert "peak pressure under the force of the springs off by" in capsys.readouterr().out


def test_fitted_ellipsoid_on_a_tilted_plateau_has_the_force_of_hertz():
    """A ball on a plane: F = 4/3 E* √R d^(3/2) along the normal (Johnson 1985, 4.23)."""
    example = runpy.run_path(str(EXAMPLES / "fitted_surfaces.py"))
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 3)) - [0.0, 2.0, 0.0]
    ball = 30e-3 * points / np.linalg.norm(points, axis=1)[:, None]
    x, z = rng.uniform(-0.02, 0.02, (2, 40))
    plane = np.column_stack([x, 0.1 * x - 0.2 * z, z])
    contact = example["FittedContact"](
        example["Ellipsoid"].through(ball), example["Plateau"].through(plane)
    )
    normal = np.array([-0.1, 1.0, 0.2]) / np.sqrt(1.05)
    pose = Pose.from_array([0.3, 0.1, 0.2, *(normal * (30e-3 - 0.4e-3))])
    depth, along, _ = contact.meeting(pose)
    assert_allclose(depth, 0.4e-3, rtol=1e-4)
    assert_allclose(along, normal, atol=1e-6)
    force, peak = contact.loads(pose, 1e8)
    assert_allclose(force, 4.0 / 3.0 * 1e8 * np.sqrt(30e-3) * 0.4e-3**1.5, rtol=1e-3)
    assert_allclose(peak, 1.5 * force / (np.pi * 30e-3 * 0.4e-3), rtol=1e-3)
