"""Keys of [simulation] that select the inputs: shipped activities, and tables of ISO 14243."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.waveform_tables import ACTIVITIES
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.simulation import gait_cycle


@pytest.mark.parametrize("name", ACTIVITIES)
def test_shipped_activities_are_selected_by_name(name):
    cycle = gait_cycle(SimulationConfig(waveforms=name, axial_scale=1.1))
    table = pd.read_csv(ACTIVITIES[name], comment="#")
    assert_allclose(cycle.percent, table["gait_percent"])
    # The first and the last row of a table are averaged.
    expected = 1.1 * table["axial_force_N"].to_numpy()
    assert_allclose(cycle.axial_force[1:-1], expected[1:-1], rtol=1e-12)


def test_iso_tables_are_read_with_their_reversals(tmp_path):
    phase = np.linspace(0.0, 2.0 * np.pi, 21)
    columns = (100 * phase / phase[-1], 20 - 20 * np.cos(phase), 900 + 0 * phase, np.sin(phase))
    rows = [",".join(f"{cell:.9f}" for cell in (*row, 0.0)) for row in np.column_stack(columns)]
    file = tmp_path / "own.csv"
    head = "cycle (%),flexion (deg),axial force (N),AP displacement (mm),rotation (deg)"
    file.write_text("\n".join([head, *rows]))
    keys = {"waveforms": str(file), "waveform_layout": "iso14243"}
    cycle = gait_cycle(SimulationConfig(**keys))
    assert_allclose(1e3 * cycle.anterior, -np.sin(phase), atol=1e-6)
    cycle = gait_cycle(SimulationConfig(**keys, waveform_reversed=("ap",)))
    assert_allclose(1e3 * cycle.anterior, np.sin(phase), atol=1e-6)
