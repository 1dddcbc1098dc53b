"""Derivatives of the forces of ligament bundles by rest length, stiffness and attachments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynamics.core.problem import LINEAR, QUADRATIC, LigamentArguments
from dynamics.ligaments.bundles import Ligament, pack
from foundation.base.checks import FloatArray
from foundation.base.pose import POSITION, rotation_axes, rotation_matrix

#: Columns of `force_derivatives`: rest length, stiffness, femoral and tibial attachment.
REST, STIFFNESS, FEMORAL, TIBIAL = 0, 1, slice(2, 5), slice(5, 8)


def force_derivatives(ligaments: Sequence[Ligament], pose: FloatArray) -> FloatArray:
    """Return the derivatives (B, 8, 6) of the generalised forces of B bundles at a pose (6,).

    By rest length [m], stiffness [unit of the law], and the femoral and tibial attachments [m] in
    the frames of their bones, in SI units.
    """
    packed = pack(ligaments)
    turn, axes = rotation_matrix(*pose[:3].tolist()), rotation_axes(pose[1], pose[2]).T
    arm = packed.femoral @ turn.T
    line = arm + pose[POSITION] - packed.tibial
    length = np.linalg.norm(line, axis=1)
    u = line / length[:, None]
    tension, by_length, by_rest, by_stiffness = _tensions(packed, length)
    velocity = np.cross(axes[None], arm[:, None])  # (B, 3, 3): angle, component
    gradient = np.concatenate([np.einsum("bkx,bx->bk", velocity, u), u], axis=1)
    across = (np.eye(3) - u[:, :, None] * u[:, None, :]) / length[:, None, None]
    # Derivatives of length and gradient by the femoral end, in the tibial frame; those by the
    # tibial end are opposite but for the arm.
    by_end = np.concatenate([np.einsum("bkx,bxj->bjk", velocity, across), across], axis=2)
    by_arm = by_end.copy()
    by_arm[:, :, :3] += np.cross(u[:, None], axes[None]).transpose(0, 2, 1)
    slope = by_length[:, None, None] * u[:, :, None] * gradient[:, None, :]
    derivatives = np.empty((len(length), 8, 6))
    derivatives[:, REST] = -by_rest[:, None] * gradient
    derivatives[:, STIFFNESS] = -by_stiffness[:, None] * gradient
    turned = slope + tension[:, None, None] * by_arm
    derivatives[:, FEMORAL] = -np.einsum("xj,bxk->bjk", turn, turned)
    derivatives[:, TIBIAL] = slope + tension[:, None, None] * by_end
    return derivatives


def _tensions(packed: LigamentArguments, length: FloatArray) -> tuple[FloatArray, ...]:
    """Return tensions (B,) [N] and derivatives by length, rest length and stiffness (B,)."""
    rest, k, toe = packed.rest_length, packed.stiffness, packed.transition
    stretch = np.maximum(length - rest, 0.0)
    strain = stretch / rest
    in_toe = strain < toe
    shape = np.where(in_toe, 0.5 * strain**2 / toe, strain - 0.5 * toe)
    slope = np.where(in_toe, strain / toe, 1.0) * (stretch > 0.0)
    by_length, by_rest = slope / rest, -slope * length / rest**2
    for kind, power in ((LINEAR, 1), (QUADRATIC, 2)):
        of_kind = packed.kind == kind
        of_law = power * stretch ** (power - 1) * (stretch > 0.0)
        shape = np.where(of_kind, stretch**power, shape)
        by_length, by_rest = (
            np.where(of_kind, of_law, by_length),
            np.where(of_kind, -of_law, by_rest),
        )
    shape = shape * (stretch > 0.0)
    return k * shape, k * by_length, k * by_rest, shape
