"""The schema of a configuration: every field with its default, unit and description.

Keys carry their unit. Unknown keys are errors; values are not converted.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.comparison_schema import CalibrationConfig, ComparisonConfig
from pipeline.config.contact_schema import THICKNESS_RANGE as THICKNESS_RANGE
from pipeline.config.contact_schema import ContactConfig as ContactConfig
from pipeline.config.contact_schema import LayerConfig as LayerConfig
from pipeline.config.design_space_schema import DesignSpaceConfig as DesignSpaceConfig
from pipeline.config.knee_schema import ImplantConfig as ImplantConfig
from pipeline.config.knee_schema import KneeConfig, OriginalConfig
from pipeline.config.knee_schema import MeshConfig as MeshConfig
from pipeline.config.laxity_schema import LaxityConfig
from pipeline.config.sampling_schema import DesignConfig as DesignConfig
from pipeline.config.sampling_schema import FeasibilityConfig as FeasibilityConfig
from pipeline.config.sampling_schema import MotionConfig as MotionConfig
from pipeline.config.sampling_schema import PathConfig as PathConfig
from pipeline.config.sampling_schema import SpaceConfig as SpaceConfig
from pipeline.config.schema_base import Section, name_field
from pipeline.config.schema_base import section_of as section_of
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.config.surrogate_schema import AUTO
from pipeline.config.surrogate_schema import KrigingConfig as KrigingConfig
from pipeline.config.surrogate_schema import NetworkConfig as NetworkConfig
from pipeline.config.surrogate_schema import PolynomialConfig as PolynomialConfig
from pipeline.config.surrogate_schema import SurrogateConfig as SurrogateConfig
from pipeline.config.surrogate_schema import ValidationConfig as ValidationConfig

#: Families of surrogates over designs.
OVER_DESIGNS = (AUTO, "network", "spline", "polynomial")


class ExecutionConfig(Section):
    """Where work is carried out in parallel."""

    workers: int = Field(
        0,
        ge=0,
        description="number of workers; 0 uses one per core. A scheduler has its own",
    )
    backend: Literal["threads", "dask"] = Field(
        "threads", description="threads of this process, or processes of Dask"
    )
    scheduler: str = Field(
        "",
        pattern=r"^([a-z]+://\S+:\d+)?$",
        description="address of a Dask scheduler, such as tcp://host:8786; without an address, "
        "backend dask starts a cluster on this machine",
    )

    @model_validator(mode="after")
    def _scheduler_is_of_dask(self) -> Self:
        if self.scheduler and self.backend != "dask":
            raise InputError(
                f'scheduler: expected backend = "dask" with an address, found "{self.backend}"'
            )
        return self


class RunConfig(ExecutionConfig):
    """Name of the run, and how the run is carried out."""

    name: str = name_field("implant", "run")
    seed: int = Field(1, ge=0, description="seed of the training design")
    chunk: int = Field(
        50, ge=1, description="least number of samples evaluated and stored at a time"
    )


class Config(Section):
    """A whole study."""

    run: RunConfig = Field(default_factory=RunConfig)
    original: OriginalConfig = Field(default_factory=OriginalConfig)
    knee: KneeConfig = Field(default_factory=KneeConfig)
    contact: ContactConfig = Field(default_factory=ContactConfig)
    space: SpaceConfig = Field(default_factory=SpaceConfig)
    design: DesignConfig = Field(default_factory=DesignConfig)
    feasibility: FeasibilityConfig = Field(default_factory=FeasibilityConfig)
    surrogate: SurrogateConfig = Field(default_factory=SurrogateConfig)
    validation: ValidationConfig = Field(default_factory=ValidationConfig)
    simulation: SimulationConfig = Field(default_factory=SimulationConfig)
    design_space: DesignSpaceConfig | None = Field(
        None, description="parameters of the knees that one surrogate answers for"
    )
    calibration: CalibrationConfig | None = Field(
        None, description="calibration of spring laws, which `run` carries out in place of a run"
    )
    comparison: ComparisonConfig | None = Field(
        None, description="comparison of contact models, which `run` carries out in place of a run"
    )
    laxity: LaxityConfig | None = Field(
        None, description="laxity tests and their ligaments, which `run` carries out likewise"
    )

    @model_validator(mode="after")
    def _knee_of_the_ligaments(self) -> Self:
        of_table = KneeConfig().model_copy(update={"side": self.original.side})
        self.simulation.state_knee(self.knee if self.original.kind == "model" else of_table)
        return self

    @model_validator(mode="after")
    def _thickness_known(self) -> Self:
        femoral = self.contact.femur_layer
        knee = self.knee
        closed = knee.tibia is not None and knee.tibia.surface == "bearing"
        no_solid = knee.source == "meshes" and knee.tibia_solid is None and not closed
        if self.contact.measured and no_solid:
            raise InputError(
                'contact.thickness_mm: "underside" needs the closed solid [knee.tibia_solid], a '
                'closed [knee.tibia] with surface = "bearing", or the built-in implant; give a '
                "thickness in mm or a thickness_file"
            )
        if self.contact.measured and knee.shape is not None:
            raise InputError(
                "contact.thickness_mm: expected a thickness in mm or a thickness_file with "
                '[knee.shape], found "underside"'
            )
        if femoral is not None and femoral.measured:
            raise InputError(
                'contact.femur_layer.thickness_mm: "underside" exists for the tibia only; give a '
                "thickness in mm or a thickness_file"
            )
        return self

    @model_validator(mode="after")
    def _designs_are_knees(self) -> Self:
        """Reject what a surrogate over designs does not have."""
        if self.design_space is None:
            return self
        message = ""
        if self.original.kind == "table":
            message = 'original.kind: expected "model", since designs need a contact model'
        elif self.knee.compartments != COMPARTMENTS or self.simulation.kind == "none":
            message = "simulation.kind: expected a gait cycle of a knee"
        elif self.surrogate.family not in OVER_DESIGNS:
            message = (
                f"surrogate.family: expected one of {', '.join(OVER_DESIGNS)}, found "
                f'"{self.surrogate.family}"'
            )
        elif self.surrogate.fields is not None:
            message = "surrogate.fields: remove this section"
        elif self.feasibility.bounds == "gait":
            message = 'feasibility.bounds: expected "keys", found "gait"'
        if message:
            raise InputError(f"{message}; [design_space] trains a surrogate over designs")
        return self

    @model_validator(mode="after")
    def _simulator_drives_a_knee(self) -> Self:
        """Reject what needs the knee simulator, where the simulator does not drive the pair."""
        message = ""
        if self.simulation.kind == "gait" and self.knee.compartments != COMPARTMENTS:
            message = (
                'simulation.kind: expected "none" with knee.compartments = '
                f'{list(self.knee.compartments)}, found "gait"; the knee simulator drives a medial '
                "and a lateral compartment"
            )
        elif self.simulation.kind == "none" and self.design.gait_samples:
            message = 'design.gait_samples: expected 0 with simulation.kind = "none"'
        elif self.feasibility.bounds == "gait" and (
            self.simulation.kind == "none" or self.original.kind == "table"
        ):
            message = (
                'feasibility.bounds: expected "keys" where no contact model simulates a gait cycle '
                '(original.kind = "table" or simulation.kind = "none"), found "gait"'
            )
        if message:
            raise InputError(message)
        return self

    @model_validator(mode="after")
    def _a_pair_suffices(self) -> Self:
        """Reject what only a knee with a medial and a lateral compartment has."""
        if self.knee.compartments == COMPARTMENTS:
            return self
        if self.space.path.kind != "table":
            raise InputError(
                'space.path.kind: expected "table" with these knee.compartments, since the knee '
                f'simulator settles other paths, found "{self.space.path.kind}"'
            )
        return self

    @model_validator(mode="after")
    def _a_table_suffices(self) -> Self:
        """Reject what a table cannot give."""
        if self.original.kind == "model":
            return self
        message = ""
        if (self.knee, self.contact) != (KneeConfig(), ContactConfig()):
            message = "knee and contact: remove these sections, which describe a contact model"
        elif self.design.gait_samples > 0:
            message = "design.gait_samples: expected 0, since new samples need a contact model"
        if message:
            raise InputError(f'{message}; original.kind is "table"')
        return self
