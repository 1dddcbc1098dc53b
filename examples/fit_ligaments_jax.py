"""Ligament stiffness fitted by JAX: `python examples/fit_ligaments_jax.py runs/implant`.

A laxity test: the knee rests under many loads, and its poses are known. Factors on the stiffness of
groups of bundles are sought that give these poses. The poses come from known factors, so that the
fit can be judged. Derivatives of an equilibrium follow from its equation Q(q, factors) = 0.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

import surrogates
from dynamics import KneeSimulator, load_ligaments, settle
from dynamics.expressions import Elementary, KneeExpressions
from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS
from foundation.base.pose import Pose

GROUPS = ("MCL", "LCL", "PCL", "ACL")  # bundles whose names begin so; the others are known
TRUTH = np.array([1.4, 0.7, 1.25, 0.8])  # factors on the stiffness of the groups
SIZE = np.array([1e-2, 1e-2, 1e-3, 1e-4, 1e-3])  # excursions that count as one [rad, m]
LOADS = ("axial_force", "ap_force", "internal_torque", "adduction_torque")


def laxity_loads(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return flexion and applied loads, (count, 5) [rad, N, N, N m, N m]."""
    # More adduction torque lifts a condyle, and a knee with few ligaments then finds no rest.
    low, high = [0.1, 300.0, -150.0, -5.0, -4.0], [0.9, 600.0, 150.0, 5.0, 4.0]
    return rng.uniform(low, high, (count, 5))


class Laxity:
    """Misfit of the equilibria to known poses, and its derivative by the factors."""

    def __init__(self, balance, observed: np.ndarray, loads: np.ndarray) -> None:
        self.observed, self.loads = observed, loads

        def both(x, row):
            return balance(x, row), jax.jacfwd(balance)(x, row)

        self._both = jax.jit(jax.vmap(both))

    def __call__(self, factors: np.ndarray, steps: int = 15) -> tuple[np.ndarray, np.ndarray]:
        """Return the misfit (5 N,) [1] and its derivative (5 N, G): dq = -(dQ/dq)^-1 dQ."""
        free, given = self.observed.copy(), np.tile(factors, (len(self.loads), 1))
        for _ in range(steps):
            force, slope = map(np.asarray, self._both(np.hstack((free, given)), self.loads))
            moves = np.linalg.solve(slope[:, :, :5], -force[:, :, None])[:, :, 0]
            free += moves / np.maximum(1.0, np.abs(moves / SIZE).max(axis=1, keepdims=True))
            if np.abs(moves / SIZE).max() < 1e-9:
                break
        by_factors = -np.linalg.solve(slope[:, :, :5], slope[:, :, 5:]) / SIZE[:, None]
        return ((free - self.observed) / SIZE).ravel(), by_factors.reshape(-1, len(factors))


def main(run: Path, count: int = 24, seed: int = 1) -> dict[str, float]:
    """Fit; return the largest error of the factors [1], the misfit of the poses, and the cost."""
    jax.config.update("jax_enable_x64", True)
    knee = surrogates.load(run / "knee.npz").smoothed()
    path = knee.spaces[0].path
    shift = path.poses([0.0])[0, 3:]
    shift = shift if np.linalg.norm(shift) > 0.01 else np.zeros(3)  # the frames of an implant
    table = [replace(x, femoral=x.femoral - shift) for x in load_ligaments(LENHART_LIGAMENTS)]
    member = np.array([[x.name.startswith(group) for group in GROUPS] for x in table], dtype=float)
    others = 1.0 - member.sum(axis=1)
    true = tuple(
        replace(x, stiffness=x.stiffness * float(own @ TRUTH + other))
        for x, own, other in zip(table, member, others, strict=True)
    )
    simulator = KneeSimulator(
        neutral=path, anterior_stiffness=2e3, rotation_stiffness=5.0, lateral_stiffness=2e3
    )
    loads = laxity_loads(count, np.random.default_rng(seed))
    starts, rests = path.poses(loads[:, 0]), []
    for row, start in zip(loads, starts, strict=True):
        applied = dict(zip(LOADS, row[1:].tolist(), strict=True))
        near, held = Pose.from_array(start), replace(simulator, ligaments=true)
        rests.append(settle(knee, held, flexion=row[0], start=near, **applied).array[1:])
    contact, problem = knee.jax(), replace(simulator, ligaments=tuple(table)).problem()
    motion = KneeExpressions(Elementary.of(jnp), problem)

    def balance(x, row):
        """Return the forces (5,) on the free coordinates x[:5] with the factors x[5:]."""
        pose = jnp.concatenate((row[:1], x[:5]))
        stiffness = problem.ligaments.stiffness * (member @ x[5:] + others)
        wrench = contact(pose)[0].sum(axis=0)[:6]
        return jnp.stack(motion.forces(pose, row[1:], wrench, stiffness=stiffness))[1:]

    begin, laxity = time.perf_counter(), Laxity(balance, np.array(rests), loads)
    fit = least_squares(
        lambda factors: laxity(factors)[0],
        np.ones(len(GROUPS)),
        lambda factors: laxity(factors)[1],
        method="lm",
        xtol=1e-10,
    )
    error = np.abs(fit.x / TRUTH - 1.0).max()
    print("factors:", dict(zip(GROUPS, np.round(fit.x, 4).tolist(), strict=True)))
    first = np.abs(laxity(np.ones(len(GROUPS)))[0]).max()
    return {
        **{"error": error, "first_misfit": first, "misfit": float(np.abs(fit.fun).max())},
        **{"evaluations": fit.nfev, "seconds": time.perf_counter() - begin},
    }


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.3g}")
