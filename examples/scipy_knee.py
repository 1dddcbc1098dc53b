"""SciPy's solvers with the surrogate's Jacobian: `python examples/scipy_knee.py runs/implant`.

`least_squares` finds where the knee rests under a load; `solve_ivp` lets it fall onto the tibia.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import surrogates
from foundation.base.pose import Pose, generalised_force, generalised_force_jacobian

AXIAL, MEDIAL = 1000.0, 5e-3  # N, and its line of action medial of the tibial origin, m
SPRINGS = np.array([0.0, 0.0, 35.0, 30e3, 0.0, 0.0])  # on rotation and anterior, N m/rad and N/m
MASS, DAMPING = np.array([0.03, 3.0]), np.array([10.0, 2e3])  # of adduction and height, SI
SCALE = np.array([1e-3, 1e-2, 1e-3, 1e-4, 1e-3])  # rad, rad, m, m, m: the height is the stiff one


def main(run: Path) -> dict[str, float]:
    """Solve both problems, print and return what comes out."""
    knee = surrogates.load(run / "knee.npz")
    start = knee.path([np.radians(20.0)])[0]

    def forces(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the generalised forces (6,) and their derivatives (6, 6) at a pose."""
        pose = Pose.from_array(q)
        loads = knee.loads(pose, order=1)
        wrench = loads.wrench - AXIAL * np.array([0, 1, 0, MEDIAL, 0, 0])
        force = generalised_force(pose, wrench) - SPRINGS * (q - start)
        stiffness = generalised_force_jacobian(pose, wrench, loads.total_jacobian)
        return force, stiffness - np.diag(SPRINGS)

    # Equilibrium: five coordinates are free at the flexion of the start.
    def at(x: np.ndarray) -> np.ndarray:
        return start + np.concatenate(([0.0], SCALE * x))

    rest = least_squares(
        lambda x: forces(at(x))[0][1:],
        np.zeros(5),
        lambda x: forces(at(x))[1][1:, 1:] * SCALE,
        method="dogbox",
        xtol=1e-14,
    )
    q = at(rest.x)
    residual = np.abs(forces(q)[0][1:]).max()
    print(f"rests at {1e3 * q[4]:.3f} mm after {rest.nfev} evaluations, {residual:.1g} N left")

    # Motion: adduction and height alone, from 0.2 mm above and tilted by half a degree. Contact is
    # stiff, hence an implicit method.
    free = [1, 4]

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        pose = q.copy()
        pose[free] = y[:2]
        return np.concatenate((y[2:], (forces(pose)[0][free] - DAMPING * y[2:]) / MASS))

    def rates_jacobian(_: float, y: np.ndarray) -> np.ndarray:
        pose = q.copy()
        pose[free] = y[:2]
        stiff = forces(pose)[1][np.ix_(free, free)] / MASS[:, None]
        return np.block([[np.zeros((2, 2)), np.eye(2)], [stiff, -np.diag(DAMPING / MASS)]])

    begin = [q[1] + np.radians(0.5), q[4] + 2e-4, 0.0, 0.0]
    fall = solve_ivp(rates, (0, 0.1), begin, "Radau", jac=rates_jacobian, rtol=1e-4, atol=1e-8)
    away = 1e6 * (fall.y[1, -1] - q[4])
    deepest = 1e6 * (q[4] - fall.y[1].min())
    print(f"falls {deepest:.1f} um too deep, and after 0.1 s is {away:.2g} um from rest")
    return {"residual": residual, "height": q[4], "deepest": deepest, "away": away}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
