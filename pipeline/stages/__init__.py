"""Stages a to h of Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594).

The functions named here are the stages themselves. They are pure: tables and models in, tables and
models out. Order, files and progress are the runner's (`pipeline.runner`).
"""

from pipeline.errors import StageError
from pipeline.originals.candidates import (
    Evaluate,
    choose_samples,
    domain_candidates,
    evaluate_first,
    held_out_samples,
)
from pipeline.stages.fitting import (
    REFERENCE,
    TrainedKnee,
    compartment_samples,
    family_fitter,
    fit_surrogates,
    fitted_rows,
)
from pipeline.stages.screening import (
    DROPPED,
    ERROR_COLUMNS,
    EVALUATED,
    KEPT,
    Bound,
    bookkeeping,
    choose_kept,
    feasibility_bounds,
    infeasibility,
    predict_candidates,
    screen_candidates,
    training_samples,
)

__all__ = [
    "DROPPED",
    "ERROR_COLUMNS",
    "EVALUATED",
    "KEPT",
    "REFERENCE",
    "Bound",
    "Evaluate",
    "StageError",
    "TrainedKnee",
    "bookkeeping",
    "choose_kept",
    "choose_samples",
    "compartment_samples",
    "domain_candidates",
    "evaluate_first",
    "family_fitter",
    "feasibility_bounds",
    "fit_surrogates",
    "fitted_rows",
    "held_out_samples",
    "infeasibility",
    "predict_candidates",
    "screen_candidates",
    "training_samples",
]
