"""Columns of a table that are coordinates of a model: units, and values in SI units."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from dynamics.motion.motion_tables import STATE_VALUE, MotionTable
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Largest angle of a motion [rad].
_LARGEST_ANGLE = 4.0 * np.pi
#: Angles in radians: all move by at most half a turn, in which a heading may be more than a turn,
#: and one by more than 10 degrees, or, where fewer than three move, by more than 70 degrees [rad].
_HALF_TURN, _TURN, _MOVING, _MOVING_ALONE, _FEW = np.pi, 7.0, 0.18, 1.2, 3
#: Angles in degrees: half of those that move are beyond this, as radians more than half a turn.
_BEYOND_HALF_TURN = 3.5
#: Largest translation of a motion, and of the bones of a joint with secondary coordinates [m].
_FAR, _FAR_IN_JOINT = 100.0, 1.0


class Coordinates(Protocol):
    """Coordinates of a model, such as an `OpenSimSystem`."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        ...

    @property
    def rotational(self) -> tuple[bool, ...]:
        """Whether each coordinate is an angle."""
        ...


class CoordinateTable:
    """Columns of a table that are coordinates of a model, by name or path, also with /value."""

    def __init__(
        self, table: MotionTable, system: Coordinates, *, unstated_degrees: bool = False
    ) -> None:
        self.table, self._unstated_degrees = table, unstated_degrees
        self._angles = {
            n for n, turns in zip(system.coordinates, system.rotational, strict=True) if turns
        }
        #: Column of each coordinate that the table has, by the name of the coordinate.
        self.columns: dict[str, int] = {}
        for k, label in enumerate(table.names):
            name = label.removesuffix(STATE_VALUE).rsplit("/", 1)[-1]
            if name in system.coordinates:
                self.columns[name] = k

    def _column(self, name: str) -> FloatArray:
        return self.table.values[:, self.columns[name]]

    def _largest(self, name: str) -> float:
        return float(np.abs(self._column(name)).max())

    @cached_property
    def _radians(self) -> dict[str, str]:
        """Angles that the file states as radians, each with the reason."""
        stated, angles = self.table.in_degrees, [n for n in self.columns if n in self._angles]
        if stated is not None:
            return {} if stated else dict.fromkeys(angles, "as the header has inDegrees=no")
        if not self._unstated_degrees:
            return dict.fromkeys(angles, "as the header has no inDegrees=yes")
        paths = [n for n in angles if self.table.names[self.columns[n]].endswith(STATE_VALUE)]
        return dict.fromkeys(paths, "as its name ends in /value")

    @cached_property
    def _disguised(self) -> tuple[str, ...]:
        """Angles that are stated as degrees and move like radians; single columns are not found."""
        names = [n for n in self.columns if n in self._angles and n not in self._radians]
        if not names:
            return ()
        ranges = np.array([np.ptp(self._column(name)) for name in names])
        far = max(map(self._largest, names)) > _TURN
        least = _MOVING if (ranges > 0.0).sum() >= _FEW else _MOVING_ALONE
        return () if far or not least <= ranges.max() <= _HALF_TURN else tuple(names)

    @property
    def _widest(self) -> float:
        """Largest range of the disguised angles, in the unit of the file."""
        return float(max(np.ptp(self._column(name)) for name in self._disguised))

    def in_si(self, name: str) -> FloatArray:
        """Return the values (N,) of a coordinate [rad, m], in the unit that they tell."""
        values = self._column(name)
        if name not in self._angles or name in self._disguised:
            return values
        if name not in self._radians:
            return np.radians(values)
        largest = self._largest(name)
        if largest > _LARGEST_ANGLE:
            raise InputError(
                f"{self.table.source}, column {self.table.names[self.columns[name]]}: expected "
                f"radians, {self._radians[name]}, found {largest:.3g}; state inDegrees=yes in the "
                "header if the angles are in degrees"
            )
        return values

    def check_angles(self) -> None:
        """Refuse angles that are stated as radians and can only be degrees."""
        few = [name for name in self._disguised if np.ptp(self._column(name)) > 0.0]
        if 0 < len(few) < _FEW:
            raise InputError(
                f"{self.table.source}: expected degrees, found angles ({', '.join(few)}) that move "
                f"by at most {self._widest:.3g}, which may be radians; state inDegrees=no in the "
                "header, and convert the angles to radians if they are in degrees"
            )
        moving = {
            name: self._largest(name) for name in self._radians if np.ptp(self._column(name)) > 0.0
        }
        far = [name for name, largest in moving.items() if largest > _BEYOND_HALF_TURN]
        if far and 2 * len(far) >= len(moving):
            raise InputError(
                f"{self.table.source}: expected radians, {self._radians[far[0]]}, found {len(far)} "
                f"of {len(moving)} angles beyond half a turn, such as {far[0]} up to "
                f"{moving[far[0]]:.3g}; state inDegrees=yes in the header if the angles are in "
                "degrees"
            )

    def check_lengths(self, secondary: tuple[str, ...]) -> None:
        """Refuse translations that can only be millimetres."""
        for name in self.columns:
            limit = _FAR_IN_JOINT if name in secondary else _FAR
            if name not in self._angles and self._largest(name) > limit:
                raise InputError(
                    f"{self.table.source}, column {name}: expected metres, at most {limit:g}, "
                    f"found {self._largest(name):.4g}; the motion's translations look like "
                    "millimetres: divide them by 1000"
                )

    def unit_notes(self) -> tuple[str, ...]:
        """Return no or one sentence on angles that are read in radians against their header."""
        if not self._disguised:
            return ()
        stated = "the header states inDegrees=yes"
        if self.table.in_degrees is None:
            stated = "the header states no unit, which stands for degrees"
        return (
            f"{self.table.source}: {stated}, but no angle moves by more than {self._widest:.3g}, "
            "which is typical of radians: the angles are read in radians; correct the header "
            "(inDegrees=no), or write so small a motion in radians",
        )
