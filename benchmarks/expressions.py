"""Size and speed of expressions of CasADi, exported C and functions of JAX.

Knees of two compartments whose regressors are fitted to a smooth height, ratios and quantities.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.frame import Rows, measured, seconds
from foundation.base.loads import COMPARTMENTS
from surrogates.export.c_export import c_compiler, export_knee
from surrogates.families.kriging import KrigingSettings
from surrogates.families.network import NetworkSettings
from surrogates.families.polynomial import PolynomialSettings
from surrogates.families.registry import fit_family
from surrogates.families.regressor import no_outputs
from surrogates.families.spline import SplineSettings
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Poses of a batch; larger ones leave the cache of a processor.
BATCH = 1024
_WIDTH, _POSES, _BATCH_POSES = 0.005, 64, 20 * BATCH
#: A compiler takes minutes for larger functions.
_MOST_NODES = 250_000


def _polynomial(degree: int) -> PolynomialSettings:
    return PolynomialSettings(basis="total_degree", degree=(degree,), ridge=(1e-8,))


#: Family and settings by the name of a row.
_FITS = {
    "polynomial, degree 3": ("polynomial", _polynomial(3)),
    "polynomial, degree 4": ("polynomial", _polynomial(4)),
    "network, 1 x 16": ("network", NetworkSettings(16, 1, base_degree=2, steps=300)),
    "network, 2 x 32": ("network", NetworkSettings(32, 2, base_degree=2, steps=100)),
    "Kriging, 200 points": ("kriging", KrigingSettings(likelihood_points=60, iterations=5)),
}

#: Knees whose functions of JAX are timed.
_IN_JAX = _FITS | {"splines, 126 products": ("spline", SplineSettings(terms=126, degree=4))}
#: Knees whose exported C is timed: their expressions are too large for compilers.
_EXPORTED = {
    "polynomial, degree 4": ("polynomial", _polynomial(4)),
    "network, 1 x 32": ("network", NetworkSettings(32, 1, base_degree=2, steps=100)),
    "network, 2 x 32": ("network", NetworkSettings(32, 2, base_degree=2, steps=100)),
    "network, 4 x 64": ("network", NetworkSettings(64, 4, base_degree=2, steps=50)),
    "Kriging, 850 points": ("kriging", KrigingSettings(likelihood_points=60, iterations=5)),
}


def made_knee(family: str, settings: object, points: int = 200) -> ContactSurrogate:
    """Return a knee of formulation "inverted" of a family; Kriging has some `points`."""
    return ContactSurrogate(
        {
            name: _compartment(family, settings, seed, points)
            for seed, name in enumerate(COMPARTMENTS)
        }
    )


def _compartment(family: str, settings: object, seed: int, points: int) -> CompartmentSurrogate:
    rng = np.random.default_rng(seed)
    samples = {"kriging": points, "spline": 8000}.get(family, 1200)
    x = rng.uniform(-1.0, 1.0, (samples, 6))
    bends = np.sin(x @ rng.normal(size=(6, 12)))
    outputs = np.column_stack([
        3e-4 * (0.1 * bends[:, 0] - x[:, 5] - 0.1 * x[:, 5] ** 2),
        [0.05, 0.05, 5e-3, 2e-3, 4e-3] * bends[:, 1:6],
        [1e-4, 6e6, 3e6, 2e-3, 1e-3, 2e-3] * (2.0 + bends[:, 6:]),
    ])  # fmt: skip
    together = family in ("network", "spline")
    groups = [outputs] if together else [outputs[:, :1], outputs[:, 1:6], outputs[:, 6:]]
    parts = [fit_family(family, x, y, settings, np.random.default_rng(1))[0] for y in groups]
    parts += [no_outputs(6)] * (3 - len(parts))
    path = ReferencePath.constant(0.5, np.zeros(5))
    space = SampleSpace(
        path, [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, 1500.0]
    )  # fmt: skip
    coordinates = CondyleCoordinates(np.zeros(3), path, [0.5, 0, 0, 0, 0], [0.5, *space.offsets])
    return CompartmentSurrogate(
        "inverted", space, coordinates, 1500.0, 2.0, [0.0, 1.0], tuple(parts), smoothing=_WIDTH,
    )  # fmt: skip


@measured(
    "Expressions of CasADi, formulation inverted, and their C (gcc -O3)",
    {"knee": "", "build [s]": ".2f", "nodes": "d", "with Jacobian": "d", "Hessians": "d",
     "value + Jacobian [µs]": ".1f", "12 Hessians [µs]": ".1f"},
)  # fmt: skip
def casadi() -> Rows:
    """Sizes of the expressions and times of the generated C."""
    import casadi as ca

    for name, (family, settings) in _FITS.items():
        knee = made_knee(family, settings)
        start = time.perf_counter()
        function = knee.casadi()
        built = time.perf_counter() - start
        pose = ca.SX.sym("pose", 6)
        loads = function(pose)[0]
        slopes = ca.jacobian(ca.vec(loads), pose)
        wrench = ca.jacobian(ca.vec(loads[:6, :]), pose)
        bends = ca.jacobian(wrench, pose)
        timed = [ca.Function("timed", [pose], ca.cse(own)) for own in ([loads, slopes], [bends])]
        sizes = [each.n_instructions() for each in (function, *timed)]
        times = [_c_time(f) if f.n_instructions() < _MOST_NODES else None for f in timed]
        yield name, built, *sizes, *times


def _c_time(function: object) -> float:
    """Return the time [s] of a call of a function's generated C; NaN without a compiler."""
    import casadi as ca

    if c_compiler() is None:
        return float("nan")
    with tempfile.TemporaryDirectory() as folder:
        generator = ca.CodeGenerator("timed.c")
        generator.add(function)
        generator.generate(folder + os.sep)
        library = shared_library(Path(folder, "timed.c"), ["-O3"])
        return call_seconds(library, "timed", _poses(_POSES))


@measured(
    "Exported C, formulation inverted",
    {"knee": "", "loads + Jacobian [µs]": ".1f", "12 Hessians [µs]": ".1f"},
)
def exported() -> Rows:
    """Times of exported C through the interface of CasADi."""
    for name, (family, settings) in _EXPORTED.items():
        knee = made_knee(family, settings, points=850)
        with tempfile.TemporaryDirectory() as folder:
            source = export_knee(knee, casadi=True).write(folder, "knee")[1]
            library = shared_library(source, ["-O2", "-ftree-vectorize", "-funroll-loops"])
            names = ("jac_knee_wrench", "jac_jac_knee_wrench")
            yield name, *(call_seconds(library, each, _poses(_POSES)) for each in names)


def _poses(count: int) -> np.ndarray:
    unit = np.random.default_rng(0).uniform(-0.9, 0.9, (count, 6))
    return unit * [0.5, 0.02, 0.1, 4e-3, 3e-4, 1e-3] + [0.5, 0, 0, 0, 0, 0]


def _in_batches(run: Callable[[np.ndarray], tuple], poses: np.ndarray) -> None:
    for first in range(0, len(poses), BATCH):
        run(poses[first : first + BATCH])[0].block_until_ready()


def _in_jax(function: Callable, poses: np.ndarray) -> tuple[float, float]:
    """Return the times [s] of the compilation of values and Jacobians, and of a pose of a batch."""
    import jax

    def wrench(pose: np.ndarray) -> tuple:
        found = function(pose)[0][:, :6]
        return found, found

    both = jax.vmap(jax.jacfwd(wrench, has_aux=True))
    start = time.perf_counter()
    batch = jax.jit(both).lower(poses[:BATCH]).compile()
    compiled = time.perf_counter() - start
    return compiled, seconds(lambda: _in_batches(batch, poses)) / len(poses)


@measured(
    "Values and Jacobians of the wrench over a batch of poses",
    {"knee": "", "compilation [s]": ".1f", "JAX [1/s]": ",.0f",
     "library, one thread [1/s]": ",.0f", "JAX over library": ".2f"},
)  # fmt: skip
def jax() -> Rows:
    """Rates over batches: of JAX and of the library."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    for name, (family, settings) in _IN_JAX.items():
        knee, poses = made_knee(family, settings), _poses(_BATCH_POSES)
        compiled, of_jax = _in_jax(knee.jax(), poses)
        of_library = seconds(lambda k=knee, p=poses: k.loads(p, 1)) / _BATCH_POSES
        yield name, compiled, 1.0 / of_jax, 1.0 / of_library, of_library / of_jax
    jax.config.update("jax_enable_x64", before)


#: Times calls with the interface that CasADi gives to its generated code.
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


def shared_library(source: Path, options: list[str]) -> Path:
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


TABLES = (casadi, exported, jax)
