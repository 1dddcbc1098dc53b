"""Place of a point of the femur in the tibial frame, and how it moves with the pose."""

from __future__ import annotations

import math

from foundation.base.compiling import inlined_kernel, part


@inlined_kernel
def condyle_point(coordinates, centre, point, slopes):
    """Fill the place p = t + R c of a femoral point and its derivatives by the pose.

    Conventions of `foundation.base.pose`: R = Ry(-rotation) Rx(-adduction) Rz(flexion).
    `coordinates` (6,) are flexion, adduction, rotation [rad]; anterior, superior, lateral [m]. c is
    `centre` (3,) in the femoral frame [m]. `point` (3,) is filled with p in the tibial frame [m],
    and `slopes` (3, 6) with dp/d(coordinates) [m/rad, 1].
    """
    cf, sf = math.cos(coordinates[0]), math.sin(coordinates[0])
    ca, sa = math.cos(coordinates[1]), math.sin(coordinates[1])
    cr, sr = math.cos(coordinates[2]), math.sin(coordinates[2])
    # Flexion turns c in the femur's own plane, then adduction, then rotation.
    x = cf * centre[0] - sf * centre[1]
    flexed = sf * centre[0] + cf * centre[1]
    y = ca * flexed + sa * centre[2]
    z = ca * centre[2] - sa * flexed
    point[0] = coordinates[3] + cr * x - sr * z
    point[1] = coordinates[4] + y
    point[2] = coordinates[5] + sr * x + cr * z
    for k in range(3):
        for j in range(3):
            slopes[k, 3 + j] = 1.0 if k == j else 0.0
    # By flexion: x' = -flexed, flexed' = x
    slopes[0, 0] = -cr * flexed + sr * sa * x
    slopes[1, 0] = ca * x
    slopes[2, 0] = -sr * flexed - cr * sa * x
    # By adduction: y' = z, z' = -y
    slopes[0, 1] = sr * y
    slopes[1, 1] = z
    slopes[2, 1] = -cr * y
    # By rotation
    slopes[0, 2] = -sr * x - cr * z
    slopes[1, 2] = 0.0
    slopes[2, 2] = cr * x - sr * z


@part
def turned(centre, held, orders, out):
    """Fill out (3,) with a derivative of R c; `orders` (3,): by flexion, adduction, rotation.

    R = Ry(-rotation) Rx(-adduction) Rz(flexion); a derivative rotates its factor by a right angle
    and removes the component along the axis.
    """
    quarter = 0.5 * math.pi
    x, y, z = centre[0], centre[1], centre[2]
    angle = held[0] + quarter * orders[0]
    c, s = math.cos(angle), math.sin(angle)
    x, y = c * x - s * y, s * x + c * y
    if orders[0] > 0:
        z = 0.0
    sign = -1.0 if orders[1] % 2.0 == 1.0 else 1.0
    angle = -held[1] + quarter * orders[1]
    c, s = sign * math.cos(angle), sign * math.sin(angle)
    y, z = c * y - s * z, s * y + c * z
    if orders[1] > 0:
        x = 0.0
    sign = -1.0 if orders[2] % 2.0 == 1.0 else 1.0
    angle = -held[2] + quarter * orders[2]
    c, s = sign * math.cos(angle), sign * math.sin(angle)
    x, z = c * x + s * z, -s * x + c * z
    if orders[2] > 0:
        y = 0.0
    out[0], out[1], out[2] = x, y, z
