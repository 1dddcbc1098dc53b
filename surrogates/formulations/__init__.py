"""Formulations: what is learnt of a compartment or a whole knee, and the trained knee surrogate."""
