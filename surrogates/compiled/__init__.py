"""Compiled evaluation of regressors: one calling convention for every family.

Functions take `Regressor.arguments`, neither check, raise nor allocate, and can be called from a
user's own compiled code; the caller provides scratch memory. Without numba the functions run
slowly.
"""

from pathlib import Path

from foundation.base.compiling import drop_stale_cache

drop_stale_cache(Path(__file__).parent)

from surrogates.compiled.coordinates import condyle_point  # noqa: E402
from surrogates.compiled.curvature import evaluate_hessian, evaluate_hessians  # noqa: E402
from surrogates.compiled.evaluation import (  # noqa: E402
    evaluate,
    evaluate_all,
    evaluate_value,
    evaluate_values,
)
from surrogates.compiled.knee import (  # noqa: E402
    CompartmentArguments,
    has_wrench,
    knee_loads,
    knee_loads_of_all,
    knee_wrench,
)
from surrogates.compiled.layout import Arguments, new_work, workspace_size  # noqa: E402
from surrogates.compiled.line import (  # noqa: E402
    find_on_line,
    on_line,
    on_line_at,
    prepare_line,
    solve_line,
)
from surrogates.compiled.packing import pack, repack  # noqa: E402
from surrogates.compiled.posterior import (  # noqa: E402
    Posterior,
    pack_posterior,
    relative_variance,
    standard_error,
    standard_errors,
)

__all__ = [
    "Arguments",
    "CompartmentArguments",
    "Posterior",
    "condyle_point",
    "evaluate",
    "evaluate_all",
    "evaluate_hessian",
    "evaluate_hessians",
    "evaluate_value",
    "evaluate_values",
    "find_on_line",
    "has_wrench",
    "knee_loads",
    "knee_loads_of_all",
    "knee_wrench",
    "new_work",
    "on_line",
    "on_line_at",
    "pack",
    "pack_posterior",
    "prepare_line",
    "relative_variance",
    "repack",
    "solve_line",
    "standard_error",
    "standard_errors",
    "workspace_size",
]
