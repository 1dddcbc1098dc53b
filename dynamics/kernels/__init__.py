"""Compiled equations of motion and their integration.

Functions take arrays without checks and do not raise errors; without numba they run slowly. The
classes of `dynamics` pack the arguments.
"""

from pathlib import Path

from foundation.base.compiling import drop_stale_cache

drop_stale_cache(Path(__file__).parent)
