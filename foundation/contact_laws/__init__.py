"""Analytical laws of one contact: normal forces, Hertz's constants, friction."""
