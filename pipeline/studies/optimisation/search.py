"""NSGA-II over the designs of a run (Deb et al. 2002, IEEE Trans Evol Comput 6:182-197), by pymoo.

The search is repeated from its beginning where it continues an interrupted one: designs whose
outcome is stored are not evaluated again, and the generations follow each other as before.
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.progress import bar
from pipeline.studies.optimisation.evaluated import EvaluatedDesigns
from pipeline.studies.optimisation.problem import DesignProblem


def require_pymoo() -> None:
    """Raise an InputError if pymoo, which the search needs, is not installed."""
    try:
        import pymoo  # noqa: F401
    except ImportError as error:
        raise InputError(
            "the search of designs needs the package pymoo; install it with "
            '`pip install "knee-contact[optimise]"`'
        ) from error


def search(problem: DesignProblem, evaluated: EvaluatedDesigns, first: FloatArray) -> None:
    """Carry out the search from a first generation (N, P) [any unit]; `evaluated` keeps designs."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.config import Config
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination
    from pymoo.problems.static import StaticProblem

    # Standard output has the answer of the command alone.
    Config.warnings["not_compiled"] = False
    settings, parameters = problem.settings, problem.parameters
    box = Problem(
        n_var=len(parameters),
        n_obj=len(settings.objective),
        n_ieq_constr=1 + len(settings.bounds),
        xl=parameters.low,
        xu=parameters.high,
    )
    algorithm = NSGA2(pop_size=len(first), sampling=first, seed=settings.seed)
    algorithm.setup(box, termination=NoTermination())
    with bar(settings.generations * len(first), "design", settings.name) as shown:
        for generation in range(settings.generations):
            asked = algorithm.ask()
            # No more than offspring that equal earlier designs: the ranges are searched.
            if asked is None or not len(asked):
                break
            table = evaluated.evaluate(asked.get("X"), generation, shown.update)
            # An objective of a design without a gait cycle does not count, but must be a number.
            values = np.nan_to_num(problem.objectives(table))
            static = StaticProblem(box, F=values, G=problem.violations(table))
            Evaluator().eval(static, asked)
            algorithm.tell(infills=asked)
