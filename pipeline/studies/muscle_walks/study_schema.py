"""Schema of a study over a recorded walk: ligaments, muscles, cartilage, alignment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.schema_base import Section
from pipeline.studies.schema import DesignConfig, DistributionConfig


class WalkStudyConfig(DesignConfig):
    """Monte Carlo or sensitivity study over a walk of an OpenSim model, which is replayed."""

    walk: str = Field(
        "runs/comak_walking",
        description="folder of the walk with plant.npz; relative to the working directory",
    )
    unconverged: Literal["flag", "fail"] = Field(
        "flag", description="treatment of a run with frames that do not converge"
    )
    factor: tuple[DistributionConfig, ...] = Field(
        min_length=1,
        description="[[study.factor]]: the varied inputs; `knee-contact factors "
        "FOLDER` lists their names",
    )


class WalkStudyFile(Section):
    """Study over a recorded walk of an OpenSim model."""

    study: WalkStudyConfig
