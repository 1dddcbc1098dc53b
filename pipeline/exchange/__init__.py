"""A surrogate for other programs: motions in, loads and motions out, C source and FMUs."""
