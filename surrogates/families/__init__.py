"""Families of regressors (Kriging, polynomials, networks, spline-polynomials), fits and checks."""

from surrogates.families.registry import FAMILIES, fit_family

__all__ = ["FAMILIES", "fit_family"]
