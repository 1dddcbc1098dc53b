"""Schema of the verdict on a run: `report.json` stores it, uses of the run read it back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foundation.base.quantities import unit_token
from pipeline.store.run_documents import Optional, Part, StoredFinding

Level = Literal["trust", "care", "do not use"]
#: Levels of trust, the best first.
LEVELS: tuple[Level, ...] = ("trust", "care", "do not use")


class RuleFinding(Part):
    """Finding of a rule of the verdict: index of the level, figure [%], reason, kind of remedy.

    A rule judges a figure of a finished run by limits; a `foundation.base.findings.Finding` is
    about the inputs. `judges` is False where the rule has no figure.
    """

    level: Literal[0, 1, 2]
    figure_percent: Optional
    reason: str
    remedy: str
    judges: bool = True


class JudgedPart(Part):
    """Part of a verdict: level of the worst finding, figure [%], and reasons."""

    what: str
    level: Level
    figure_percent: Optional
    sign: str
    reasons: list[str]
    remedies: list[str]
    text: str
    findings: list[RuleFinding]


class NextStep(Part):
    """What to do next, and the command."""

    text: str
    command: str


class OwnError(Part):
    """Error of the surrogate in a quantity of the simulated cycle.

    `error_percent` is relative to the value; otherwise the key `error_<unit>` has the error in the
    unit of the quantity.
    """

    column: str
    quantity: str = ""
    unit: str
    error_percent: Optional = None

    @classmethod
    def absolute(cls, column: str, quantity: str, unit: str, error: float) -> OwnError:
        """Return an error in the unit of the quantity."""
        key = f"error_{unit_token(unit)}"
        return cls.model_validate(
            {"column": column, "quantity": quantity, "unit": unit, key: error}
        )

    def in_value(self, value: float) -> float | None:
        """Return the error in a value of the quantity [unit of the quantity]; None if unknown."""
        if self.error_percent is not None:
            return 0.01 * self.error_percent * abs(value)
        found: float | None = (self.model_extra or {}).get(f"error_{unit_token(self.unit)}")
        return found


class Verdict(Part):
    """Verdict of a run in `report.json`, with the limits of its rules."""

    level: Level
    parts: list[JudgedPart] = Field(min_length=1)
    line: str
    next: NextStep
    limits: dict[str, list[float]]
    least_triangles_across_ratio: float
    errors: list[OwnError] = Field(default_factory=list)


class Judgement(Part):
    """Verdict on a model of a run, for uses of the run.

    `run` is the run directory or the file of a surrogate; `errors` are those of the model by
    quantity, `warnings` those of the checks of the run.
    """

    run: str
    model: str
    level: Level
    parts: list[JudgedPart] = Field(min_length=1)
    line: str
    next: NextStep
    errors: list[OwnError]
    warnings: list[str]


class _Provenance(Part):
    """Provenance of a run: digests of original model and samples."""

    sha256: dict[str, str]


class JudgedReport(Part):
    """Keys of `report.json` for uses of the run."""

    verdict: Verdict | None = None
    remarks: list[StoredFinding] = Field(default_factory=list)
    provenance: _Provenance


class JudgedWalk(Part):
    """Keys of `walk.json` for uses of the walk."""

    verdict: Judgement | None = None
