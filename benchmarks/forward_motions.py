"""OpenSim-JAM's passive flexion and anterior laxity: `python -m benchmarks.forward_motions`.

The tibiofemoral coordinates of both shipped examples, with plane triangles, against OpenSim-JAM's
own results. It needs `$KNEE_DATA` and OpenSim.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.frame import Rows, measured, show
from benchmarks.measures import max_abs, rms
from pipeline.config.data_folder import data_file
from pipeline.config.reading import shipped_config
from pipeline.studies.forward_motions.setup import prepare_forward
from pipeline.studies.forward_motions.simulate import load_forward

_REFERENCE = "$KNEE_DATA/derived/jam_lenhart2015_tf_contact_reference.csv"
#: Columns of the reference by coordinate, and their unit for people.
_COORDINATES = {
    **{f"knee_{name}_r": (f"knee_{name}_rad", "deg") for name in ("add", "rot")},
    **{f"knee_{name}_r": (f"knee_{name}_m", "mm") for name in ("tx", "ty", "tz")},
}
_PER_SI = {"deg": 180.0 / np.pi, "mm": 1e3}


@measured("moved joints", {"example": "", "coordinate": "", "RMS": ".3f", "largest": ".3f"})
def against_jam(example: str) -> Rows:
    """Differences of an example from OpenSim-JAM's result."""
    reference = pd.read_csv(data_file(_REFERENCE))
    theirs = reference[reference["example"] == example]
    file = load_forward(shipped_config(example), ('forward.surface="flat"',))
    found = prepare_forward(file.forward).run()
    for name, (column, unit) in _COORDINATES.items():
        own = found.values[:, found.secondary.index(name)]
        other = np.interp(found.time, theirs["time_s"].to_numpy(), theirs[column].to_numpy())
        apart = (own - other) * _PER_SI[unit]
        yield example, f"{name} [{unit}]", rms(apart), max_abs(apart)


if __name__ == "__main__":
    show(map(against_jam, ("anterior_laxity", "passive_flexion")))
