"""Finite-element contact: an elastic layer condensed to its bearing surface."""
