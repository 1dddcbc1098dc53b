"""Formulations of a compartment or a whole knee, their fits, and the trained knee surrogate."""
