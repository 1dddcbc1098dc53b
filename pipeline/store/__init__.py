"""Tables of samples: their columns and units, their files, and finished chunks of an evaluation."""
