"""Surrogates over pose and design: one file answers for every design of a design space."""
