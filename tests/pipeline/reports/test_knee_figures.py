"""The figures of the knee at the top of the report, against the cycle that they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS
from pipeline.reports.inputs import read_run
from pipeline.reports.knee_figures import WEARS_FROM_MPa, knee_of, mean_over_cycle, wears
from pipeline.reports.report import write_report
from pipeline.store.samples import read_table


@pytest.fixture(scope="module")
def knee(tiny_run: Path) -> dict[str, Any]:
    found = knee_of(read_run(tiny_run))
    assert found is not None
    return found.content()


@pytest.fixture(scope="module")
def cycle(tiny_run: Path) -> Any:
    table = read_table(tiny_run / "simulation.parquet")
    return table[table["model"] == "original"]


def test_figures_are_those_of_the_original_cycle(knee: dict[str, Any], cycle: Any) -> None:
    assert knee["model"] == "original"
    for name in COMPARTMENTS:
        row = cycle.loc[cycle[f"{name}_peak_pressure_Pa"].idxmax()]
        wanted = 1e-6 * row[f"{name}_peak_pressure_Pa"]
        assert_allclose(knee[f"{name}_peak_pressure_MPa"], wanted, rtol=1e-12)
        assert knee[f"{name}_peak_pressure_at_percent"] == row["gait_percent"]
    assert_allclose(knee["largest_area_mm2"], 1e6 * cycle["total_area_m2"].max(), rtol=1e-12)
    assert_allclose(knee["anterior_range_mm"], 1e3 * np.ptp(cycle["anterior_m"]), rtol=1e-12)
    assert_allclose(
        knee["rotation_range_deg"], np.degrees(np.ptp(cycle["rotation_rad"])), rtol=1e-12
    )
    assert_allclose(
        knee["rotation_largest_deg"] - knee["rotation_least_deg"], knee["rotation_range_deg"]
    )


def test_medial_share_is_that_of_the_impulse(knee: dict[str, Any], cycle: Any) -> None:
    """A sum over the instants, weighted by the trapezoids, is the slow oracle."""
    at = cycle["gait_percent"].to_numpy()
    weight = np.zeros(len(at))
    for k in range(len(at) - 1):
        weight[k] += 0.5 * (at[k + 1] - at[k])
        weight[k + 1] += 0.5 * (at[k + 1] - at[k])
    medial, lateral = ((weight * cycle[f"{n}_force_y_N"]).sum() for n in COMPARTMENTS)
    assert_allclose(knee["medial_share_percent"], 100.0 * medial / (medial + lateral), rtol=1e-12)


def test_mean_does_not_depend_on_the_spacing_of_the_instants() -> None:
    at = np.array([0.0, 1.0, 50.0, 100.0])
    assert_allclose(mean_over_cycle(3.0 + 0.02 * at, at), 4.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("modulus", "worn"),
    [(0.999 * WEARS_FROM_MPa, False), (WEARS_FROM_MPa, True), (463.0, True), (10.0, False)],
)
def test_polyethylene_wears_and_cartilage_does_not(modulus: float, *, worn: bool) -> None:
    assert wears({"youngs_modulus_MPa": modulus}) == worn


def test_run_of_cartilage_has_none_and_says_why(run_copy: Path) -> None:
    # The same run, as if its springs had been those of cartilage.
    (run_copy / "made_with.json").unlink()
    path = run_copy / "config.toml"
    text = path.read_text(encoding="utf-8")
    assert "youngs_modulus_MPa = 463.0" in text
    path.write_text(
        text.replace("youngs_modulus_MPa = 463.0", "youngs_modulus_MPa = 10.0"), encoding="utf-8"
    )
    found = write_report(run_copy)
    assert found.gait.wear is None
    assert found.knee.wear_mm3_per_million_cycles is None
    assert "cartilage" in found.knee.wear_note
    assert not any("wear" in line for line in found.summary)
    page = (run_copy / "report.html").read_text(encoding="utf-8")
    assert "Wear per million cycles" not in page
    assert found.knee.wear_note.split(":")[0] in page
