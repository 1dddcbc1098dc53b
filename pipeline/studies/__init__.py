"""Monte Carlo and sensitivity studies of gait cycles, driven by a trained run."""
