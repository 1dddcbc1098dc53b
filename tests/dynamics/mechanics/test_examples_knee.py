"""Examples of planar knee and heel strike: they run, and their figures are right."""

from __future__ import annotations

import runpy
from pathlib import Path

from numpy.testing import assert_allclose

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mechanics"


def run(name: str) -> dict[str, float]:
    """Return what `main` of an example finds, without options."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]()


def test_planar_knee_machado2010(capsys):
    found = run("planar_knee")
    assert_allclose(found["free contact moves"], 51.0, rtol=0.0, atol=0.1)
    assert_allclose(found["clearance joint moves"], 11.4, rtol=0.0, atol=0.1)
    assert 0.12 < found["largest strain"] < 0.19
    assert found["energy error"] < 1e-6
    assert "PCL: largest strain 12." in capsys.readouterr().out
