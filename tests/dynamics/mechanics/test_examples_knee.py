"""Examples of planar knee and heel strike: they run, and their figures are right."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

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
