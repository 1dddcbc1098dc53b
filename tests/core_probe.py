"""Parts of the compiled library that it does not export, and all of its builds."""

import ctypes
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from filelock import FileLock

from dynamics.core.rosenbrock import CONTACT_FUNCTION, function_address
from dynamics.ligaments.bundles import pack
from foundation.core import building
from foundation.core.library import CORE, SCRATCH, STRUCTS, Record, Struct, address, open_library

_SOURCE = Path(__file__).parent / "surrogates" / "core" / "probe.c"
BUILDS = building.builds()[: open_library("plain").knee_level() + 1]


@cache
def probe():
    """The library of `probe.c` for this processor, which one of the test processes compiles."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # the same in all processes of a run
    folder = Path(tempfile.gettempdir(), run) if run else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    made = folder / f"probe{building.SUFFIX}"
    command = [*(compiler := building.compiler()), *building.options(compiler, BUILDS[-1])]
    with FileLock(made.with_suffix(".lock")):
        if not made.exists():
            subprocess.run([*command, str(_SOURCE), "-o", str(made), "-lm"], check=True)
    library = ctypes.CDLL(str(made))
    library.probe_on_line.restype = library.probe_indentation.restype = ctypes.c_double
    return library


def _pointers(*arrays):
    return [each.ctypes.data_as(ctypes.c_void_p) for each in arrays]  # which keep the arrays


def _of(regressor):
    packed = regressor.packed
    return ctypes.c_void_p(packed.address), ctypes.c_void_p(SCRATCH.of(packed.scratch))


def on_line(regressor, x):
    """First output at x (d,) and its derivative by the last input, as the inversion finds them."""
    own, scratch = _of(regressor)
    slope = np.empty(1)
    value = probe().probe_on_line(own, *_pointers(np.array(x), slope), scratch)
    return value, float(slope[0])


def root(regressor, x, target):
    """Whether the first output reaches a target along the last input, and where."""
    own, scratch = _of(regressor)
    found, x = np.empty(1), np.array(x)
    reached = probe().probe_root(
        own, *_pointers(x), ctypes.c_double(target), *_pointers(found), scratch
    )
    return bool(reached), float(found[0])


def curves(kind, x, width):
    """Values and two derivatives (N, 3) of max(x, 0) (kind 0) or the clip (1), rounded."""
    x = np.array(x, dtype=float)
    found = np.empty((len(x), 3))
    probe().probe_curves(kind, len(x), *_pointers(x), ctypes.c_double(width), *_pointers(found))
    return found


def functions(numbers):
    """exp(-v) and tanh(v) of numbers (N,)."""
    numbers = np.array(numbers)
    decayed, bent = np.empty_like(numbers), np.empty_like(numbers)
    probe().probe_functions(len(numbers), *_pointers(numbers, decayed, bent))
    return decayed, bent


def solved(matrix, right):
    """Whether a linear system has a solution, and the solution (n,)."""
    matrix, right = np.array(matrix, dtype=float), np.array(right, dtype=float)
    solution = np.empty(len(right))
    found = probe().probe_solve(len(right), *_pointers(matrix, right, solution))
    return bool(found), solution


def meet(femur, facet, start, along):
    """(u, v, s, m.d) and normal of the patch of a facet at the line from a start, (7,)."""
    line, found = np.concatenate([start, along]), np.empty(7)
    probe().probe_meet(ctypes.c_void_p(femur.address), int(facet), *_pointers(line, found))
    return found


def normal(femur, facet, u, v):
    """Outward normal (3,) of the patch of a facet, not of unit length."""
    found = np.empty(3)
    place = ctypes.c_double(u), ctypes.c_double(v)
    own = ctypes.c_void_p(femur.address)
    probe().probe_normal(own, int(facet), *place, *_pointers(found))
    return found


def facet_nearby(femur, at):
    """A facet near a point (3,)."""
    return probe().probe_nearby(ctypes.c_void_p(femur.address), *_pointers(np.array(at)))


def edge_power(table, exponent, t):
    """The smoothed power of `edge_smoothing`, and its derivative."""
    law, found = Record("law", exponent=exponent, pieces=len(table), edge=table), np.empty(2)
    probe().probe_edge(ctypes.c_void_p(law.address), ctypes.c_double(t), *_pointers(found))
    return found


def layer_indentation(law, pressure):
    """Bearing indentation of a law of one layer at a pressure."""
    own = law.layers(1).record()
    return probe().probe_indentation(ctypes.c_void_p(own.address), ctypes.c_double(pressure))


def size_of(name):
    """Bytes of a struct of the headers, as the compiler lays it out."""
    return probe().probe_size(name.encode())


def size_in_python(name):
    """Bytes of a struct as `ctypes` lays it out."""
    return ctypes.sizeof(STRUCTS[name])


def bundle_forces(ligaments, pose):
    """Return generalised forces (6,) [N m, N] of bundles and their derivatives (6, 6)."""
    force, jacobian = np.zeros(6), np.zeros((6, 6))
    packed, at = pack(ligaments).packed(), pose.array
    CORE.add_ligaments(packed.address, address(at), 1, address(force), address(jacobian))
    return force, jacobian


def equations_of_motion(problem, contact, time, state):
    """Return f (n,) of y' = f(t, y), its slopes (n, n) and by time (n,), with contact in Python."""

    def fill(_, time, pose, wanted, wrench, by_pose):
        loads = contact(time, np.array(pose[:6]), True)
        for place, found in zip((wrench, by_pose), loads, strict=True):
            ctypes.memmove(place, address(found), found.nbytes)
        return 1

    function, n = CONTACT_FUNCTION(fill), len(state)
    fields = {"contact": function_address(function), "of_contact": None}
    motion = Struct("knee_motion", {"problem": problem.packed, **fields})
    f, by_state, by_time = np.empty(n), np.empty((n, n)), np.empty(n)
    state, filled = np.ascontiguousarray(state), map(address, (f, by_state, by_time))
    assert CORE.knee_derivative(motion.address, time, address(state), 1, *filled)
    return f, by_state, by_time
