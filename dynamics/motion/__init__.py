"""Measured motion: tables of motion and force, C3D files, force plates, columns of a knee's pose.

The laboratory has x forward, y up, z to the right; lengths are in metres, angles in radians, forces
in newtons, moments in newton metres.
"""

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table

__all__ = ["MotionTable", "read_motion_table", "write_motion_table"]
