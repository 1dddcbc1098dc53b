"""Sections of the stages: reference path, samples, bounds, surrogate, validation, gait cycle."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from dynamics.ligaments.bundle_tables import SHIPPED_LIGAMENTS
from dynamics.simulator.waveform_tables import ACTIVITIES, LEVEL_WALKING
from foundation.base.errors import InputError
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.schema_base import (
    Finite,
    NonNegative,
    Positive,
    Range,
    Section,
    ascending,
    file_unless,
)
from surrogates.families.registry import FAMILIES
from surrogates.formulations.training_data import FORMULATIONS

Design = Literal["lhs", "sobol", "halton", "hammersley"]
MOTION_COLUMNS = ("flexion_deg", "adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
PATH_COLUMNS = ("adduction_deg", "rotation_deg", "anterior_mm", "superior_mm", "lateral_mm")


class PathConfig(Section):
    """Reference path over flexion; the sampled offsets are relative to this path."""

    only_with = (("kind", "table", ("flexion_deg", *PATH_COLUMNS)),)
    kind: Literal["settled", "table"] = Field(
        "settled", description="settled by the knee simulator, or stated by a table"
    )
    step_deg: Positive = Field(10.0, description="flexion between two knots of a settled path")
    axial_force_N: Positive = Field(1000.0, description="axial force while the knee settles")
    flexion_deg: tuple[Finite, ...] = Field((), description="knots of the table")
    adduction_deg: tuple[Finite, ...] = Field((), description="adduction at the knots")
    rotation_deg: tuple[Finite, ...] = Field((), description="rotation at the knots")
    anterior_mm: tuple[Finite, ...] = Field((), description="anterior position at the knots")
    superior_mm: tuple[Finite, ...] = Field((), description="superior position at the knots")
    lateral_mm: tuple[Finite, ...] = Field((), description="lateral position at the knots")

    @model_validator(mode="after")
    def _table_complete(self) -> Self:
        if self.kind == "table":
            for name in PATH_COLUMNS:
                if len(getattr(self, name)) != len(self.flexion_deg):
                    raise InputError(
                        f"{name}: expected one value per flexion_deg ({len(self.flexion_deg)}), "
                        f"found {len(getattr(self, name))}"
                    )
            knots = self.flexion_deg
            if not knots or any(b <= a for a, b in pairwise(knots)):
                raise InputError(
                    f"flexion_deg: expected increasing knots for a table, found {list(knots)}"
                )
        return self


class MotionConfig(Section):
    """Motion that most samples lie near: poses in the order of time, inside the box of [space].

    Samples are drawn evenly along the straight lines between consecutive poses, and about these
    lines by a triangular distribution of each coordinate, up to a margin.
    """

    flexion_deg: tuple[Finite, ...] = Field(description="flexion of each pose")
    adduction_deg: tuple[Finite, ...] = Field(description="adduction of each pose")
    rotation_deg: tuple[Finite, ...] = Field(description="rotation of each pose")
    anterior_mm: tuple[Finite, ...] = Field(description="anterior position of each pose")
    lateral_mm: tuple[Finite, ...] = Field(description="lateral position of each pose")
    margin_deg: Positive = Field(2.0, description="half width of the margin of the three angles")
    margin_mm: Positive = Field(2.0, description="half width of the margin of the two lengths")
    part: float = Field(0.85, gt=0.0, le=1.0, description="part of the samples near the motion")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        count = len(self.flexion_deg)
        if count < 2:
            raise InputError(f"flexion_deg: expected two or more poses of a motion, found {count}")
        for name in MOTION_COLUMNS[1:]:
            if len(getattr(self, name)) != count:
                raise InputError(
                    f"{name}: expected one value per flexion_deg ({count}), found "
                    f"{len(getattr(self, name))}"
                )
        return self


class SpaceConfig(Section):
    """Sample space: a box about the reference path."""

    flexion_deg: Range = Field((-3.0, 63.0), description="range of flexion")
    adduction_deg: Positive = Field(0.7, description="half width about the path")
    rotation_deg: Positive = Field(8.0, description="half width about the path")
    anterior_mm: Positive = Field(5.0, description="half width about the path")
    lateral_mm: Positive = Field(0.6, description="half width about the path")
    load_N: Range = Field((2.0, 3000.0), description="axial load of one compartment")
    path: PathConfig = Field(default_factory=PathConfig)
    motion: MotionConfig | None = Field(None, description="motion that most samples lie near")

    @model_validator(mode="after")
    def _load_positive(self) -> Self:
        if self.load_N[0] <= 0.0:
            raise InputError(f"load_N: expected 0 < low < high, found {list(self.load_N)}")
        return self


class DesignConfig(Section):
    """Stages a to f: candidates, first samples, and rounds of screening and sampling.

    All numbers are per compartment. Each round repeats the stages c to f and fits the surrogates
    to all samples so far. For springs and the families auto, spline and network, keys left open are
    those of many samples, unless the budget is below 4000: 20480 candidates, a budget of 12000, one
    round, infill "sequence", follow "pose".
    """

    kind: Design = Field("sobol", description="design of experiments")
    candidates: int = Field(4096, ge=20, description="m, number of candidates; of a grid, at least")
    first: int = Field(400, ge=10, description="n, number of candidates evaluated in stage b")
    rounds: int = Field(3, ge=1, le=20, description="number of rounds")
    budget: int = Field(1000, ge=0, description="largest number of evaluated samples; 0: all kept")
    infill: Literal["sequence", "error"] = Field(
        "error",
        description="kept candidates that a round adds: next, or of largest predicted error",
    )
    wanted_error_percent: NonNegative = Field(
        0.0, description="leave-one-out error of the axial load that ends the rounds; 0: none"
    )
    family: Literal["kriging", "polynomial"] = Field("kriging", description="family of stage c")
    gait_samples: int = Field(0, ge=0, description="further samples along varied gait cycles")
    domain_samples: int = Field(
        1000, ge=0, description="samples that no fit learns: where the surrogate can be trusted"
    )
    load_spread: Positive = Field(
        1.0, description="degree of the root of the load that is sampled evenly; 2: square root"
    )
    follow: Literal["load", "pose"] = Field(
        "load", description="stage f finds the height of the load, or evaluates the predicted one"
    )

    @model_validator(mode="after")
    def _first_below(self) -> Self:
        if self.first >= self.candidates:
            raise InputError(
                f"first: expected fewer than candidates ({self.candidates}), found {self.first}"
            )
        if 0 < self.budget < self.first:
            raise InputError(f"budget: expected at least first ({self.first}), found {self.budget}")
        if self.infill == "error" and self.family != "kriging":
            raise InputError('infill = "error" needs family = "kriging"')
        return self


class FeasibilityConfig(Section):
    """Stage e: bounds of the loads that gait can produce, applied to predicted loads.

    The keys, or the gait cycle of the original model, give the bounds of the ratios and of the peak
    pressure (`bounds`; Lin et al. 2010).
    """

    bounds: Literal["keys", "gait"] = Field(
        "keys", description="whether these keys or the gait cycle of the original give the bounds"
    )
    gait_factor: float = Field(2.0, ge=1.0, description='factor on the loads of bounds = "gait"')
    ap_ratio: Positive = Field(0.3, description="largest magnitude of AP force over axial load")
    ml_ratio: Positive = Field(0.15, description="largest magnitude of ML force over axial load")
    peak_pressure_MPa: Positive = Field(60.0, le=1000.0, description="largest peak pressure")
    load_N: Range = Field((0.0, 1e9), description="axial load of one compartment")
    margin: NonNegative = Field(0.1, description="relative tolerance of every bound, for the fits")
    doubt: NonNegative = Field(
        2.0, description="standard errors beyond a bound that drop a candidate"
    )
    outside_weight: float = Field(
        0.0, ge=0.0, lt=1.0, description="weight of samples outside the bounds in joint fits"
    )


#: Family that stands for the cheapest one of the wanted error.
AUTO = "auto"

if TYPE_CHECKING:
    Family = str
    FixedFamily = str
    Formulation = str
else:
    Family = Literal[(AUTO, *FAMILIES)]
    FixedFamily = Literal[tuple(FAMILIES)]
    Formulation = Literal[tuple(FORMULATIONS)]


class KrigingConfig(Section):
    """Kriging."""

    correlation: Literal["auto", "mixed", "squared_exponential", "matern52"] = Field(
        "auto", description="correlation; mixed is Matérn 5/2 in one direction; auto the likeliest"
    )
    trend: Literal["auto", "constant", "linear", "quadratic"] = Field(
        "auto", description="trend; auto is quadratic if there are enough samples, else linear"
    )
    starts: int = Field(1, ge=1, description="number of starts of the likelihood search")
    nugget: Annotated[tuple[Positive, Positive], AfterValidator(ascending)] = Field(
        (1e-8, 1e-3), description="bounds of the estimated nugget, relative to the process variance"
    )


class PolynomialConfig(Section):
    """Polynomial response surface, or Poly-Fourier series: polynomials times a wave in flexion."""

    basis: Literal["anisotropic", "total_degree"] = Field(
        "anisotropic", description="terms by marginal likelihood, or all up to a total degree"
    )
    terms: int = Field(462, ge=7, le=3003, description="most terms of the anisotropic basis")
    degree: tuple[Annotated[int, Field(ge=1, le=8)], ...] = Field(
        (3, 4, 5), description="total degrees; the leave-one-out error selects one degree"
    )
    ridge: tuple[NonNegative, ...] = Field(
        (1e-8, 1e-6, 1e-4), description="ridge penalties, of which the error selects one"
    )


class NetworkConfig(Section):
    """Two-layer tanh networks beside a spline-polynomial, for tens of thousands of samples."""

    hidden: int = Field(64, ge=4, le=512, description="units of each layer")
    networks: int = Field(4, ge=1, le=8, description="number of networks, for auto the largest")
    steps: int = Field(12_000, ge=100, description="steps of the training of all networks together")
    passes: int = Field(250, ge=1, description="most passes of the training through the samples")


class SplineConfig(Section):
    """Cubic splines of the sheared flexion times polynomials of the other inputs."""

    terms: int = Field(80, ge=1, le=1000, description="most products; auto selects")
    degree: int = Field(5, ge=1, le=8, description="highest total degree of the products")
    pieces: int = Field(16, ge=1, le=256, description="largest number of pieces of the splines")


class FieldsConfig(Section):
    """Pressure fields of the surrogate on the tibial mesh, fitted to the fields of samples."""

    samples: int = Field(1000, ge=50, description="most samples of a compartment")
    spacing_mm: Positive = Field(0.6, description="spacing of the grid on each condyle")


class SurrogateConfig(Section):
    """Stages c and g: what is learnt, and by which family."""

    formulation: Formulation = Field("inverted", description="what is learnt")
    family: Family = Field(
        "auto",
        description="family of regressors; auto selects the cheapest spline-polynomial whose "
        "out-of-sample errors reach wanted_error_percent. Up to 2000 samples are first fitted by "
        "Kriging, of which the spline-polynomial is a compressed form with at most 1.3 times the "
        "error; without a cheaper form, Kriging stays. Of more samples, networks beside a "
        "spline-polynomial are tried too, one at first, if no spline-polynomial reaches the wanted "
        "error",
    )
    wanted_error_percent: Positive = Field(
        0.3, description="error that auto reaches, RMS over peaks"
    )
    load_degree: float = Field(
        2.0, ge=1.0, le=4.0, description="p; the load grows with this power of the indentation"
    )
    quantities_influence: Positive = Field(
        1.0, description="influence of area, pressures and their centre on the fit of a network"
    )
    compare: tuple[tuple[Formulation, FixedFamily], ...] = Field(
        (("inverted", "polynomial"), ("inverted", "poly_fourier")),
        description="other formulations and families that are fitted to the same samples and "
        "reported for comparison",
    )
    kriging: KrigingConfig = Field(default_factory=KrigingConfig)
    polynomial: PolynomialConfig = Field(default_factory=PolynomialConfig)
    network: NetworkConfig = Field(default_factory=NetworkConfig)
    spline: SplineConfig = Field(default_factory=SplineConfig)
    fields: FieldsConfig | None = Field(
        None, description="pressure fields on the tibial mesh; none without this section"
    )

    @model_validator(mode="after")
    def _formulation_of_auto(self) -> Self:
        if self.family == AUTO and self.formulation != "inverted":
            raise InputError(
                f'formulation: expected "inverted" with the family "auto", found '
                f'"{self.formulation}"; set a family, for example family = "kriging"'
            )
        return self


class ValidationConfig(Section):
    """Held-out validation."""

    points: int = Field(300, ge=20, description="number of held-out poses per compartment")
    kind: Design = Field("lhs", description="design of the held-out set")
    load_spread: Positive = Field(1.0, description="spread of the held-out loads, as in [design]")
    seed: int = Field(20_240_001, ge=0, description="seed of the held-out set")


class SimulationConfig(Section):
    """Stage h: knee simulator, driven by the loads or the motions of the waveforms."""

    only_with = (
        ("wear_law", "factor", ("wear_factor_mm3_per_Nm", "wear_factor_cross_shear_mm3_per_Nm")),
        ("wear_law", "coefficient", ("wear_coefficient", "wear_coefficient_cross_shear")),
    )
    waveforms: Annotated[str, file_unless(*ACTIVITIES)] = Field(
        LEVEL_WALKING.stem,
        description='table of the inputs: the shipped "level_walking", "stair_ascent", '
        '"stair_descent", "squat" or "deep_flexion", or a CSV file, relative to the config; '
        "ap_force_N or anterior_mm drives the AP direction, internal_torque_Nm or rotation_deg "
        "drives the rotation",
    )
    period_s: Positive = Field(1.0, description="duration of one cycle")
    cycles: int = Field(1, ge=1, description="cycles simulated; the last one is reported")
    samples: int = Field(201, ge=11, description="instants reported over the cycle")
    axial_scale: Positive = Field(1.0, description="factor on the axial force")
    medial_offset_mm: Finite = Field(5.0, description="axial line of action, medial of the origin")
    anterior_offset_mm: Finite = Field(0.0, description="axial line of action, anterior")
    ap_stiffness_N_per_mm: NonNegative = Field(30.0, description="AP restraint")
    ap_gap_mm: NonNegative = Field(0.0, description="AP travel before the restraint acts")
    rotation_stiffness_Nm_per_deg: NonNegative = Field(0.6, description="rotational restraint")
    rotation_gap_deg: NonNegative = Field(0.0, description="turn before the restraint acts")
    lateral_stiffness_N_per_mm: NonNegative = Field(0.0, description="ML restraint")
    adduction_stiffness_Nm_per_deg: NonNegative = Field(0.0, description="coronal restraint")
    restraint_about: Literal["pose", "path"] = Field(
        "pose",
        description="where springs are slack: one pose (implants) or the path (natural knees)",
    )
    neutral_anterior_mm: Finite | None = Field(
        None, description="AP position of the slack spring; by default where the femur rests"
    )
    neutral_lateral_mm: Finite = Field(0.0, description="ML position of the slack spring")
    ligaments: Annotated[str, file_unless(SHIPPED_LIGAMENTS)] | None = Field(
        None,
        description='bundles between femur and tibia: the shipped "lenhart2015", or a CSV file or '
        "OpenSim model, relative to the config, with attachments along the axes of the mesh files "
        "(docs/formats.md)",
    )
    mass_kg: tuple[Positive, Positive, Positive] = Field(
        (3.0, 3.0, 3.0), description="moving masses in the AP, axial and ML directions"
    )
    inertia_kg_m2: tuple[Positive, Positive] = Field(
        (0.03, 0.01), description="moving inertias in adduction and rotation"
    )
    damping_N_s_per_m: tuple[NonNegative, NonNegative, NonNegative] = Field(
        (200.0, 200.0, 200.0), description="viscous damping in the AP, axial and ML directions"
    )
    damping_Nm_s_per_rad: tuple[NonNegative, NonNegative] = Field(
        (2.0, 0.2), description="viscous damping in adduction and rotation"
    )
    relative_tolerance: Positive = Field(1e-3, description="relative tolerance of the integrator")
    wear_law: Literal["factor", "coefficient"] = Field(
        "factor", description="wear over force and sliding distance, or over area and distance"
    )
    wear_factor_mm3_per_Nm: NonNegative = Field(
        1e-7, description="Archard's wear volume per force and sliding distance"
    )
    wear_factor_cross_shear_mm3_per_Nm: NonNegative = Field(
        0.0, description="what a cross-shear of 1 adds to the wear factor"
    )
    wear_coefficient: NonNegative = Field(
        0.0, description="wear volume per contact area and sliding distance"
    )
    wear_coefficient_cross_shear: NonNegative = Field(
        0.0, description="what a cross-shear of 1 adds to the wear coefficient"
    )
    creep_per_MPa: NonNegative = Field(
        0.0, description="strain of the layer over the mean pressure of the cycle after a minute"
    )
    creep_per_MPa_decade: NonNegative = Field(
        0.0, description="strain over pressure that each decade of time adds"
    )
    density_g_per_cm3: Positive = Field(0.94, description="density of the worn material")
    combinations: bool = Field(
        True, description="whether to compare both models for eleven combinations of the inputs"
    )
    kind: Literal["gait", "none"] = Field(
        "gait",
        description='a gait cycle of the knee; "none" is for a contact pair that the knee '
        "simulator does not drive, and ends the run with the validation of the surrogate",
    )
    _knee: KneeConfig = PrivateAttr(default_factory=KneeConfig)

    @property
    def knee(self) -> KneeConfig:
        """The knee whose mesh files have the frames of the ligaments, stated by `Config`."""
        return self._knee

    def state_knee(self, knee: KneeConfig) -> Self:
        """State the knee of the ligaments; return the section itself."""
        self._knee = knee
        return self
