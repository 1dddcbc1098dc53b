"""Calibration of spring laws on finite elements of the same knee."""
