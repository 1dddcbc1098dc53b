"""The original models; folders export their names, so that surrogates need no contact model."""
