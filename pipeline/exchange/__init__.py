"""Exchange with other programs: motions, loads, C source and FMUs."""
