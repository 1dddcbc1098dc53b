"""Measured motion in SI units and radians; the laboratory has x forward, y up, z to the right."""

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table

__all__ = ["MotionTable", "read_motion_table", "write_motion_table"]
