"""What a run needs of an original model, which the surrogate replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pandas as pd

from foundation.base.errors import InputError
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.store.run_documents import FromModel, FromTable
from pipeline.store.sample_store import Evaluation
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Takes a line on the progress of a preparation.
Progress = Callable[[str], None]


class OriginalModel(Protocol):
    """The model that a surrogate replaces: a contact model, or a table of poses and loads."""

    @property
    def model(self) -> SurfaceContact | None:
        """Contact model that gives loads at any pose; None if only stored rows are known."""

    @property
    def quick(self) -> SurfaceContact | None:
        """Contact model for what many evaluations at about the right height suffice for, if any."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the loads."""

    @property
    def not_given(self) -> tuple[str, ...]:
        """Columns of `foundation.base.loads.LOAD_COLUMNS` that the model does not give."""

    def prepare(self, progress: Progress) -> None:
        """Compute what every evaluation needs, unless it is stored; `progress` takes texts."""

    def reference_path(self, config: Config) -> ReferencePath:
        """Return the reference path over flexion of a study."""

    def candidates(self, space: SampleSpace, config: Config) -> pd.DataFrame:
        """Return the candidates of stage a, with `first` (bool) for those of stage b."""

    def held_out(
        self, space: SampleSpace, config: Config, candidates: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the held-out samples, none of which is a candidate."""

    def evaluation(self, follow: str = "load") -> Evaluation:
        """Return the evaluation of samples at their load, or at their pose if `follow` is so."""

    def describe(self, space: SampleSpace, surrogate: ContactSurrogate) -> FromModel | FromTable:
        """Return the entry `original` of `run.json`."""


def contact_model(original: OriginalModel, *, quick: bool = False) -> SurfaceContact:
    """Return the contact model of an original model, or its `quick` model."""
    model = original.quick if quick else original.model
    if model is None:
        raise InputError(
            "the command needs a contact model, but the run was made from a table of poses and "
            'loads; rerun with original.kind = "model"'
        )
    return model
