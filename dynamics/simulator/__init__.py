"""The knee simulator: equations of motion, integration, waveforms, equilibrium, results."""
