"""A run that continues with a changed configuration: what may change, and which samples stay.

Samples that were evaluated stay known (`pipeline.store.sample_store`). The stages are carried
out again from the first, as the stages of a new run; only samples without a known result are
evaluated. The reference path stays, so no change may move it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.store.documents import read_document
from pipeline.store.job import changes_in_words, made_from
from pipeline.store.run_documents import PathKnots
from pipeline.store.workspace_lock import RunError
from surrogates.sampling.designs import PREFIX_KINDS
from surrogates.sampling.space import ReferencePath

#: Sections and keys that decide on the loads of a sample, or on which samples are drawn.
_DECISIVE = (
    *("knee.", "contact.", "original.", "space."),
    *("run.seed", "design.kind", "design.load_spread"),
)
#: Largest difference of a knot of a path that was found again [rad, m]: rounding.
_SAME_PATH = 1e-12
_REMEDY = (
    "restore the configuration and the files of the run, choose another --out, or run without "
    "--resume and with --force, which deletes the samples"
)


def configuration_of(folder: Path) -> Config | None:
    """Return the configuration that a run was made with; None if the folder holds no run.

    Raises `RunError`, `ReportError` or `ConfigError` if the stored configuration is damaged.
    """
    file = folder / "config.toml"
    if not file.is_file():
        return None
    return checked_section(made_from(folder), Config, str(file))


def with_earlier_budgets(config: Config, folder: Path) -> Config:
    """Return a configuration that continues the budgets of the run in a folder.

    Budgets of the run that are smaller than the wanted budget become `design.earlier_budgets`,
    unless the configuration gives this key. Keys of [design] that the configuration leaves open
    are those of the run.
    """
    before, design = configuration_of(folder), config.design
    if before is None or design.earlier_budgets:
        return config
    # Keys that neither the file nor the command gives stay as the run had them: a larger budget
    # adds to the samples of the same design.
    left_open = design.model_dump().keys() - design.model_fields_set - {"earlier_budgets"}
    design = design.model_copy(update={key: getattr(before.design, key) for key in left_open})
    limit = design.budget or design.candidates
    spent = (*before.design.earlier_budgets, before.design.budget)
    earlier = tuple(budget for budget in spent if design.first <= budget < limit)
    continued = design.model_copy(update={"earlier_budgets": earlier})
    return config.model_copy(update={"design": continued})


def check_keys(folder: Path, before: Config, after: Config, changed: list[str]) -> None:
    """Raise a RunError if samples of a run are of no use with the dotted keys that changed."""
    decisive = list(_DECISIVE)
    if before.design.kind not in PREFIX_KINDS:
        decisive.append("design.candidates")  # more candidates are other candidates
    if useless := [key for key in changed if key.startswith(tuple(decisive))]:
        made, wanted = (config.model_dump(exclude_none=True) for config in (before, after))
        raise RunError(
            f"{folder}: the samples of the run cannot be used with the changed configuration: "
            f"{changes_in_words(made, wanted, useless)}; {_REMEDY}"
        )


def check_path(folder: Path, found: ReferencePath) -> None:
    """Raise a RunError if a reference path is not the path that the samples were drawn about."""
    stored = read_document(folder / "path.json", PathKnots).path
    knots = stored.poses(stored.flexion), found.poses(stored.flexion)
    if not np.allclose(*knots, rtol=0.0, atol=_SAME_PATH):
        away = np.abs(knots[1] - knots[0]).max(axis=0)
        raise RunError(
            f"{folder}: the samples of the run cannot be used, since the changed keys of "
            f"[simulation] move the reference path by up to {1e3 * away[3:].max():.3g} mm and "
            f"{np.degrees(away[:3].max()):.3g} degrees; {_REMEDY}"
        )
