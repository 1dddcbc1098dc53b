"""Families of regressors (Kriging, polynomials, Poly-Fourier, networks), fits and checks."""

from surrogates.families.registry import FAMILIES, fit_family

__all__ = ["FAMILIES", "fit_family"]
