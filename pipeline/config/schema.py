"""The schema of a configuration: every field with its default, unit and description.

Keys carry their unit. Unknown keys are errors; values are not converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.contact_schema import THICKNESS_RANGE as THICKNESS_RANGE
from pipeline.config.contact_schema import ContactConfig as ContactConfig
from pipeline.config.contact_schema import LayerConfig as LayerConfig
from pipeline.config.design_space_schema import DesignSpaceConfig as DesignSpaceConfig
from pipeline.config.knee_schema import ImplantConfig as ImplantConfig
from pipeline.config.knee_schema import KneeConfig, OriginalConfig
from pipeline.config.knee_schema import MeshConfig as MeshConfig
from pipeline.config.laxity_schema import LaxityConfig
from pipeline.config.schema_base import Section, name_field
from pipeline.config.schema_base import section_of as section_of
from pipeline.config.stage_schema import AUTO, SimulationConfig
from pipeline.config.stage_schema import DesignConfig as DesignConfig
from pipeline.config.stage_schema import FeasibilityConfig as FeasibilityConfig
from pipeline.config.stage_schema import KrigingConfig as KrigingConfig
from pipeline.config.stage_schema import MotionConfig as MotionConfig
from pipeline.config.stage_schema import NetworkConfig as NetworkConfig
from pipeline.config.stage_schema import PathConfig as PathConfig
from pipeline.config.stage_schema import PolynomialConfig as PolynomialConfig
from pipeline.config.stage_schema import SpaceConfig as SpaceConfig
from pipeline.config.stage_schema import SurrogateConfig as SurrogateConfig
from pipeline.config.stage_schema import ValidationConfig as ValidationConfig

#: Families of surrogates over designs.
OVER_DESIGNS = (AUTO, "network", "spline", "polynomial")


class ExecutionConfig(Section):
    """Work in parallel."""

    workers: int = Field(0, ge=0, description="number of threads; 0: one per core")
    scheduler: str = Field(
        "",
        pattern=r"^([a-z]+://\S+:\d+)?$",
        description="address of a Dask scheduler, tcp://host:8786, whose workers work instead",
    )


class RunConfig(ExecutionConfig):
    """Name of the run, and how the run is carried out."""

    name: str = name_field("implant", "run")
    seed: int = Field(1, ge=0, description="seed of the training design")
    chunk: int = Field(
        50, ge=1, description="least number of samples evaluated and stored at a time"
    )


class Config(Section):
    """Configuration of a run, and of studies that make the knee of a run."""

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
    laxity: LaxityConfig | None = Field(
        None, description="laxity tests and their ligaments, which `run` carries out"
    )

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        of_table = KneeConfig().model_copy(update={"side": self.original.side})
        self.simulation.state_knee(self.knee if self.original.kind == "model" else of_table)
        checks = self._of_thickness, self._of_designs, self._of_cycle, self._of_table
        if message := next(chain.from_iterable(check() for check in checks), ""):
            raise InputError(message)
        return self

    def _of_thickness(self) -> Iterator[str]:
        """Yield what is wrong with thicknesses that are to be measured."""
        knee, femoral = self.knee, self.contact.femur_layer
        closed = knee.tibia is not None and knee.tibia.surface == "bearing"
        if self.contact.measured and knee.source == "meshes" and not (knee.tibia_solid or closed):
            yield (
                'contact.thickness_mm: "underside" needs the closed solid [knee.tibia_solid], a '
                'closed [knee.tibia] with surface = "bearing", or the built-in implant; give a '
                "thickness in mm or a thickness_file"
            )
        if self.contact.measured and knee.shape is not None:
            yield (
                "contact.thickness_mm: expected a thickness in mm or a thickness_file with "
                '[knee.shape], found "underside"'
            )
        if femoral is not None and femoral.measured:
            yield (
                'contact.femur_layer.thickness_mm: "underside" exists for the tibia only; give a '
                "thickness in mm or a thickness_file"
            )

    def _of_designs(self) -> Iterator[str]:
        """Yield what a surrogate over designs does not have."""
        if self.design_space is None:
            return
        ending = "[design_space] trains a surrogate over designs"
        if self.original.kind == "table":
            yield f'original.kind: expected "model", since designs need a contact model; {ending}'
        if self.knee.compartments != COMPARTMENTS or self.simulation.kind == "none":
            yield f"simulation.kind: expected a gait cycle of a knee; {ending}"
        if self.surrogate.family not in OVER_DESIGNS:
            yield (
                f"surrogate.family: expected one of {', '.join(OVER_DESIGNS)}, found "
                f'"{self.surrogate.family}"; {ending}'
            )
        if self.surrogate.fields is not None:
            yield f"surrogate.fields: remove this section; {ending}"
        if self.feasibility.bounds == "gait":
            yield f'feasibility.bounds: expected "keys", found "gait"; {ending}'

    def _of_cycle(self) -> Iterator[str]:
        """Yield what needs the knee simulator, where the simulator does not drive the pair."""
        if self.simulation.kind == "gait" and self.knee.compartments != COMPARTMENTS:
            yield (
                'simulation.kind: expected "none" with knee.compartments = '
                f'{list(self.knee.compartments)}, found "gait"; the knee simulator drives a medial '
                "and a lateral compartment"
            )
        if self.simulation.kind == "none" and self.design.gait_samples:
            yield 'design.gait_samples: expected 0 with simulation.kind = "none"'
        if self.feasibility.bounds == "gait" and (
            self.simulation.kind == "none" or self.original.kind == "table"
        ):
            yield (
                'feasibility.bounds: expected "keys" where no contact model simulates a gait cycle '
                '(original.kind = "table" or simulation.kind = "none"), found "gait"'
            )
        if self.knee.compartments != COMPARTMENTS and self.space.path.kind != "table":
            yield (
                'space.path.kind: expected "table" with these knee.compartments, since the knee '
                f'simulator settles other paths, found "{self.space.path.kind}"'
            )

    def _of_table(self) -> Iterator[str]:
        """Yield what a table of poses and loads cannot give."""
        if self.original.kind == "model":
            return
        if (self.knee, self.contact) != (KneeConfig(), ContactConfig()):
            yield (
                "knee and contact: remove these sections, which describe a contact model; "
                'original.kind is "table"'
            )
        if self.design.gait_samples > 0:
            yield (
                "design.gait_samples: expected 0, since new samples need a contact model; "
                'original.kind is "table"'
            )


def require_knee(knee: KneeConfig, what: str) -> None:
    """Raise an `InputError` if `what` is asked of a pair with other compartments than a knee."""
    if knee.compartments != COMPARTMENTS:
        raise InputError(
            f"knee.compartments: {what} needs {' and '.join(COMPARTMENTS)}, found "
            f"{', '.join(knee.compartments)}; contact pairs of other compartments have surrogates, "
            "reports and exports only"
        )


def require_simulator(simulation: SimulationConfig, what: str) -> None:
    """Raise an `InputError` if `what` is asked of a configuration without a simulated cycle."""
    if simulation.kind == "none":
        raise InputError(
            f'simulation.kind: expected "gait" for {what}, found "none"; set simulation.kind = '
            '"gait", which needs the knee.compartments '
            f"{' and '.join(COMPARTMENTS)}, and run again"
        )
