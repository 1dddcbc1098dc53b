"""Compiled equations of motion and their integration.

Functions take arrays, neither check nor raise; without numba they run slowly. Their arguments are
packed by the classes of `dynamics` that they belong to.
"""

from pathlib import Path

import surrogates.compiled
from foundation.compiling import drop_stale_cache

# They call the surrogates' kernels, and numba's cache does not see a change there either.
drop_stale_cache(Path(__file__).parent, Path(surrogates.compiled.__file__).parent)
