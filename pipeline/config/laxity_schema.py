"""Section of laxity tests of a knee on its ligaments, and of the ligaments that reproduce them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema_base import Finite, NonNegative, Positive, Range, Section

#: Units of load and displacement of each direction, as they end the names of the keys.
UNITS = {"anterior": ("N", "mm"), "internal": ("Nm", "deg"), "varus": ("Nm", "deg")}
_Each = Finite | tuple[Finite, ...]


class LaxityTestConfig(Section):
    """A test: flexion is prescribed, the tibia loaded in one direction, all else free."""

    name: str = Field("", description="name on the page; by default direction and flexion")
    direction: Literal["anterior", "internal", "varus"] = Field(
        description="direction on the tibia in which loads and displacements are positive"
    )
    flexion_deg: _Each = Field(description="flexion, one for the test or one for each load")
    axial_force_N: NonNegative | tuple[NonNegative, ...] = Field(
        0.0, description="force that presses the femur onto the tibia, for the test or each load"
    )
    load_N: tuple[Finite, ...] = Field((), description="increasing loads of an anterior test")
    load_Nm: tuple[Finite, ...] = Field((), description="increasing loads of the other tests")
    measured_mm: tuple[Finite, ...] = Field(
        (), description="measured position of the tibia at each load of an anterior test, from any "
        "origin"
    )  # fmt: skip
    measured_deg: tuple[Finite, ...] = Field((), description="the same for the other tests")
    error_mm: Positive = Field(0.5, description="standard deviation of a measured displacement")
    error_deg: Positive = Field(1.0, description="the same for the other tests")
    held_out: bool = Field(False, description="whether the test is predicted, but not fitted")

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads [N or N m]."""
        return self.load_N or self.load_Nm

    @property
    def measured(self) -> tuple[float, ...]:
        """Measured positions [mm or deg], () if there are none."""
        return self.measured_mm or self.measured_deg

    @property
    def error(self) -> float:
        """Standard deviation of a measured displacement [mm or deg]."""
        return self.error_mm if self.direction == "anterior" else self.error_deg

    @property
    def title(self) -> str:
        """Name of the test."""
        flexion = self.flexion_deg if isinstance(self.flexion_deg, tuple) else (self.flexion_deg,)
        return self.name or f"{self.direction} {sum(flexion) / len(flexion):.0f}°"

    @model_validator(mode="after")
    def _units_fit(self) -> Self:
        load, place = UNITS[self.direction]
        other = {"N": "Nm", "Nm": "N"}[load], {"mm": "deg", "deg": "mm"}[place]
        for stem, unit in zip(("load", "measured"), other, strict=True):
            if getattr(self, f"{stem}_{unit}"):
                raise InputError(
                    f"{stem}_{unit}: expected {stem}_{load if stem == 'load' else place} with "
                    f'direction = "{self.direction}"; rename the key'
                )
        steps = zip(self.loads, self.loads[1:], strict=False)
        if len(self.loads) < 2 or any(b <= a for a, b in steps):
            raise InputError(
                f"load_{load}: expected two or more increasing loads, found {list(self.loads)}"
            )
        for key in ("flexion_deg", "axial_force_N", f"measured_{place}"):
            values = getattr(self, key)
            if isinstance(values, tuple) and values and len(values) != len(self.loads):
                raise InputError(
                    f"{key}: expected {len(self.loads)} numbers, one for each load, found "
                    f"{len(values)}"
                )
        return self


class SpreadsConfig(Section):
    """Standard deviations of the prior of a group of bundles, and where they come from."""

    rest_length_percent: NonNegative = Field(5.0, le=30.0, description="of the rest lengths")
    stiffness_percent: NonNegative = Field(30.0, le=200.0, description="of the stiffnesses")
    insertion_mm: NonNegative = Field(
        3.0, le=20.0, description="of both insertions along each axis of the bone"
    )
    reference_strain: Finite | None = Field(
        None,
        gt=-0.5,
        lt=0.5,
        description="mean strain of the bundles where the knee of the table rests in the test of "
        "least flexion, in place of the rest lengths of the table",
    )
    source: str = Field("", description="source of the numbers, which the page shows")


class LaxityConfig(Section):
    """Laxity tests of the knee of the configuration, which `run` carries out in place of a run.

    `simulation.ligaments` names the bundles. If tests have measured positions, the ligaments are
    calibrated: bundles of a group share a factor of the rest length, a factor of the stiffness, and
    displacements of their insertions.
    """

    run: str = Field(
        "",
        description="finished run whose surrogate stands for the contact model, relative to the "
        "working directory; by default the contact model itself",
    )
    menisci_N_per_mm: NonNegative = Field(
        0.0, description="AP restraint of the menisci, slack where the unloaded knee rests"
    )
    menisci_percent: NonNegative = Field(
        50.0, le=200.0, description="standard deviation of its prior"
    )
    model_error_mm: Positive = Field(
        2.0, description="scale of the half-normal prior of the model's own error, anterior tests"
    )
    model_error_deg: Positive = Field(4.0, description="the same for the other tests")
    model_error_length_deg: Positive = Field(
        30.0, description="flexion over which the model's own error changes"
    )
    prior: SpreadsConfig = Field(default_factory=SpreadsConfig)
    groups: dict[str, SpreadsConfig] = Field(
        default_factory=dict,
        description="[laxity.groups.NAME]: prior of the bundles whose names begin with NAME; "
        "[laxity.prior] for others, grouped by their names without the digits at the end",
    )
    draws: int = Field(
        60, ge=0, le=10000, description="draws of the posterior; 0 ends with the linear estimate"
    )
    seed: int = Field(0, ge=0, description="seed of the draws")
    splits_deg: tuple[Range, ...] = Field(
        (),
        description="ranges of flexion whose tests are held out in turn; the rest is fitted and "
        "predicts them",
    )
    test: tuple[LaxityTestConfig, ...] = Field(min_length=1, description="[[laxity.test]]: tests")

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [test.title for test in self.test]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"test: expected each name once, found {', '.join(twice)} again")
        if all(test.held_out for test in self.test if test.measured) and self.calibrated:
            raise InputError("test: expected a measured test that is not held out, found none")
        return self

    @property
    def calibrated(self) -> bool:
        """Whether ligaments are calibrated."""
        return any(test.measured for test in self.test)
