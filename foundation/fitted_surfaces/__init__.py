"""Analytical contact laws on smooth surfaces fitted to the compartments of a knee."""
