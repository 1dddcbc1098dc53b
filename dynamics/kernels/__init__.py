"""Compiled equations of motion and their integration.

Functions take arrays without checks and do not raise errors; without numba they run slowly. The
classes of `dynamics` pack the arguments.
"""

from pathlib import Path

import surrogates.compiled
from foundation.base.compiling import drop_stale_cache

# They call the surrogates' kernels, and numba's cache does not see a change there either.
drop_stale_cache(Path(__file__).parent, Path(surrogates.compiled.__file__).parent)
