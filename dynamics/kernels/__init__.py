"""Compiled equations of motion and their integration.

Functions take arrays without checks and do not raise errors; without numba they run slowly. The
classes of `dynamics` pack the arguments.
"""

from pathlib import Path

import surrogates.compiled
from foundation.kernel_cache import drop_stale

# The kernels call those of the surrogates, and numba's cache does not detect changes there.
drop_stale(Path(__file__).parent, Path(surrogates.compiled.__file__).parent)
