"""Verdict of a report: how far the loads, the motion and the peak pressure can be trusted.

The rules compare a few figures of the run with fixed limits (`LIMITS`), and the worst figure
decides. The verdict names the reason and the command to run next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from foundation.base.wording import counted
from pipeline.advice import FOLDER
from pipeline.reports.mesh_resolution import Resolution
from pipeline.reports.units import ASCII, largest, number

#: Levels of trust, the best first.
LEVELS = ("trust", "care", "do not use")
#: Largest figures [%] that are trusted, and that are used with care. `gait`: RMS difference of the
#: surrogate from the original over the cycle, over the range, of axial forces, AP position and
#: rotation. `held_out`: worst load at held-out poses (NRMSE), where contact is so stiff that a
#: small error of the pose magnifies. `pressure`: the same as `gait` for the peak pressure, the
#: difference of the cycle's peaks, and the roughness of the pressure on the mesh. `spacing`: error
#: of the node spacing of finite elements, in the force at a given pose and in the peak pressure.
LIMITS = {
    "gait": (2.0, 10.0),
    "held_out": (10.0, 30.0),
    "pressure": (5.0, 20.0),
    "spacing": (3.0, 20.0),
}
#: Largest parts of the feasible held-out poses with a flag [%], judged without a simulation.
FLAGGED = (50.0, 95.0)
#: Columns of the comparison of both cycles that judge loads and motion.
JUDGED = ("medial_force_y_N", "lateral_force_y_N", "anterior_m", "rotation_rad")

#: Least node spacing of a configuration [mm].
_LEAST_SPACING_MM = 0.1
#: Keys by which a surrogate learns the ridges of a mesh: many samples of one evaluation, networks.
_MANY_SAMPLES = (
    *("design.candidates=80000", "design.first=1000", "design.budget=0"),
    *("design.infill=sequence", "design.follow=pose", "design.family=polynomial"),
    *("design.load_spread=2.5", "surrogate.family=network"),
)

Row = dict[str, Any]


class Finding(NamedTuple):
    """What a rule found: index of the level, figure [%], reason, and the kind of remedy.

    `judges` is False where the rule has no figure.
    """

    level: int
    figure: float | None
    reason: str
    remedy: str
    judges: bool = True

    def words(self, shown: float | None) -> str:
        """Return the reason, with its figure unless the part shows it already."""
        if not self.judges or (self.figure is not None and self.figure == shown):
            return self.reason
        figure = "unknown" if self.figure is None else f"{number(self.figure, 2)} %"
        return f"{self.reason}, {figure}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """Figures that the verdict is made of.

    Parameters
    ----------
    differences : mapping
        Column of the cycle -> RMS difference of surrogate and original over the range [%], None
        where the range is 0; empty without an original model to compare with.
    peak_difference_percent : float, optional
        Difference of the highest pressures of both cycles, of the worse compartment [%].
    held_out_percent : float, optional
        NRMSE of the worst load at held-out poses [%].
    resolution : mapping
        Resolution of the pressure by the mesh, by compartment.
    least_across : float
        Least triangles across a contact patch that suffice [1].
    flagged : int
        Flags of the surrogate in the cycle.
    failed, combinations : int
        Combinations of inputs in which a model failed, and all combinations.
    node_spacing : mapping, optional
        Content of the report on the node spacing of finite elements, None with springs.
    simulated : bool
        Whether a cycle was simulated.
    flagged_percent : float, optional
        Part of the feasible held-out poses with a flag, of the worse compartment [%].
    """

    differences: Mapping[str, float | None]
    peak_difference_percent: float | None
    held_out_percent: float | None
    resolution: Mapping[str, Resolution]
    least_across: float
    flagged: int = 0
    failed: int = 0
    combinations: int = 0
    node_spacing: Mapping[str, Any] | None = None
    simulated: bool = True
    flagged_percent: float | None = None


def verdict(evidence: Evidence, more_samples: str) -> Row:
    """Return the verdict: levels and reasons of its parts, a line of words, and what to do next.

    `more_samples` is the command that makes the run again with more samples.
    """
    parts = [part_of("loads and motion", list(_loads(evidence)), sign="")]
    if pressures := list(_pressure(evidence)):
        parts.append(part_of("peak pressure", pressures, sign="±"))
    return {
        **summed(parts),
        "next": _next(parts, more_samples, evidence),
        "limits": {f"{name}_percent": list(limits) for name, limits in LIMITS.items()},
        "least_triangles_across_ratio": evidence.least_across,
    }


def summed(parts: list[Row]) -> Row:
    """Return level and words of a verdict from its parts: the worst level, and a line."""
    worst = max(parts, key=lambda part: LEVELS.index(part["level"]))
    line = "; ".join(part["text"] for part in parts)
    return {"level": worst["level"], "parts": parts, "line": line}


def _judged(figure: float | None, rule: str, words: str, remedy: str) -> Finding:
    """Return the finding of a figure [%] by the limits of a rule; an unknown figure needs care."""
    level = 1 if figure is None else sum(figure > limit for limit in LIMITS[rule])
    return Finding(level, figure, words, remedy)


def _loads(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings on loads and motion; the first has the figure of the part."""
    compared = _known(evidence.differences[name] for name in JUDGED if name in evidence.differences)
    held_out = evidence.held_out_percent
    if compared:
        yield _judged(largest(compared), "gait", "off the contact model in gait", "samples")
        yield _judged(held_out, "held_out", "worst load at unseen poses off", "samples")
    elif not evidence.simulated:
        yield _judged(held_out, "held_out", "worst load at unseen poses off", "samples")
        yield from _flags(evidence.flagged_percent)
    else:
        words = "not compared in gait, worst load at unseen poses off"
        yield _judged(held_out, "gait", words, "rows")
    yield from _spacing(evidence, "force", "the node spacing limits the force at a given pose")
    if evidence.flagged:
        yield Finding(1, None, "the cycle leaves the trained domain", "domain", judges=False)
    if evidence.failed:
        failed = counted(evidence.failed, "combination")
        text = f"a model failed in {failed} of {evidence.combinations}"
        yield Finding(1, None, text, "domain", judges=False)


def _flags(percent: float | None) -> Iterator[Finding]:
    """Yield the finding on the poses with a flag, where no cycle tells of them."""
    if percent is not None and (level := sum(percent > limit for limit in FLAGGED)):
        words = f"{number(percent, 3)} % of the feasible poses have flags"
        yield Finding(level, None, words, "samples", judges=False)


def _pressure(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings on the peak pressure, those on the mesh first."""
    names = [n for n in evidence.differences if n.endswith("_peak_pressure_Pa")]
    if not names:
        return
    meshes = evidence.resolution
    if meshes:
        rough = max(meshes, key=lambda name: meshes[name].roughness_percent)
        words = f"ridges of the mesh: {rough} pressure jumps from triangle to triangle"
        yield _judged(meshes[rough].roughness_percent, "pressure", words, "ridges")
        coarse = min(meshes, key=lambda name: meshes[name].across)
        if meshes[coarse].across < evidence.least_across:
            text = (
                f"coarse mesh: {number(meshes[coarse].across, 2)} triangles across the {coarse} "
                f"contact, expected at least {evidence.least_across:g}"
            )
            yield Finding(1, None, text, "mesh", judges=False)
    yield from _spacing(evidence, "peak_pressure", "the node spacing limits the peak pressure")
    shares = _known(evidence.differences[name] for name in names)
    figure = largest([*shares, evidence.peak_difference_percent])
    yield _judged(figure, "pressure", "off the contact model in gait", "samples")


def _spacing(evidence: Evidence, load: str, words: str) -> Iterator[Finding]:
    """Yield the finding on the error of the node spacing in a load, if there are elements."""
    if evidence.node_spacing is not None:
        errors = evidence.node_spacing["errors"]
        figure = None if errors is None else errors[f"{load}_percent"]
        yield _judged(figure, "spacing", words, "spacing")


def _known(figures: Iterable[float | None]) -> list[float]:
    """Return the figures that are known: a coordinate that is held fixed has no range."""
    return [figure for figure in figures if figure is not None]


def part_of(what: str, findings: list[Finding], sign: str) -> Row:
    """Return a part of the verdict: level of the worst finding, largest figure, and reasons.

    The figure is that of the first rule, or for the peak pressure (with a sign) the largest.
    """
    level = max(finding.level for finding in findings)
    known = [f.figure for f in findings if f.figure is not None]
    figure = (max(known) if sign else findings[0].figure) if known else None
    wrong = [finding for finding in findings if level and finding.level == level]
    reasons = [finding.words(figure) for finding in wrong]
    text = f"{what}: {LEVELS[level]}" + ("" if figure is None else f", {sign}{number(figure, 2)} %")
    if level:
        text += f": {'; '.join(reasons)}"
    return {
        "what": what,
        "level": LEVELS[level],
        "figure_percent": figure,
        "sign": sign,
        "reasons": reasons,
        "remedies": list(dict.fromkeys(finding.remedy for finding in wrong)),
        "text": text,
        "findings": [
            {
                "level": finding.level,
                "figure_percent": finding.figure,
                "reason": finding.reason,
                "remedy": finding.remedy,
                "judges": finding.judges,
            }
            for finding in findings
        ],
    }


def _next(parts: list[Row], more_samples: str, evidence: Evidence) -> Row:
    """Return the next step in words and its command, of the first part that is not trusted."""
    nodes = evidence.node_spacing
    check = f"knee-contact check {FOLDER}/config.toml"
    many = " ".join(f"--set {pair}" for pair in _MANY_SAMPLES)
    steps = {
        "domain": ("see by how much gait leaves the domain, then widen it", f"{check} --deep"),
        "mesh": ("see the size of the triangles, then refine the tibial mesh", check),
        "ridges": (
            "smooth the tibial mesh, or learn its ridges from many samples (about 10 min)",
            f"knee-contact run {FOLDER}/config.toml --out {FOLDER}-ridges {many}",
        ),
        **({} if nodes is None else {"spacing": _finer(nodes["spacing_mm"])}),
        "samples": ("learn from more samples", more_samples),
        "rows": (
            "see what the surrogate misses, then add rows to the table there",
            f"knee-contact report {FOLDER}",
        ),
    }
    wrong = [part for part in parts if part["level"] != LEVELS[0]]
    if not wrong:
        if not evidence.simulated:
            command = f"knee-contact export {FOLDER}"
            return {"text": "use it: in Python, or exported to C", "command": command}
        command = f"knee-contact study montecarlo --set study.run={FOLDER}"
        return {"text": "use it: vary the gait, the alignment and the material", "command": command}
    remedies = wrong[0]["remedies"]
    text, command = steps[next(name for name in steps if name in remedies)]
    return {"text": text, "command": command}


def _finer(spacing_mm: float) -> tuple[str, str]:
    """Return the step to half the node spacing in words, and its command."""
    half = max(0.5 * spacing_mm, _LEAST_SPACING_MM)
    key = f"--set contact.finite_element.node_spacing_mm={half:g}"
    words = "bring the nodes closer together, which takes several times as long"
    return words, f"knee-contact run {FOLDER}/config.toml --out {FOLDER}-finer {key}"


def verdict_lines(found: Row) -> list[str]:
    """Return the lines for the terminal, in ASCII characters."""
    step = found["next"]
    return [f"verdict: {ascii_line(found)}", f"next: {step['text']}: {step['command']}"]


def ascii_line(found: Row) -> str:
    """Return the line of a verdict in ASCII characters."""
    return str(found["line"]).translate(ASCII)
