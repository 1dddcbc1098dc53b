"""Files of trained surrogates, of the current version and of earlier versions."""
