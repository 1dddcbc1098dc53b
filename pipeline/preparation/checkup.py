"""Checks of a study before a long run: configuration, meshes, and the sampled domain.

A checkup reports all findings at once. It makes the checks of a run (`pipeline.config.reading`,
`foundation.surfaces.mesh_checks`, `pipeline.originals.contact_original`) and evaluates the original
model at some poses.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from foundation.base.wording import counted
from pipeline.config.reading import dump_config, explanations, read_tree, tuples_of
from pipeline.config.schema import Config
from pipeline.originals.contact_original import kind_of
from pipeline.originals.knee import Knee
from pipeline.originals.protocol import OriginalModel
from pipeline.originals.table_original import TableOriginal, build_original, completed
from pipeline.preparation.domain_checkup import check_bounds, check_domain, check_space
from pipeline.preparation.mesh_checkup import check_meshes
from pipeline.preparation.remarks import Remark, Remarks
from pipeline.progress import say, silenced
from pipeline.simulation import gait_cycle, gait_ligaments
from pipeline.store.samples import loads_of
from surrogates.sampling.space import SampleSpace


def check_study(
    file: Path, overrides: tuple[str, ...] = (), *, deep: bool = False
) -> tuple[list[Remark], dict[str, Any]]:
    """Return all remarks on a study, errors first, and the expected time and disk space of a run.

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
    remarks = Remarks()
    config = _checked(tree, file, remarks)
    section = tree.get("knee", {})
    too_fine = isinstance(section, dict) and check_meshes(section, file.parent, remarks)
    figures: dict[str, Any] = {}
    if config is not None:
        if config.simulation.kind == "gait":
            _check_tables(config, remarks)
        _check_laws(config, remarks)
        if too_fine and not deep:
            remarks.warning(
                "[knee]",
                "contact was not evaluated because of the number of triangles: decimate the "
                "meshes, or check with --deep (takes minutes)",
            )
        elif not remarks.has_errors:
            figures = _check_knee(config, remarks, deep=deep)
    return remarks.ordered(), figures


def _checked(tree: dict[str, Any], file: Path, remarks: Remarks) -> Config | None:
    """Return the configuration, or None if a key is wrong."""
    try:
        return Config.model_validate(tuples_of(tree), context={"folder": file.parent})
    except ValidationError as error:
        for key, text in explanations(error).items():
            remarks.error(key, text.removeprefix(f"{key}: "))
    return None


def _check_tables(config: Config, remarks: Remarks) -> None:
    remarks.attempt("simulation.waveforms", gait_cycle, config.simulation)
    remarks.attempt("simulation.ligaments", gait_ligaments, config.simulation)


def _check_laws(config: Config, remarks: Remarks) -> None:
    for key, text in kind_of(config).remarks(config.contact).items():
        remarks.warning(key, text)


def _check_knee(config: Config, remarks: Remarks, *, deep: bool) -> dict[str, Any]:
    """Check the original model; return the expected time and disk space of a run."""
    say("building the contact model")
    built = remarks.attempt(
        config.original.sections, lambda: (build_original(config), completed(config))
    )
    if built is None:
        return {}
    original, complete = built
    if isinstance(original, Knee):
        return check_domain(config, original, remarks, deep=deep)
    assert isinstance(original, TableOriginal)
    _check_rows(complete, original, remarks)
    return {}


def _check_rows(config: Config, original: TableOriginal, remarks: Remarks) -> None:
    """Check the rows of a table that replaces the original model."""
    rows = original.rows
    for name, own in rows.groupby("compartment"):
        check_bounds(config, loads_of(own), str(name), remarks)
    remarks.note("[original]", f"{config.original.file}: {counted(len(rows), 'usable row')}")


def run_remarks(
    config: Config, original: OriginalModel, space: SampleSpace, heard: Remarks
) -> list[Remark]:
    """Return the remarks of `check_study` on a run, whose original model and path are built.

    Parameters
    ----------
    config : Config
        Resolved configuration of the run.
    original : OriginalModel
        Original model.
    space : SampleSpace
        Sample space about the reference path of the run.
    heard : Remarks
        Warnings that were given while model and path were built.
    """
    remarks = Remarks()
    with silenced():
        check_meshes(tomllib.loads(dump_config(config)).get("knee", {}), Path(), remarks)
        _check_laws(config, remarks)
        for remark in heard.ordered():
            remarks.add(*remark)
        if isinstance(original, Knee):
            check_space(config, original, space, remarks)
        elif isinstance(original, TableOriginal):
            _check_rows(config, original, remarks)
    return remarks.ordered()
