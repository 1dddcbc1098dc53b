"""Measured motion in SI units and radians; the laboratory has x forward, y up, z to the right."""
