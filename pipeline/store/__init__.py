"""Tables of samples: their columns and units, their files, and known results of evaluations."""
