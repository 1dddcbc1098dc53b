"""Stages a to h of Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594).

The functions named here are the stages themselves. They are pure: tables and models in, tables and
models out. Order, files and progress are the runner's (`pipeline.runner`).
"""

from pipeline.errors import StageError as StageError
from pipeline.originals.candidates import choose_samples as choose_samples
from pipeline.originals.candidates import domain_candidates as domain_candidates
from pipeline.originals.candidates import evaluate_first as evaluate_first
from pipeline.originals.candidates import held_out_samples as held_out_samples
from pipeline.stages.feasibility import infeasibility as infeasibility
from pipeline.stages.fitting import Candidates as Candidates
from pipeline.stages.fitting import TrainedKnee as TrainedKnee
from pipeline.stages.fitting import compartment_samples as compartment_samples
from pipeline.stages.fitting import fit_surrogates as fit_surrogates
from pipeline.stages.fitting import fitted_rows as fitted_rows
from pipeline.stages.screening import ERROR_COLUMNS as ERROR_COLUMNS
from pipeline.stages.screening import EVALUATED as EVALUATED
from pipeline.stages.screening import KEPT as KEPT
from pipeline.stages.screening import bookkeeping as bookkeeping
from pipeline.stages.screening import choose_kept as choose_kept
from pipeline.stages.screening import predict_candidates as predict_candidates
from pipeline.stages.screening import screen_candidates as screen_candidates
from pipeline.stages.screening import training_samples as training_samples
