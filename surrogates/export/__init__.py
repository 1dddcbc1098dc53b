"""Export of a trained surrogate for other programs: C source and FMUs."""
