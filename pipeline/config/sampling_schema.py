"""Sections of the samples: reference path, sample space, design, feasibility."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema_base import Finite, NonNegative, Positive, Range, Section

Design = Literal["lhs", "lhs_optimised", "sobol", "halton", "hammersley", "full_factorial"]
MOTION_COLUMNS = ("flexion_deg", "adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
PATH_COLUMNS = ("adduction_deg", "rotation_deg", "anterior_mm", "superior_mm", "lateral_mm")


class PathConfig(Section):
    """Reference path over flexion; the sampled offsets are relative to this path."""

    only_with = (("kind", "table", ("flexion_deg", *PATH_COLUMNS)),)
    kind: Literal["settled", "table"] = Field(
        "settled",
        description=(
            "whether the knee simulator finds the path by settling, or a table states the path"
        ),
    )
    step_deg: Positive = Field(10.0, description="flexion between two knots of a settled path")
    axial_force_N: Positive = Field(
        1000.0, description="axial force while the knee simulator settles"
    )
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
    part: float = Field(
        0.85,
        gt=0.0,
        le=1.0,
        description="part of the samples that lie near the motion; the others fill the box",
    )

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
    candidates: int = Field(
        4096,
        ge=20,
        description="m, number of candidates; a full factorial rounds the number up to a grid",
    )
    first: int = Field(400, ge=10, description="n, number of candidates evaluated in stage b")
    rounds: int = Field(3, ge=1, le=20, description="number of rounds")
    budget: int = Field(
        1000,
        ge=0,
        description=(
            "largest number of evaluated samples; 0 evaluates all candidates that stage e keeps"
        ),
    )
    earlier_budgets: tuple[int, ...] = Field(
        (),
        description="increasing budgets that were spent before `budget`, each in separate rounds; "
        "`run --resume` with a larger budget writes this key",
    )
    infill: Literal["sequence", "error"] = Field(
        "error",
        description="kept candidates that a round adds: the next candidates of the design, or the "
        "candidates with the largest predicted error of the load (Kriging)",
    )
    wanted_error_percent: NonNegative = Field(
        0.0,
        description="stop when the leave-one-out error of the axial load at a given pose (RMS over "
        "the largest load) falls below this value; 0 never stops",
    )
    family: Literal["kriging", "polynomial"] = Field(
        "kriging", description="family of the surrogates of stage c"
    )
    gait_samples: int = Field(
        0,
        ge=0,
        description="additional samples along gait cycles with varied inputs, simulated with the "
        "surrogates of the last round",
    )
    domain_samples: int = Field(
        1000,
        ge=0,
        description="samples of the whole box that no surrogate is fitted to; these samples locate "
        "where the surrogate can be trusted. With 0, only the bounds of [feasibility] are used",
    )
    load_spread: Positive = Field(
        1.0,
        description="degree of the root of the load that is sampled evenly: 1 is the load, 2 is "
        "its square root; a larger degree gives more samples at low loads",
    )
    follow: Literal["load", "pose"] = Field(
        "load",
        description="stage f finds the height that carries the drawn load, or evaluates the "
        "predicted height once and uses the load found there",
    )

    @model_validator(mode="after")
    def _first_below(self) -> Self:
        if self.first >= self.candidates:
            raise InputError(
                f"first: expected fewer than candidates ({self.candidates}), found {self.first}"
            )
        if 0 < self.budget < self.first:
            raise InputError(f"budget: expected at least first ({self.first}), found {self.budget}")
        budgets = (*self.earlier_budgets, self.budget or self.candidates)
        if any(b <= a for a, b in pairwise(budgets)):
            raise InputError(
                f"earlier_budgets: expected increasing numbers below budget ({self.budget}), "
                f"found {list(self.earlier_budgets)}"
            )
        if self.earlier_budgets and self.earlier_budgets[0] < self.first:
            raise InputError(
                f"earlier_budgets: expected at least first ({self.first}), found "
                f"{self.earlier_budgets[0]}"
            )
        if self.infill == "error" and self.family != "kriging":
            raise InputError('infill = "error" needs family = "kriging"')
        return self


class FeasibilityConfig(Section):
    """Stage e: bounds of the loads that gait can produce, applied to predicted loads.

    The keys, or the gait cycle of the original model, give the bounds of the ratios and of the peak
    pressure (`bounds`; Lin et al. 2010).
    """

    bounds: Literal["keys", "gait"] = Field(
        "keys",
        description="source of ap_ratio, ml_ratio and peak_pressure_MPa: these keys, or the gait "
        "cycle of [simulation], simulated with the original model (with springs in place of "
        "finite elements) before any sample is drawn",
    )
    gait_factor: float = Field(
        2.0,
        ge=1.0,
        description='factor on the largest values of the gait cycle, with bounds = "gait"',
    )
    ap_ratio: Positive = Field(0.3, description="largest magnitude of AP force over axial load")
    ml_ratio: Positive = Field(0.15, description="largest magnitude of ML force over axial load")
    peak_pressure_MPa: Positive = Field(60.0, le=1000.0, description="largest peak pressure")
    load_N: Range = Field((0.0, 1e9), description="axial load of one compartment")
    margin: NonNegative = Field(
        0.1,
        description=(
            "relative tolerance of every bound, so that the surrogate also learns beyond the bounds"
        ),
    )
    doubt: NonNegative = Field(
        2.0,
        description="a candidate is dropped if the prediction exceeds a bound (plus margin) by "
        "this number of standard errors",
    )
    outside_weight: float = Field(
        0.0,
        ge=0.0,
        lt=1.0,
        description="weight of evaluated samples outside the bounds in the fit of a network or a "
        "spline-polynomial; 0 omits these samples, as all other families do",
    )
