"""Documents of laxity tests."""

from __future__ import annotations

from pipeline.store.run_documents import Computed


class TestedLaxity(Computed):
    """Displacement of the tibia from the first to the last load of a test, in `unit`."""

    name: str
    direction: str
    unit: str
    flexion_deg: float
    least_load: float
    largest_load: float
    #: With the ligaments of the table, and with the calibrated ones.
    given: float
    calibrated: float | None = None
    measured: float | None = None
    #: Limits of 90 % of the predicted measurements, and their distance from the measured one in
    #: standard deviations.
    low: float | None = None
    high: float | None = None
    z: float | None = None
    #: Slopes of load over displacement [N/mm or N m/deg]: between both ends, and at either end.
    secant: float
    tangent_first: float
    tangent_last: float


class Parameter(Computed):
    """A parameter of the ligaments, relative to the table, in its unit."""

    group: str
    name: str
    unit: str
    prior_sd: float
    value: float
    sd: float
    #: sd over prior_sd: 1 where the tests teach nothing.
    width: float
    source: str


class Information(Computed):
    """What a single test teaches: the parameters that it narrows most, in words."""

    test: str
    narrowed: str


class Pair(Computed):
    """Two parameters that the tests do not tell apart, and their correlation [1]."""

    first: str
    second: str
    correlation: float


class HeldOut(Computed):
    """A test that was held out with all tests of its range of flexion, in the unit of the test."""

    test: str
    split: str
    measured: float
    predicted: float
    sd: float
    z: float
    #: Measured laxity of the other tests, interpolated over flexion or the nearest, if any.
    trivial: float | None


class Calibrated(Computed):
    """The calibration of the ligaments."""

    misfit: float
    displacements: int
    evaluations: int
    model_errors: dict[str, float]
    parameters: list[Parameter]
    information: list[Information]
    pairs: list[Pair]
    held_out: list[HeldOut]
    draws: int
    failed_draws: int


class LaxityDocument(Computed):
    """`laxity.json`: laxities, stiffnesses and the calibrated ligaments."""

    name: str
    contact: str
    bundles: int
    tests: list[TestedLaxity]
    notes: list[str]
    calibration: Calibrated | None
    seconds: float
