"""A bed of places and the condyle that touches them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foundation.base.checks import FloatArray, check_fields
from foundation.base.pose import rotation_matrix
from foundation.core.library import BLOCK, CORE, GROUP, Struct, address
from surrogates.fields.condyle_surface import CondyleSurface, Outline, outline_of


@dataclass(frozen=True, eq=False)
class Skin:
    """Indentations of a bed (P, 7) [m, 1, m²], neighbours side by side, by a condyle."""

    bed: FloatArray
    surface: CondyleSurface

    def __post_init__(self) -> None:
        check_fields(self, bed=(None, 7))

    @cached_property
    def groups(self) -> tuple[FloatArray, FloatArray]:
        """Balls (G, 8) around groups and blocks of places, as of the library's `skin` [m, 1]."""
        return self._balls(GROUP), self._balls(BLOCK)

    def _balls(self, count: int) -> FloatArray:
        found = []
        for start in range(0, len(self.bed), count):
            own = self.bed[start : start + count]
            centre, normal = own[:, :3].mean(axis=0), own[:, 3:6].mean(axis=0)
            normal /= np.linalg.norm(normal)
            arms = own[:, :3] - centre
            size, flatness = np.linalg.norm(arms, axis=1).max(), np.abs(arms @ normal).max()
            found.append([*centre, size, *normal, flatness])
        return np.array(found).reshape(-1, 8)

    @cached_property
    def outline(self) -> Outline:
        """The coarse outline of the condyle, for groups and blocks of the bed."""
        own = self.surface
        group, block = (float(balls[:, 3].max(initial=0.0)) for balls in self.groups)
        return outline_of(own.frame, own.coefficients, own.known, (group, block))

    @cached_property
    def _packed(self) -> Struct:
        groups, blocks = self.groups
        return Struct("skin", {
            "condyle": _packed_surface(self.surface), "outline": _packed_surface(self.outline),
            "limits": self.outline.limits, "places": len(self.bed), "bed": self.bed,
            "groups": groups, "blocks": blocks,
        })  # fmt: skip

    def indentations(
        self, rotation: FloatArray, translation: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return indentations (P,) [m], 0 or less out of contact, and the largest anywhere."""
        depth = np.empty(len(self.bed))
        turned, moved = np.ascontiguousarray(rotation), np.ascontiguousarray(translation)
        largest = CORE.skin_indentations(
            self._packed.address, address(turned), address(moved), address(depth)
        )
        return depth, largest


def _packed_surface(own: CondyleSurface | Outline) -> Struct:
    rows, columns = own.known.shape
    return Struct("surface", {
        "frame": np.append(own.frame, 1.0 / own.frame[8]), "rows": rows, "columns": columns,
        "spline": own.coefficients, "known": own.known,
    })  # fmt: skip


def parts_of(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rotation (3, 3) and translation (3,) [m] of a pose (6,) [rad, m]."""
    return rotation_matrix(*pose[:3]), np.ascontiguousarray(pose[3:])
