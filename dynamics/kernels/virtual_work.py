"""Generalised forces of a wrench and their derivatives, as in `foundation.base.pose`, compiled."""

from __future__ import annotations

import math

from foundation.base.compiling import inlined


@inlined
def add_wrench(pose, wrench, by_pose, factor, wanted, force, jacobian):
    """Add a wrench's generalised forces (6,) at a pose (6,) and, if wanted, derivatives (6, 6).

    `wrench` (6,) [N, N m] acts on the femur, in the tibial frame about the tibial origin; `by_pose`
    (6, 6) is its derivative with respect to the pose; both are multiplied by `factor`. See
    `foundation.base.pose.generalised_force_jacobian`.
    """
    ca, sa = math.cos(pose[1]), math.sin(pose[1])
    cr, sr = math.cos(pose[2]), math.sin(pose[2])
    axes = ((-sr * ca, sa, cr * ca), (-cr, 0.0, -sr), (0.0, -1.0, 0.0))
    px, py, pz = pose[3], pose[4], pose[5]
    fx, fy, fz = factor * wrench[0], factor * wrench[1], factor * wrench[2]
    # The moment about the femoral origin, about which the angles turn.
    mx = factor * wrench[3] - (py * fz - pz * fy)
    my = factor * wrench[4] - (pz * fx - px * fz)
    mz = factor * wrench[5] - (px * fy - py * fx)
    for k in range(3):
        ax, ay, az = axes[k]
        force[k] += ax * mx + ay * my + az * mz
        force[3 + k] += factor * wrench[k]
    if not wanted:
        return
    for k in range(3):
        ax, ay, az = axes[k]
        # axis . (p x dF) is its lever, p brought to the other side: (axis x p) . dF
        lx, ly, lz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
        for j in range(6):
            jacobian[k, j] += factor * (
                ax * by_pose[3, j] + ay * by_pose[4, j] + az * by_pose[5, j]
                - lx * by_pose[0, j] - ly * by_pose[1, j] - lz * by_pose[2, j]
            )  # fmt: skip
            jacobian[3 + k, j] += factor * by_pose[k, j]
        # -axis . (dp x F)
        jacobian[k, 3] -= ay * -fz + az * fy
        jacobian[k, 4] -= az * -fx + ax * fz
        jacobian[k, 5] -= ax * -fy + ay * fx
    # The flexion axis turns with adduction and rotation, the adduction axis with rotation.
    for first, second in ((0, 1), (0, 2), (1, 2)):
        ax, ay, az = axes[first]
        bx, by, bz = axes[second]
        jacobian[first, second] += (
            ax * (my * bz - mz * by) + ay * (mz * bx - mx * bz) + az * (mx * by - my * bx)
        )
