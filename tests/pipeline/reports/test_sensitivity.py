"""What the loads react to: against known shares, and against differences of the loads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import surrogates
from pipeline.reports.trained_domain import INPUTS, SobolRow, sensitivity_of, sobol_rows
from pipeline.store.samples import poses_of, read_table


def shares(row: SobolRow, kind: str = "total") -> list[float]:
    return [row.content()[f"{name}_{kind}_percent"] for name in INPUTS]


def test_known_shares() -> None:
    """Of x1 + 2 x4 of evenly spread inputs, 1/5 and 4/5; what is constant has no row."""

    def at_load(unit: np.ndarray, load: np.ndarray) -> tuple[None, np.ndarray]:
        loads = np.ones((len(unit), 12))
        loads[:, 0] = unit[:, 1] + 2.0 * unit[:, 4]
        loads[:, 7] = load
        return None, loads

    space = SimpleNamespace(draw=lambda unit, spread: (unit, unit[:, 5]))
    surrogate: Any = SimpleNamespace(space=space, at_load=at_load)
    rows = {row.key: row for row in sobol_rows(surrogate)}
    assert list(rows) == ["force_x", "peak_pressure"]
    assert_allclose(shares(rows["force_x"]), [0, 20, 0, 0, 80, 0], rtol=0.0, atol=1.0)
    assert_allclose(shares(rows["force_x"], "first"), [0, 20, 0, 0, 80, 0], rtol=0.0, atol=1.0)
    assert_allclose(shares(rows["peak_pressure"]), [0, 0, 0, 0, 0, 100], rtol=0.0, atol=1.0)
    assert [row.key for row in sobol_rows(surrogate, ["force_x_N"])] == ["peak_pressure"]


@pytest.mark.slow
def test_stiffness_is_that_of_differences(tiny_run: Path) -> None:
    knee = surrogates.load(tiny_run / "knee.npz")
    held_out = read_table(tiny_run / "samples" / "heldout_prediction.parquet")
    found = sensitivity_of(knee, held_out)
    assert found is not None
    rows = {row.label: row.content() for row in found.stiffness["lateral"]}
    poses = poses_of(held_out[held_out["compartment"] == "lateral"])
    model = knee.compartment("lateral")
    for key, place, step, column, factor in (
        ("superior_N_per_mm", 4, 1e-8, 1, 1e-3),
        ("rotation_N_per_deg", 2, 1e-7, 1, np.pi / 180.0),
    ):
        ahead, behind = poses.copy(), poses.copy()
        ahead[:, place] += step
        behind[:, place] -= step
        change = (model.evaluate_batch(ahead)[0] - model.evaluate_batch(behind)[0])[:, column]
        wanted = factor * np.sqrt(np.mean((change / (2.0 * step)) ** 2))
        assert_allclose(rows["axial force"][key], wanted, rtol=1e-4)
    axial = rows["axial force"]["superior_N_per_mm"] * 1e3
    assert_allclose(
        rows["moment x"]["superior_Nmm_per_mm"] / axial, 22e-3, rtol=0.3
    )  # the condyle is 22 mm from the middle
    assert set(found.sobol or {}) == {"medial", "lateral"}
