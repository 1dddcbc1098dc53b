"""Files of trained surrogates."""
