"""Forward simulations of OpenSim models: passive flexion, laxity tests, isometric contractions."""
