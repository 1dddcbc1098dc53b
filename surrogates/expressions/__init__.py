"""Loads of compartments as expressions of CasADi and functions of JAX."""
