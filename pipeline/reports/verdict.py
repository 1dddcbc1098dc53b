"""Verdict of a report: how far surrogate and contact model can be trusted.

Two marks are about the surrogate against the contact model, loads with motion and peak pressure;
the third is about the contact model against the elastic layer. The rules compare a few figures of
the run with fixed limits (`LIMITS`), and the worst figure decides. The verdict names the reason and
the command to run next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from foundation.base.wording import counted
from pipeline.advice import FOLDER, command_line
from pipeline.reports.model_section import doubted, is_layer
from pipeline.reports.units import ASCII, largest, number
from pipeline.store.run_documents import (
    LEVELS,
    JudgedPart,
    Judgement,
    Level,
    NextStep,
    Resolution,
    RuleFinding,
    Verdict,
)

#: Largest figures [%] that are trusted, and that are used with care. `gait`: RMS difference of the
#: surrogate from the original over the cycle, over the range, of axial forces, AP position and
#: rotation. `held_out`: worst load at held-out poses (NRMSE), where contact is so stiff that a
#: small error of the pose magnifies. `pressure`: the same as `gait` for the peak pressure, the
#: difference of the cycle's peaks, and the roughness of the pressure on the mesh. `spacing`: error
#: of the node spacing, in the force at a given pose and in the peak pressure. `layer`: peak
#: pressure of the contact model less that of the elastic layer at equal load, of either sign.
LIMITS = {
    "gait": (2.0, 10.0),
    "held_out": (10.0, 30.0),
    "pressure": (5.0, 20.0),
    "spacing": (3.0, 20.0),
    "layer": (10.0, 60.0),
}
#: Uncertainty of the peak pressure of the elastic layer itself [%] beyond which no figure is given:
#: ridges of a rough mesh.
MOST_UNCERTAIN = 20.0
#: Names of the marks.
LOADS, PRESSURE, MODEL = "loads and motion", "peak pressure", "contact model"
#: Largest parts of the feasible held-out poses with a flag [%], judged without a simulation.
FLAGGED = (50.0, 95.0)
#: Columns of the comparison of both cycles that judge loads and motion.
JUDGED = ("medial_force_y_N", "lateral_force_y_N", "anterior_m", "rotation_rad")

#: Figure below which the text of a part says 0 [%].
_LEAST = 5e-3
#: Least node spacing of a configuration [mm].
_LEAST_SPACING_MM = 0.1
#: Keys by which a surrogate learns the ridges of a mesh: many samples of one evaluation, networks.
_MANY_SAMPLES = (
    *("design.candidates=80000", "design.first=1000", "design.budget=0"),
    *("design.infill=sequence", "design.follow=pose", "design.family=polynomial"),
    *("design.load_spread=2.5", "surrogate.family=network"),
)
_CONFIG = f"{FOLDER}/config.toml"


@dataclass(frozen=True, eq=False)
class Evidence:
    """Figures that the verdict is made of; `differences` are empty without an original model."""

    #: RMS of surrogate minus original over the range [%] by column, None of a zero range.
    differences: Mapping[str, float | None]
    #: Of the highest pressures of both cycles, of the worse compartment [%].
    peak_difference_percent: float | None
    #: NRMSE of the worst load at held-out poses [%].
    held_out_percent: float | None
    #: Resolution of the pressure by the mesh, by compartment.
    resolution: Mapping[str, Resolution]
    #: Least triangles across a contact patch that suffice [1].
    least_across: float
    #: Flags of the surrogate in the cycle.
    flagged: int = 0
    #: Combinations of inputs in which a model failed.
    failed: int = 0
    combinations: int = 0
    #: Node spacing and its errors, None for a contact model without nodes.
    node_spacing: Mapping[str, Any] | None = None
    #: Key of the configuration of the node spacing [mm].
    spacing_key: str = ""
    #: Whether a cycle was simulated.
    simulated: bool = True
    #: Part of the feasible held-out poses with a flag, of the worse compartment [%].
    flagged_percent: float | None = None
    #: The contact model against the elastic layer; None if no comparison was made.
    layer: dict[str, Any] | None = None
    #: File of the table of poses and loads in the place of the contact model, "" without one.
    table: str = ""
    #: Whether the surrogate gives areas and pressures, which a study of gait cycles needs.
    has_wear: bool = True
    #: Edges of the triangles of the built-in insert [mm]; None for meshes.
    implant_edge_mm: float | None = None


def level_and_line(parts: Sequence[JudgedPart]) -> tuple[Level, str]:
    """Return the worst level of the parts of a verdict, and their words on a line."""
    worst = max(parts, key=lambda part: LEVELS.index(part.level))
    line = "; ".join(part.text for part in parts)
    if len(parts) > 1 and parts[-1].what == MODEL:
        line = f"surrogate against contact model: {line}"
    return worst.level, line


def verdict(evidence: Evidence, more_samples: str) -> Verdict:
    """Return the verdict; `more_samples` is the command that makes the run again with more."""
    parts = [
        part_of(what, findings, sign)
        for what, findings, sign in (
            (LOADS, list(_loads(evidence)), ""),
            (PRESSURE, list(_pressure(evidence)), "±"),
            (MODEL, *_model(evidence.layer)),
        )
        if findings
    ]
    level, line = level_and_line(parts)
    return Verdict(
        level=level,
        parts=parts,
        line=line,
        next=_next(parts, more_samples, evidence),
        limits={f"{name}_percent": list(limits) for name, limits in LIMITS.items()},
        least_triangles_across_ratio=evidence.least_across,
    )


def _judged(figure: float | None, rule: str, reason: str, remedy: str) -> RuleFinding:
    """Return the finding of a figure [%] by the limits of a rule; an unknown figure needs care."""
    level = 1 if figure is None else _level(abs(figure), LIMITS[rule])
    return RuleFinding(level=level, figure_percent=figure, reason=reason, remedy=remedy)


def _unjudged(level: Literal[0, 1, 2], reason: str, remedy: str) -> RuleFinding:
    """Return the finding of a rule that has no figure."""
    return RuleFinding(level=level, figure_percent=None, reason=reason, remedy=remedy, judges=False)


def _level(figure: float, limits: tuple[float, float]) -> Literal[0, 1, 2]:
    """Return the index of the level of a figure: the number of limits that the figure exceeds."""
    trusted, usable = limits
    return 0 if figure <= trusted else 1 if figure <= usable else 2


def _loads(evidence: Evidence) -> Iterator[RuleFinding]:
    """Yield the findings on loads and motion; the first has the figure of the part."""
    compared = _known(evidence.differences[name] for name in JUDGED if name in evidence.differences)
    held_out, words = evidence.held_out_percent, "worst load at unseen poses off"
    if compared:
        yield _judged(largest(compared), "gait", "off the contact model in gait", "samples")
    if compared or not evidence.simulated:
        yield _judged(held_out, "held_out", words, "samples")
    else:
        yield _judged(held_out, "gait", f"not compared in gait, {words}", "rows")
    flags = evidence.flagged_percent
    if not evidence.simulated and flags is not None and (level := _level(flags, FLAGGED)):
        text = f"{number(flags, 3)} % of the feasible poses have flags"
        yield _unjudged(level, text, "samples")
    yield from _spacing(evidence, "force_percent", "the force at a given pose")
    if evidence.flagged:
        yield _unjudged(1, "the cycle leaves the trained domain", "domain")
    if evidence.failed:
        failed = counted(evidence.failed, "combination")
        yield _unjudged(1, f"a model failed in {failed} of {evidence.combinations}", "domain")


def _pressure(evidence: Evidence) -> Iterator[RuleFinding]:
    """Yield the findings on the peak pressure, those on the mesh first."""
    names = [n for n in evidence.differences if n.endswith("_peak_pressure_Pa")]
    if not names:
        return
    if meshes := evidence.resolution:
        rough = max(meshes, key=lambda name: meshes[name].roughness_percent)
        words = f"ridges of the mesh: {rough} pressure jumps from triangle to triangle"
        yield _judged(meshes[rough].roughness_percent, "pressure", words, "ridges")
        coarse = min(meshes, key=lambda name: meshes[name].across)
        if meshes[coarse].across < evidence.least_across:
            text = (
                f"coarse mesh: {number(meshes[coarse].across, 2)} triangles across the {coarse} "
                f"contact, expected at least {evidence.least_across:g}"
            )
            yield _unjudged(1, text, "mesh")
    yield from _spacing(evidence, "peak_pressure_percent", "the peak pressure")
    shares = _known(evidence.differences[name] for name in names)
    figure = largest([*shares, evidence.peak_difference_percent])
    yield _judged(figure, "pressure", "off the contact model in gait", "samples")


def _spacing(evidence: Evidence, load: str, words: str) -> Iterator[RuleFinding]:
    """Yield the finding on the error of the node spacing in a load, if there are elements."""
    if evidence.node_spacing is not None:
        errors = evidence.node_spacing["errors"]
        reason = f"the node spacing limits {words}"
        yield _judged(None if errors is None else errors[load], "spacing", reason, "spacing")


def _model(layer: Mapping[str, Any] | None) -> tuple[list[RuleFinding], str]:
    """Return the finding on the contact model against the elastic layer, and its sign in words."""
    if layer is None or is_layer(layer) or not layer["model"]:
        return [], ""
    if not layer["compartments"]:
        words = f"not compared with the elastic layer: {layer['reason']}"
        return [_unjudged(1, words, "elements")], ""
    findings = [
        (_of_layer(name, compartment, layer), compartment["peak_pressure_MPa"])
        for name, compartment in layer["compartments"].items()
    ]
    finding = max(findings, key=lambda pair: (pair[0].level, pair[1]))[0]
    figure = finding.figure_percent
    sign = "" if figure is None else "peak +" if round(figure, 2) > 0.0 else "peak "
    return [finding], sign


def _of_layer(name: str, part: Mapping[str, Any], layer: Mapping[str, Any]) -> RuleFinding:
    """Return the finding on a compartment: its peak pressure by both models, at equal load."""
    off, doubt = part["at_peak"]["peak_pressure_percent"], part["uncertainty_percent"]
    if doubt > MOST_UNCERTAIN:
        text = (
            f"ridges of the mesh leave the {name} peak of the elastic layer uncertain by "
            f"±{number(doubt, 2)} %, mean pressure "
            f"{part['at_peak']['mean_pressure_percent']:+.2g} %"
        )
        return _unjudged(1, text.replace("-", "\N{MINUS SIGN}"), "ridges")
    text = (
        f"the {name} peak of the elastic layer is about "
        f"{number(part['layer_peak_pressure_MPa'], 2)} MPa{doubted(part)} where {layer['model']} "
        f"say {number(part['peak_pressure_MPa'])} MPa"
    )
    return _judged(off, "layer", text, "elements")


def _known(figures: Iterable[float | None]) -> list[float]:
    """Return the figures that are known: a coordinate that is held fixed has no range."""
    return [figure for figure in figures if figure is not None]


def part_of(what: str, findings: list[RuleFinding], sign: str) -> JudgedPart:
    """Return a part of the verdict: level of the worst finding, figure, and reasons."""
    level = max(finding.level for finding in findings)
    known = [f.figure_percent for f in findings if f.figure_percent is not None]
    figure = (max(known) if sign else findings[0].figure_percent) if known else None
    wrong = [finding for finding in findings if level and finding.level == level]
    reasons = [_words(finding, figure) for finding in wrong]
    text = f"{what}: {LEVELS[level]}"
    if figure is not None:
        text += f", {sign}{number(figure if abs(figure) >= _LEAST else 0.0, 2)} %"
    if level:
        text += f": {'; '.join(reasons)}"
    return JudgedPart(
        what=what,
        level=LEVELS[level],
        figure_percent=figure,
        sign=sign,
        reasons=reasons,
        remedies=list(dict.fromkeys(finding.remedy for finding in wrong)),
        text=text,
        findings=findings,
    )


def _words(finding: RuleFinding, shown: float | None) -> str:
    """Return the reason, with its figure unless the part shows the figure already."""
    figure = finding.figure_percent
    if not finding.judges or (figure is not None and figure == shown):
        return finding.reason
    return f"{finding.reason}, {'unknown' if figure is None else f'{number(figure, 2)} %'}"


def _next(parts: list[JudgedPart], more_samples: str, evidence: Evidence) -> NextStep:
    """Return the next step in words and its command, of the first part that is not trusted."""
    wrong = [part for part in parts if part.level != LEVELS[0]]
    if wrong:
        steps = _steps(more_samples, evidence)
        # Rows of a table are all samples there are.
        remedies = ["rows"] if evidence.table else wrong[0].remedies
        text, command = steps[next(name for name in steps if name in remedies)]
    elif evidence.simulated and evidence.has_wear:
        text = "use it: vary the gait, the alignment and the material"
        command = command_line("run", "montecarlo", "--set", f"study.run={FOLDER}")
    else:
        text, command = "use it: in Python, or exported to C", command_line("export", FOLDER)
    return NextStep(text=text, command=command)


def _steps(more_samples: str, evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Return the next step in words and its command by the kind of remedy, the first one first."""
    check, nodes = command_line("check", _CONFIG), evidence.node_spacing
    mesh = ("see the size of the triangles, then refine the tibial mesh", check)
    if evidence.implant_edge_mm is not None and evidence.resolution:
        across = min(resolution.across for resolution in evidence.resolution.values())
        # Rounded down to a step of 0.05 mm, a tenth below what just suffices.
        edge = 0.05 * math.floor(18.0 * evidence.implant_edge_mm * across / evidence.least_across)
        pair = f"knee.implant.edge_mm={max(edge, _LEAST_SPACING_MM):.3g}"
        mesh = ("take smaller triangles", _again("finer", pair))
    steps = {
        "domain": ("see by how much gait leaves the domain, then widen it", f"{check} --deep"),
        "mesh": mesh,
        "ridges": (
            "smooth the tibial mesh, or learn its ridges from many samples (about 10 min)",
            _again("ridges", *_MANY_SAMPLES),
        ),
    }
    if nodes is not None:
        spacing = max(0.5 * nodes["spacing_mm"], _LEAST_SPACING_MM)
        steps["spacing"] = (
            "bring the nodes closer together, which takes several times as long",
            _again("finer", f"{evidence.spacing_key}={spacing:g}"),
        )
    return steps | {
        "samples": ("learn from more samples", more_samples),
        "elements": (
            "take the elastic layer itself, by finite elements",
            _again("elements", "contact.model=finite_element"),
        ),
        "rows": (
            f"add rows to {evidence.table or 'the table'} at the poses that the report shows as "
            "the worst, then make the run again",
            _again("more"),
        ),
    }


def _again(name: str, *pairs: str) -> str:
    """Return the command that makes the run with other keys, in a folder of its own."""
    words = [word for pair in pairs for word in ("--set", pair)]
    return command_line("run", _CONFIG, "--out", f"{FOLDER}-{name}", *words)


def verdict_lines(found: Verdict) -> list[str]:
    """Return the lines for the terminal, in ASCII characters."""
    return [f"verdict: {ascii_line(found)}", f"next: {found.next.text}: {found.next.command}"]


def ascii_line(found: Verdict | Judgement) -> str:
    """Return the line of a verdict in ASCII characters."""
    return found.line.translate(ASCII)
