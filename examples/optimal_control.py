"""Optimal control of a knee with free loads: `python examples/optimal_control.py runs/implant`.

Three lines of action with the least effort swing a leg, hung from a thigh at rest, along a measured
flexion. Contact and ligaments balance the muscles: the loads are found with the motion. Every start
passes through the optimum of the forces' tangents at rest under load, a convex program. The natural
knee of configs/lenhart.toml, learnt by polynomials (docs/howto/optimal_control.md), has its own
ligaments; those of Lenhart et al. 2015 hold an implant too.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

import surrogates
from dynamics import KneeSimulator, load_ligaments, settle
from dynamics.expressions import Elementary, KneeExpressions, line_forces
from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS
from dynamics.ligaments.bundles import ligament_strains
from foundation.base.pose import Pose

# A swing, every 1/30 s [degrees]: knee_angle_r of OpenSim's subject01_walk_IK.mot from 0.067 s.
SWING = (14.3, 22.2, 32.9, 44.6, 54.9, 62.7, 67.7, 69.3, 67.9, 63.4, 55.8, 45.3, 32.4, 18.0, 5.0)
INERTIA, WEIGHT = 0.40, 11.2  # shank and foot about the knee [kg m², N m]
# Largest force [N], femoral attachment from the femoral origin and tibial one, at extension [m].
MUSCLES = (
    (4000.0, (0.05, 0.02, 0.0), (0.035, -0.05, 0.0)),  # quadriceps, by the patellar tendon
    (1500.0, (-0.04, 0.3, -0.02), (-0.02, -0.04, -0.03)),  # medial hamstrings
    (1000.0, (-0.04, 0.3, 0.02), (-0.02, -0.03, 0.035)),  # biceps femoris
)
SIZE = np.array([0.1, 1e-2, 1e-2, 1e-3, 1e-4, 1e-3])  # excursions that count as one [rad, m]
BOX = np.array([5.0, 2.0, 14.0, 6.0, 5.0, 1.5])  # largest excursions [1]
FORCE = np.array([10.0, 10.0, 1.0, 10.0, 100.0, 10.0])  # forces that count as one [N m, N]
RATE, LOAD = 5.0, 500.0  # rad/s; axial load of the tangents [N]
ERROR, DEGREE = np.radians(3.0), 3  # error as dear as a full activation; points of an interval


def leg(run: Path) -> tuple[ca.Function, surrogates.ContactSurrogate, KneeSimulator]:
    """Return (pose, acceleration of flexion, activations) -> (balance (6,), domain), and the knee.

    The balance is Q - M q'' [N m, N]: only flexion has inertia, as contact holds the others.
    """
    knee, functions = surrogates.load(run / "knee.npz").smoothed(), Elementary.of(ca)
    path = knee.spaces[0].path
    origin = path.poses([0.0])[0, 3:]
    moved = origin if np.linalg.norm(origin) > 0.01 else np.zeros(3)  # the frames of an implant
    table = [replace(x, femoral=x.femoral - moved) for x in load_ligaments(LENHART_LIGAMENTS)]
    if moved.any():  # strained by 2 % at most along its passive motion
        strains = ligament_strains(table, path.poses(np.radians(np.arange(0.0, 61.0, 5.0))))
        longer = (1.0 + strains.max(axis=0)) / 1.02
        bundles = zip(table, longer, strict=True)
        table = [replace(x, rest_length=x.rest_length * factor) for x, factor in bundles]
    simulator = KneeSimulator(neutral=path, lateral_stiffness=6e4, ligaments=tuple(table))
    motion = KneeExpressions(functions, simulator.problem(), smoothing=0.005)
    pose, wrench, turning, activation = (ca.SX.sym("x", size) for size in (6, 6, 1, 3))
    balance = ca.vertcat(*motion.forces(pose, [0.0] * 4, wrench))
    for k, (most, femoral, tibial) in enumerate(MUSCLES):
        pull = most * activation[k]
        balance += ca.vertcat(
            *line_forces(functions, pose, np.subtract(femoral, moved), tibial, pull)
        )
    balance[0] -= INERTIA * turning + WEIGHT * ca.sin(pose[0])
    mechanics = ca.Function("mechanics", [pose, wrench, turning, activation], ca.cse([balance]))
    pose, turning, activation = (ca.MX.sym("x", size) for size in (6, 1, 3))
    loads, domain = knee.casadi()(pose)
    balance = mechanics(pose, ca.sum2(loads)[:6], turning, activation)
    # A compartment that lifts off is at the limit of its ratios of forces: a margin of 1 %. The
    # learnt criteria are left out.
    limits = ca.vec(domain[:8, :]) / 1.01
    return ca.Function("leg", [pose, turning, activation], [balance, limits]), knee, simulator


def tangents(point: ca.Function, knee, simulator, path: np.ndarray, poses, turning, activations):
    """Return the balance (6, n) of which the forces are tangents, at rest under load."""
    z = ca.MX.sym("z", 10)
    balance = point(z[:6], z[6], z[7:])[0]
    slope = ca.Function("slope", [z], [balance, ca.jacobian(balance, z)])
    columns = []
    for k, row in enumerate(path.T):
        rest = settle(knee, simulator, flexion=row[0], axial_force=LOAD, start=Pose(*row)).array
        at = np.concatenate((rest, np.zeros(4)))
        here, by = slope(at)
        columns.append(here + by @ (ca.vertcat(poses[:, k], turning[k], activations[:, k]) - at))
    return ca.horzcat(*columns)


def program(run: Path, intervals: int) -> tuple[dict, dict, dict, ca.Function]:
    """Return program, its convex form, bounds, and the error of flexion at the points [rad]."""
    point, knee, simulator = leg(run)
    width, points = (len(SWING) - 1) / 30.0 / intervals, ca.collocation_points(DEGREE, "radau")
    slopes, _, weights = ca.collocation_coeff(points)
    times = (width * np.add.outer(np.arange(intervals), points)).ravel()
    measured = CubicSpline(np.arange(len(SWING)) / 30.0, np.radians(SWING))(times)
    path = knee.path(np.clip(measured, *np.radians([0.0, 60.0]))).T
    begin, x = ca.MX.sym("begin", 2), ca.MX.sym("x", 16, len(times))
    poses = path + SIZE * x[:6, :]
    motion = ca.vertcat(poses[0, :], RATE * x[6, :])
    before, changes = begin * ca.DM([1.0, RATE]), []
    for k in range(0, len(times), DEGREE):
        changes.append(ca.horzcat(before, motion[:, k : k + DEGREE]) @ slopes / width)
        before = motion[:, k + DEGREE - 1]
    changes = ca.horzcat(*changes)
    balance, domain = point.map(len(times))(poses, changes[1, :], x[7:10, :])
    error = poses[0, :] - measured.reshape(1, -1)
    costs = (error / ERROR) ** 2 + ca.sum1(x[7:, :] ** 2)
    effort = costs @ np.tile(width * np.ravel(weights), intervals)
    moved = (changes[0, :] - motion[1, :]) / RATE
    equal = ca.veccat(moved, balance / FORCE + x[10:, :])
    nlp = {"x": ca.veccat(begin, x), "f": effort, "g": ca.vertcat(equal, ca.vec(domain))}
    straight = tangents(point, knee, simulator, path, poses, changes[1, :], x[7:10, :])
    convex = nlp | {"g": ca.veccat(moved, straight / FORCE + x[10:, :])}
    most = np.concatenate((BOX, [3.0, 1.0, 1.0, 1.0], np.zeros(6)))
    least = np.concatenate((-BOX, [-3.0, 0.0, 0.0, 0.0], np.zeros(6)))
    bounds = {
        "lbx": ca.veccat(ca.DM([-1.0, -3.0]), np.tile(least, len(times))),
        "ubx": ca.veccat(ca.DM([2.0, 3.0]), np.tile(most, len(times))),
        "lbg": ca.veccat(np.zeros(equal.numel()), np.full(domain.numel(), -np.inf)),
        "ubg": ca.veccat(np.zeros(equal.numel()), np.ones(domain.numel())),
    }
    return nlp, convex, bounds, ca.Function("error", [nlp["x"]], [error])


def main(run: Path, starts: int = 10, intervals: int = 10, seed: int = 1) -> dict[str, float]:
    """Solve from random starts; return how many reach the best optimum, its figures, the cost."""
    nlp, convex, bounds, error = program(run, intervals)
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    solver = ca.nlpsol("solver", "ipopt", nlp, options | {"ipopt.max_iter": 600})
    easy = ca.nlpsol("easy", "ipopt", convex, options | {"ipopt.tol": 1e-10})
    rng, ends, count = np.random.default_rng(seed), [], []
    begin = time.perf_counter()
    reserves = np.zeros((16, error.numel_out()))
    reserves[10:] = 1e3
    free = np.concatenate((np.zeros(2), reserves.T.ravel()))
    for _ in range(starts):
        guess = rng.uniform(-1.0, 1.0, reserves.shape) * np.concatenate((BOX, np.ones(10)))[:, None]
        guess[7:10] = rng.uniform(size=guess[7:10].shape)
        x0 = ca.veccat(rng.normal(size=2), guess)
        # First with reserve forces that cost effort and in an endless domain, with tangents, then
        # with the forces themselves; last as stated.
        eased = {"lbx": bounds["lbx"] - free, "ubx": bounds["ubx"] + free, "lbg": bounds["lbg"]}
        eased["ubg"] = np.where(np.array(bounds["ubg"]) > 0.0, np.inf, 0.0)
        x0 = easy(x0=x0, lbx=eased["lbx"], ubx=eased["ubx"], lbg=0.0, ubg=0.0)["x"]
        x0 = solver(x0=x0, **eased)["x"]
        ended = solver(x0=x0, **bounds)
        count.append(solver.stats()["iter_count"])
        if solver.stats()["success"]:
            ends.append((float(ended["f"]), np.array(ended["x"]).ravel()))
    seconds = (time.perf_counter() - begin) / starts
    best, x = min(ends, key=lambda end: end[0])
    same = [abs(f - best) < 1e-6 * best and np.abs(y - x).max() < 1e-3 for f, y in ends]
    off = np.degrees(np.array(error(x)))
    found = {"hits": sum(same), "effort": best, "rms_error_deg": np.sqrt((off**2).mean())}
    return found | {"iterations": np.median(count), "seconds": seconds}


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.6g}")
