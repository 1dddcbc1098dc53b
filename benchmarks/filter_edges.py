"""What the end of a motion costs: `python -m benchmarks.filter_edges`.

OpenSim-JAM's walking example by a motion that ends at an instant, against the whole motion: error
of the accelerations that OpenSim's low-pass filter leaves, and of the contact force, by the
distance from the end. The table is that of docs/muscle_walks.md. It needs `$KNEE_DATA` and
OpenSim.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.comak_reference import forces_of
from benchmarks.frame import Table, show
from dynamics.walking.motion_tables import MotionTable, read_motion_table, write_motion_table
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_file
from pipeline.config.reading import shipped_config
from pipeline.studies.muscle_walks.settings import walk_settings
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.muscle_walks.walk import load_muscle_walk

#: Ends of the motion: early stance, second peak, swing [s]; length of the simulated part [s].
_ENDS, _LENGTH = (1.45, 1.85, 2.1), 0.16
#: Largest distance that is shown [s].
_SHOWN = 0.1


def walk(motion: Path, end: float) -> WalkSetup:
    """Return the last part of the example until an instant, by a file of its motion."""
    changes = (
        f'walk.motion="{motion}"',
        f"comak.start_s={end - _LENGTH:.2f}",
        f"comak.stop_s={end:.2f}",
    )
    return prepare_walk(load_muscle_walk(shipped_config("comak_walking"), changes))


def errors_of(whole: Path, folder: Path, end: float) -> tuple[FloatArray, FloatArray]:
    """Return the errors by a motion that ends at an instant, the last frame first.

    Of the accelerations of the primary coordinates over their root mean square (N, 5) [1], and of
    the tibiofemoral force (N,) [N].
    """
    known = read_motion_table(whole)
    rows = known.time <= end + 1e-6
    cut = MotionTable(known.names, known.time[rows], known.values[rows], known.in_degrees)
    path = folder / f"motion_{end:g}.mot"
    write_motion_table(path, cut)
    one, other = walk(whole, end), walk(path, end)
    primary = one.plant.motion.index(one.settings.primary)
    accelerations = [setup.plant.motion.accelerations[:, primary] for setup in (one, other)]
    start = one.first_values()
    forces = [
        np.linalg.norm(forces_of(setup.comak.run(start))[:, 0], axis=-1) for setup in (one, other)
    ]
    size = np.sqrt((accelerations[0] ** 2).mean(axis=0))
    away = np.abs(accelerations[1] - accelerations[0]) / size
    return away[::-1], np.abs(forces[1] - forces[0])[::-1]


def main() -> None:
    """Print the table."""
    file = load_muscle_walk(shipped_config("comak_walking"))
    settings, files = walk_settings(file)
    assert settings.lowpass is not None
    with tempfile.TemporaryDirectory() as folder:
        found = [errors_of(data_file(str(files.motion)), Path(folder), end) for end in _ENDS]
    step = float(settings.step or 0.01)
    columns = {"from the end [s]": ".2f", "periods of the filter": ".2f",
               "accelerations, RMS [1]": ".2f",
               **{f"force, end {end:g} s [N]": ".0f" for end in _ENDS}}  # fmt: skip
    rows = [
        (
            k * step,
            k * step * settings.lowpass,
            np.sqrt(np.mean([away[k] ** 2 for away, _ in found])),
            *(force[k] for _, force in found),
        )
        for k in range(round(_SHOWN / step) + 1)
    ]
    show([Table("Motions that end", columns, rows)])


if __name__ == "__main__":
    main()
