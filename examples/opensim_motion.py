"""OpenSim: a motion out, a motion in, loads out: `python examples/opensim_motion.py runs/implant`.

The same from the command line: `knee-contact motion RUN --out cycle.mot` and
`knee-contact loads RUN cycle.mot --out loads.sto`.
"""

import sys
from pathlib import Path

import surrogates
from dynamics.motion.knee_motion import KneeColumns, read_knee_poses
from pipeline.exchange.loads_along import loads_along, run_motion, write_loads, write_motion

#: How a model calls its knee's coordinates; this one counts flexion negative.
COLUMNS = {
    **{"flexion": "-knee_angle_r", "adduction": "knee_adduction_r", "rotation": "knee_rotation_r"},
    **{"tx": "knee_tx_r", "ty": "knee_ty_r", "tz": "knee_tz_r"},
}


def main(run: Path, out: Path) -> dict[str, float]:
    """Write the cycle of a run as a motion, read it back, and write the loads along it."""
    columns = KneeColumns(COLUMNS)
    write_motion(run_motion(run, "surrogate", columns), out / "cycle.mot")

    time, poses = read_knee_poses(out / "cycle.mot", columns)
    table, flags = loads_along(surrogates.load(run / "knee.npz"), time, poses)
    write_loads(table, out / "loads.sto")  # for OpenSim's ExternalLoads
    write_loads(table, out / "loads.csv")  # all loads of both compartments

    for each in flags:  # outside the trained domain the loads are those of its border
        print(f"{each.samples} instants from {each.time:g} s: {each.flag}")
    largest = table["total_force_y_N"].max()
    print(f"{len(table)} instants, axial force up to {largest:.0f} N; written to {out}")
    return {"rows": len(table), "flagged": table["flagged"].sum(), "largest": largest}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else sys.argv[1]))
