"""What is wrong with a study before a long run: configuration, meshes, and the domain they span.

Everything is said at once. The checks are those that a run makes (`pipeline.config.reading`,
`foundation.surfaces.mesh_checks`, `pipeline.originals.contact_original`), and a handful of
evaluations of the original model.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from foundation.errors import InputError
from foundation.wording import counted
from pipeline.config.reading import ConfigError, explanations, load_config, read_tree, tuples_of
from pipeline.config.schema import Config
from pipeline.originals.contact_original import Knee
from pipeline.originals.table_original import TableOriginal, build_original, completed
from pipeline.preparation.domain_checkup import check_bounds, check_domain
from pipeline.preparation.mesh_checkup import Remark, check_meshes
from pipeline.progress import say
from pipeline.simulation import gait_cycle, gait_ligaments
from pipeline.store.samples import loads_of

#: Poisson's ratio beyond which the layer is stiffened by confinement more than twelvefold.
_CONFINED = 0.485
#: Moduli of polyethylene and cartilage, generously [MPa].
_MODULI = (0.5, 2000.0)
_NOT_EVALUATED = (
    "the contact was not evaluated, which takes minutes with meshes as fine as these: decimate the "
    "meshes and check again, or check with --deep"
)
LEVELS = ("error", "warning", "note")


def check_study(
    file: Path, overrides: tuple[str, ...] = (), *, deep: bool = False
) -> tuple[list[Remark], dict[str, Any]]:
    """Return all that is wrong or doubtful about a study, errors first, and the figures found.

    Parameters
    ----------
    file : Path
        Configuration.
    overrides : tuple of str
        As of `load_config`.
    deep : bool
        Whether to draw more samples and simulate a gait cycle with the original model.

    Raises
    ------
    ConfigError
        If the file cannot be read as TOML at all.
    """
    tree = read_tree(file, overrides)
    remarks = _check_keys(tree, file, overrides)
    figures: dict[str, Any] = {}
    too_fine = False
    section = tree.get("knee", {})
    if isinstance(section, dict):
        found, too_fine = check_meshes(section, file.parent)
        remarks += found
    with suppress(ConfigError):
        config = load_config(file, overrides)
        remarks += _check_inputs(config)
        if config.original.kind == "model":
            remarks += _check_layer(config)
        if too_fine and not deep:
            remarks.append(Remark("warning", "[knee]", _NOT_EVALUATED))
        elif not any(remark.level == "error" for remark in remarks):
            more, figures = _check_knee(config, deep=deep)
            said = {remark.text for remark in remarks}
            remarks += [remark for remark in more if remark.text not in said]
    return sorted(remarks, key=lambda remark: LEVELS.index(remark.level)), figures


def _check_keys(tree: dict[str, Any], file: Path, overrides: tuple[str, ...]) -> list[Remark]:
    """Return what is wrong with the keys."""
    try:
        Config.model_validate(tuples_of(tree))
    except ValidationError as error:
        told = explanations(error).items()
        return [Remark("error", key, text.removeprefix(f"{key}: ")) for key, text in told]
    # What the schema allows may still be refused.
    try:
        load_config(file, overrides)
    except ConfigError as error:
        return [Remark("error", str(file), str(error))]
    return []


def _check_inputs(config: Config) -> list[Remark]:
    remarks = []
    for key, read in (("waveforms", gait_cycle), ("ligaments", gait_ligaments)):
        try:
            read(config.simulation)
        except InputError as error:
            remarks.append(Remark("error", f"simulation.{key}", str(error)))
    return remarks


def _check_layer(config: Config) -> list[Remark]:
    remarks = []
    layers = {"contact": config.contact, "contact.femur_layer": config.contact.femur_layer}
    for section, layer in layers.items():
        if layer is None:
            continue
        nu = layer.poissons_ratio
        if nu > _CONFINED:
            factor = (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
            text = (
                f"{nu:g} makes the layer {factor:.0f} times as stiff as its Young's modulus, and "
                "the foundation model overstates that near incompressibility; 0.45 to 0.47 is usual"
            )
            remarks.append(Remark("warning", f"{section}.poissons_ratio", text))
        if not _MODULI[0] <= layer.youngs_modulus_MPa <= _MODULI[1]:
            text = (
                f"{layer.youngs_modulus_MPa:g} MPa is neither cartilage (about 10) nor "
                "polyethylene (about 500 to 1000): check the unit"
            )
            remarks.append(Remark("warning", f"{section}.youngs_modulus_MPa", text))
    return remarks


def _check_knee(config: Config, *, deep: bool) -> tuple[list[Remark], dict[str, Any]]:
    about = "[original]" if config.original.kind == "table" else "[knee], [contact]"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say("building the contact model")
        try:
            original = build_original(config)
            complete = completed(config)
        except (OSError, InputError) as error:
            return [Remark("error", about, str(error))], {}
    # What is doubtful about the meshes has been said; the rest is about thickness or table.
    remarks = [Remark("warning", about, str(one.message)) for one in caught]
    if isinstance(original, TableOriginal):
        rows = original.table.rows
        for name, own in rows.groupby("compartment"):
            remarks += check_bounds(complete, loads_of(own), str(name))
        text = f"{complete.original.file}: {counted(len(rows), 'row')} can be used"
        return [*remarks, Remark("note", about, text)], {}
    assert isinstance(original, Knee)
    more, figures = check_domain(config, original, deep=deep)
    return remarks + more, figures
