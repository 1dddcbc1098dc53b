"""Files of trained surrogates, of today's version and of earlier ones."""
