"""The surrogate in compiled code of your own: `python examples/numba_loop.py runs/implant`.

A Monte Carlo study of alignment: thousands of knees at 20 degrees of flexion, each shifted and
turned a little, find the height that carries 2000 N by Newton's method, all in one compiled loop
that calls the library in C.
"""

import ctypes
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

import surrogates
from foundation.core.library import CORE

AXIAL = 2000.0  # N
#: Standard deviations of adduction, rotation [rad], and anterior, lateral position [m].
SPREAD = np.array([np.radians(0.1), np.radians(2.0), 1e-3, 1e-4])
#: `fill_knee` of surrogates/core/knee.h: integers, and addresses as integers.
_LOADS = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_int, *[ctypes.c_ssize_t] * 2, *[ctypes.c_int] * 2,
    *[ctypes.c_ssize_t] * 5,
)(ctypes.cast(CORE.fill_knee, ctypes.c_void_p).value)  # fmt: skip


@njit(error_model="numpy")
def pressures(poses, contact, axial, work):
    """Fill the heights of poses (N, 6); return peak pressures (N, 2) and whether each is valid."""
    loads, jacobian, x = np.empty((2, 12)), np.empty((2, 6, 6)), np.empty((2, 7))
    peaks, valid = np.empty((len(poses), 2)), np.zeros(len(poses), np.bool_)
    for k in range(len(poses)):
        for _ in range(50):
            outside = _LOADS(
                contact, 2, 1, poses[k].ctypes.data, 1, 0, loads.ctypes.data, jacobian.ctypes.data,
                0, x.ctypes.data, work.ctypes.data,
            )  # fmt: skip
            missing = axial - loads[0, 1] - loads[1, 1]
            if abs(missing) < 1e-6 * axial:
                valid[k] = not outside
                break
            stiffness = jacobian[0, 1, 4] + jacobian[1, 1, 4]
            step = missing / stiffness if stiffness < 0.0 else -1e-5  # down, until they touch
            poses[k, 4] += min(max(step, -5e-5), 5e-5)
        peaks[k] = loads[:, 7]
    return peaks, valid


def main(run: Path, count: int = 10_000, seed: int = 1) -> dict[str, float]:
    """Run the study, print and return its figures."""
    knee = surrogates.load(run / "knee.npz")
    poses = np.tile(knee.path([np.radians(20.0)]), (count, 1))
    poses[:, [1, 2, 3, 5]] += SPREAD * np.random.default_rng(seed).standard_normal((count, 4))
    contact, work = knee.packed.address, knee.packed.work()
    pressures(poses[:1].copy(), contact, AXIAL, work)  # compiles
    begin = time.perf_counter()
    peaks, valid = pressures(poses, contact, AXIAL, work)
    each = 1e6 * (time.perf_counter() - begin) / count
    low, middle, high = np.quantile(1e-6 * peaks[valid].max(axis=1), [0.05, 0.5, 0.95])
    print(f"{count} knees, {each:.0f} us each; {count - valid.sum()} outside the trained domain")
    print(f"peak pressure: {middle:.1f} MPa, 90 % of them within {low:.1f} to {high:.1f} MPa")
    return {"valid": int(valid.sum()), "us": each, "low": low, "middle": middle, "high": high}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
