"""Checks of a study before a long run: configuration, meshes, and the sampled domain.

A checkup reports all findings at once. It makes the checks of a run (`pipeline.config.reading`,
`foundation.surfaces.mesh_checks`, `pipeline.originals.contact_original`) and evaluates the original
model at some poses.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from foundation.base.findings import Finding
from foundation.base.wording import counted
from pipeline.advice import of_configuration
from pipeline.config.reading import dump_config, explanations, read_tree, tuples_of
from pipeline.config.schema import Config
from pipeline.originals.contact_original import kind_of
from pipeline.originals.knee import Knee, OriginalModel
from pipeline.originals.table_original import TableOriginal, build_original, completed
from pipeline.preparation.domain_checkup import check_bounds, check_domain, check_space
from pipeline.preparation.findings import Findings
from pipeline.preparation.mesh_checkup import check_meshes
from pipeline.progress import say, silenced
from pipeline.simulation import gait_cycle, gait_ligaments
from pipeline.store.samples import loads_of
from surrogates.sampling.space import SampleSpace


def check_study(
    file: Path, overrides: tuple[str, ...] = (), *, deep: bool = False
) -> tuple[list[Finding], dict[str, Any]]:
    """Return the findings on a study, errors first, and the expected time and disk space of a run.

    Parameters
    ----------
    file : Path
        Configuration.
    overrides : tuple of str
        Replaced values, as in `load_config`.
    deep : bool
        Whether to draw more samples, and to simulate a gait cycle with the original model.

    Raises
    ------
    ConfigError
        If the file is not a TOML file.
    """
    tree = read_tree(file, overrides)
    findings = Findings()
    config = _checked(tree, file, findings)
    section = tree.get("knee", {})
    too_fine = isinstance(section, dict) and check_meshes(section, file.parent, findings)
    figures: dict[str, Any] = {}
    if config is not None:
        if config.simulation.kind == "gait":
            _check_tables(config, findings)
        findings.add(kind_of(config).check(config.contact))
        if too_fine and not deep:
            findings.warning(
                "[knee]",
                "contact was not evaluated because of the number of triangles: decimate the "
                "meshes, or check with --deep (takes minutes)",
            )
        elif not findings.has_errors:
            figures = _check_knee(config, findings, deep=deep)
    named = [replace(each, text=of_configuration(each.text, file)) for each in findings.ordered()]
    return named, figures


def _checked(tree: dict[str, Any], file: Path, findings: Findings) -> Config | None:
    """Return the configuration, or None if a key is wrong."""
    try:
        return Config.model_validate(tuples_of(tree), context={"folder": file.parent})
    except ValidationError as error:
        for key, text in explanations(error).items():
            findings.error(key, text.removeprefix(f"{key}: "))
    return None


def _check_tables(config: Config, findings: Findings) -> None:
    findings.attempt("simulation.waveforms", gait_cycle, config.simulation)
    findings.attempt("simulation.ligaments", gait_ligaments, config.simulation)


def _check_knee(config: Config, findings: Findings, *, deep: bool) -> dict[str, Any]:
    """Check the original model; return the expected time and disk space of a run."""
    say("building the contact model")
    built = findings.attempt(
        config.original.sections, lambda: (build_original(config), completed(config))
    )
    if built is None:
        return {}
    original, complete = built
    if isinstance(original, Knee):
        return check_domain(config, original, findings, deep=deep)
    assert isinstance(original, TableOriginal)
    _check_rows(complete, original, findings)
    return {}


def _check_rows(config: Config, original: TableOriginal, findings: Findings) -> None:
    """Check the rows of a table that replaces the original model."""
    rows = original.rows
    for name, own in rows.groupby("compartment"):
        check_bounds(config, loads_of(own), str(name), findings)
    findings.note("[original]", f"{config.original.file}: {counted(len(rows), 'usable row')}")


def run_findings(
    config: Config, original: OriginalModel, space: SampleSpace, heard: Findings
) -> list[Finding]:
    """Return the findings of `check_study` on a run, whose original model and path are built.

    `space` is about the reference path of the run, `heard` are warnings that were given while model
    and path were built.
    """
    findings = Findings()
    with silenced():
        check_meshes(tomllib.loads(dump_config(config)).get("knee", {}), Path(), findings)
        findings.add(kind_of(config).check(config.contact))
        findings.add(heard.ordered())
        if isinstance(original, Knee):
            check_space(config, original, space, findings)
        elif isinstance(original, TableOriginal):
            _check_rows(config, original, findings)
    return findings.ordered()
