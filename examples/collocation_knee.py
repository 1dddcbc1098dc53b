"""Direct collocation of a gait cycle: `python examples/collocation_knee.py runs/implant`.

The knee simulator's motion over level walking, solved at once for all instants by CasADi and IPOPT
from knees at rest, and compared with the step-by-step solution of `dynamics.simulate`.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import casadi as ca
import numpy as np

import surrogates
from dynamics import KneeSimulator, load_gait_cycle, settle, simulate
from dynamics.expressions import Elementary, KneeExpressions
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.base.pose import Pose
from surrogates.export.c_export import c_compiler, export_knee

DEGREE = 3  # Radau IIA of order 5: the last of its points is the end of the interval
# Excursions that count as one, of the free coordinates [rad, m] and of their forces [N m, N]; rates
# of 30 excursions a second.
SIZE, FORCE, PER_SECOND = (
    np.array([1e-2, 1e-2, 1e-3, 1e-4, 1e-3]),
    np.array([1, 1, 10, 100, 10]),
    30,
)


def contact(knee, folder: str) -> ca.Function:
    """Return pose (6) -> contact wrench of each compartment: compiled C, or expressions."""
    if compiler := c_compiler():
        source = export_knee(knee, "knee", casadi=True).write(folder, "knee")[1]
        library = str(source.with_suffix(".so"))
        options = ["-O2", "-ftree-vectorize", "-funroll-loops", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *options, "-o", library, source, "-lm"], check=True)
        return ca.external("knee_wrench", library)
    pose = ca.MX.sym("pose", 6)
    return ca.Function("wrench", [pose], [knee.casadi()(pose)[0][:6, :]])


def step_function(wrench: ca.Function, motion: KneeExpressions, first: np.ndarray) -> ca.Function:
    """Return x' of the scaled state x (10,) [1] at inputs (10,) [SI]; CasADi gives derivatives."""
    x, inputs = ca.MX.sym("x", 10), ca.MX.sym("inputs", 10)
    free, rates = first[1:] + SIZE * x[:5], PER_SECOND * SIZE * x[5:]
    pose = motion.pose(free, inputs)
    loads = ca.sum2(wrench(ca.vertcat(*pose)))
    forces = motion.forces(pose, inputs[6:], loads)
    change = ca.vertcat(*motion.accelerations(forces, rates)) / (PER_SECOND * SIZE)
    return ca.Function("step", [x, inputs], [ca.vertcat(PER_SECOND * x[5:], change)])


def rest(knee, simulator, cycle, now: float) -> np.ndarray:
    """Return the pose (6,) [rad, m] of the static equilibrium under the inputs at a time [s]."""
    flexion, loads = cycle.at(now)
    near = Pose.from_array(knee.path([flexion])[0])
    return settle(knee, simulator, flexion=flexion, start=near, **vars(loads)).array


def collocate(knee, simulator, cycle, wrench: ca.Function, intervals: int) -> dict:
    """Return the poses (intervals + 1, 6) at the ends of the intervals, and IPOPT's statistics."""
    first = rest(knee, simulator, cycle, 0.0)
    equations = KneeEquations(knee, simulator, cycle, Pose.from_array(first))
    at_rest = equations.resting_rates(0.0, np.zeros(10))
    problem = simulator.problem(*cycle.pieces(simulator.neutral_at(first[0])))
    motion = KneeExpressions(Elementary.of(ca), problem)
    points = ca.collocation_points(DEGREE, "radau")
    slopes = ca.collocation_coeff(points)[0]
    width = cycle.period / intervals
    inputs, _ = motion.inputs((width * np.add.outer(np.arange(intervals), points)).ravel())
    states = ca.MX.sym("states", 10, intervals * DEGREE)
    changes = step_function(wrench, motion, first).map(len(inputs))(states, inputs.T)
    weight = width * np.concatenate((np.ones(5), PER_SECOND * SIZE * problem.inertia[1:] / FORCE))
    before = np.concatenate((np.zeros(5), at_rest / (PER_SECOND * SIZE)))
    rows = []
    for k in range(0, len(inputs), DEGREE):
        span = ca.horzcat(before, states[:, k : k + DEGREE])
        rows.append(weight * (span @ slopes / width - changes[:, k : k + DEGREE]))
        before = states[:, k + DEGREE - 1]
    # As many equations as unknowns: nothing is left to minimise.
    # Cold start: where the knee would rest at the end of each interval, from the passive path.
    rests = [rest(knee, simulator, cycle, now) for now in width * np.arange(1, intervals + 1)]
    guess = np.zeros((intervals, DEGREE, 10))
    guess[:, :, :5] = ((np.array(rests) - first)[:, 1:] / SIZE)[:, None]
    program = {"x": ca.vec(states), "f": 0, "g": ca.veccat(*rows)}
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-9}
    options["ipopt.max_iter"] = 100  # a mesh that is too coarse does not converge
    solver = ca.nlpsol("solver", "ipopt", program, options)
    begin = time.perf_counter()
    found = np.array(solver(x0=guess.ravel(), lbg=0.0, ubg=0.0)["x"]).reshape(-1, 10)
    elapsed, ended = time.perf_counter() - begin, solver.stats()
    free = first[1:] + SIZE * np.vstack((np.zeros(5), found[DEGREE - 1 :: DEGREE, :5]))
    flexion = motion.inputs(width * np.arange(intervals + 1))[0][:, :1]
    return {
        **{"poses": np.hstack((flexion, free)), "seconds": elapsed, "success": ended["success"]},
        "iterations": ended["iter_count"],
    }


def main(run: Path, intervals: int = 300) -> dict[str, float]:
    """Solve the cycle both ways; return the cost and the largest differences [rad, m]."""
    trained = surrogates.load(run / "knee.npz")
    knee, cycle = trained.smoothed(), load_gait_cycle(LEVEL_WALKING, period_s=1.0)
    start = Pose.from_array(knee.path([cycle.at(0.0)[0]])[0])
    simulator = KneeSimulator(neutral=start)
    with tempfile.TemporaryDirectory() as folder:
        solved = collocate(knee, simulator, cycle, contact(knee, folder), intervals)
    tight = {"rtol": 1e-9, "samples": intervals + 1}
    reference = simulate(knee, simulator, cycle, **tight).poses
    sharp = simulate(trained, simulator, cycle, **tight).poses
    figures = {name: solved[name] for name in ("success", "iterations", "seconds")}
    for name, poses in (("collocation", solved["poses"]), ("smoothing", sharp)):
        away = np.abs(poses - reference).max(axis=0)
        figures |= {f"{name}_rad": away[:3].max(), f"{name}_m": away[3:].max()}
    return figures


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.3g}")
