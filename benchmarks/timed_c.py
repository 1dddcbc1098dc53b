"""Times of C functions with the interface that CasADi gives to its generated code."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surrogates.export.c_source import c_compiler

_LOOP = """
#include <time.h>
typedef int (*evaluation)(const double **, double **, long long *, double *, int);
double seconds_of_all(evaluation run, const double *poses, int count, double *out)
{
    static double w[4000000];
    static long long int iw[1000];
    const double *arg[64] = {0};
    double *res[64] = {out, out + 24};
    struct timespec a, b;
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (int i = 0; i < count; ++i) { arg[0] = poses + 6 * i; run(arg, res, iw, w, 0); }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        double t = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
        if (t < best) best = t;
    }
    return best;
}
"""


def shared_library(source: Path, options: Sequence[str]) -> Path:
    """Compile a source for this processor; return the path of the library beside the source."""
    library = source.with_suffix(".so")
    command = [str(c_compiler()), *options, "-march=native", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", str(library), str(source), "-lm"], check=True)
    return library


def call_seconds(library: Path, name: str, poses: np.ndarray) -> float:
    """Return the least time [s] of a call of a library's function at poses (N, 6) [rad, m]."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "loop.c")
        source.write_text(_LOOP)
        loop = ctypes.CDLL(str(shared_library(source, ["-O2"]))).seconds_of_all
    loop.restype = ctypes.c_double
    run = ctypes.cast(getattr(ctypes.CDLL(str(library)), name), ctypes.c_void_p)
    points, out = np.ascontiguousarray(poses, dtype=np.float64), np.empty(10_000)
    pointers = (ctypes.c_void_p(x.ctypes.data) for x in (points, out))
    return loop(run, next(pointers), len(points), next(pointers)) / len(points)
