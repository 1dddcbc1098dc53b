"""A contact model as the original model: the elastic foundation over the surfaces of a study."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from foundation.checks import FloatArray
from foundation.elastic_foundation.laws import LAWS, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.errors import InputError
from foundation.implant.condylar_implant import CondylarImplant
from foundation.implant.dish import Dish
from foundation.loads import COMPARTMENTS
from foundation.pose import Pose
from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.mesh_checks import check_orientation, report_findings
from foundation.surfaces.thickness import measured_thickness, spring_normals
from pipeline.config.data_folder import data_file
from pipeline.config.key_names import in_words_of
from pipeline.config.schema import (
    THICKNESS_RANGE,
    Config,
    ContactConfig,
    ImplantConfig,
    LayerConfig,
    MeshConfig,
)
from pipeline.originals.candidates import choose_samples, held_out_samples
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee_surface_checks import check_surfaces, report_surfaces
from pipeline.originals.mesh_loading import load_surface
from pipeline.originals.plateau_starts import middle_pose
from pipeline.originals.protocol import Evaluation
from pipeline.originals.reference_path import reference_path
from surrogates.formulations.whole_knee import AnyKnee
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Configuration keys of the parameters of the implant.
_IMPLANT_KEYS = {
    "dish sagittal_radius": "knee.implant.dish_sagittal_radius_mm",
    "dish coronal_radius": "knee.implant.dish_coronal_radius_mm",
    "dish half_length": "knee.implant.dish_half_length_mm",
    "condyle posterior_radius": "knee.implant.radius_mm",
    "condyle distal_radius": "knee.implant.radius_mm",
    "condyle anterior_radius": "knee.implant.radius_mm",
}


@dataclass(frozen=True, eq=False)
class Knee:
    """A contact model as the original model of a run.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    start : Pose
        An unrotated pose near contact, where settling of the reference path begins.
    digest : str
        SHA-256 of the surfaces, the spring law and the settings of the springs.
    """

    model: ElasticFoundation
    start: Pose
    digest: str
    not_given: ClassVar[tuple[str, ...]] = ()

    def reference_path(self, config: Config) -> ReferencePath:
        """Return the reference path over flexion of a study."""
        return reference_path(config, self.model, self.start)

    def candidates(self, space: SampleSpace, config: Config) -> pd.DataFrame:
        """Return the candidates of stage a, drawn from the sample space."""
        return choose_samples(space, config.design, config.run.seed)

    def held_out(
        self, space: SampleSpace, config: Config, candidates: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the held-out samples, drawn from the sample space with a seed of their own."""
        return held_out_samples(space, config.validation, candidates)

    def evaluation(self, follow: str = "load") -> Evaluation:
        """Return the evaluation of samples at their load, or at their pose if `follow` is so."""
        # The kernels are compiled before the workers start, so that the workers find them cached.
        self.model.compartment_loads(Pose(), COMPARTMENTS[0])
        return Evaluation(partial(evaluate_rows, follow=follow), (self.model,))

    def describe(self, space: SampleSpace, surrogate: AnyKnee) -> dict[str, Any]:
        """Return the entry `original` of `run.json`."""
        del space, surrogate
        return {"kind": "model"}


def build_knee(config: Config) -> Knee:
    """Load or build the surfaces of a study and return the contact model over these surfaces.

    Raises
    ------
    InputError
        If a mesh or a parameter cannot be used; the message names it.
    """
    knee = config.knee
    contact = config.contact
    if knee.source == "builtin":
        implant = build_implant(knee.implant)
        with in_words_of({"edge_length": "knee.implant.femur_edge_mm"}):
            femur, _, _ = implant.tessellate(1e-3 * knee.implant.femur_edge_mm)
        with in_words_of({"edge_length": "knee.implant.edge_mm"}):
            _, tibia, labels = implant.tessellate(1e-3 * knee.implant.edge_mm)
        measured: FloatArray | None = implant.thickness(tibia.vertices, spring_normals(tibia))
    else:
        femur = _load(knee.femur, knee.side, "femur")
        tibia = _load(knee.tibia, knee.side, "tibia")
        report_surfaces(check_surfaces({"femur": femur, "tibia": tibia}))
        labels = compartments_of(tibia, knee.split_lateral_mm)
        measured = _measured(config, tibia)
    law = build_law(contact, len(tibia.vertices), measured)
    with in_words_of({"search_depth": "contact.search_depth_mm"}):
        model = ElasticFoundation(
            femur,
            tibia,
            law,
            surface=contact.surface,
            conservative=contact.conservative,
            compartments=labels,
            search_depth=1e-3 * contact.search_depth_mm,
        )
    return Knee(model, middle_pose(femur, tibia), _digest(model))


def build_implant(config: ImplantConfig) -> CondylarImplant:
    """Return the built-in implant of a configuration."""
    with in_words_of(_IMPLANT_KEYS):
        dish = Dish(
            sagittal_radius=1e-3 * config.dish_sagittal_radius_mm,
            coronal_radius=1e-3 * config.dish_coronal_radius_mm,
            half_length=1e-3 * config.dish_half_length_mm,
        )
        if config.condyles == "single_radius":
            return CondylarImplant.single_radius(
                1e-3 * config.radius_mm, medial_dish=dish, lateral_dish=dish
            )
        return CondylarImplant(medial_dish=dish, lateral_dish=dish)


def compartments_of(tibia: TriangleMesh, split_lateral_mm: float | None) -> NDArray[np.int8]:
    """Return the compartment (F,) of each tibial triangle; without a split [mm], detect it.

    Raises
    ------
    InputError
        If a compartment has no triangle, or no split is found; the message names the key.
    """
    split = None if split_lateral_mm is None else 1e-3 * split_lateral_mm
    with in_words_of({"split_z": "knee.split_lateral_mm"}):
        return find_compartments(tibia, split)


def _load(mesh: MeshConfig | None, side: str, section: str) -> TriangleMesh:
    if mesh is None:
        raise InputError(f"[knee.{section}] is needed")
    try:
        loaded = load_surface(mesh, side, section.removesuffix("_solid"))
        report_findings(loaded.findings)
    except InputError as error:
        raise InputError(f"[knee.{section}] {error}") from error
    return loaded.mesh


def _measured(config: Config, tibia: TriangleMesh) -> FloatArray | None:
    """Return the thickness under each tibial vertex (V,) [m]; None if it is not measured."""
    if not config.contact.measured:
        return None
    solid = _load(config.knee.tibia_solid, config.knee.side, "tibia_solid")
    try:
        check_orientation(solid, "tibia")
        return measured_thickness(tibia, solid)
    except InputError as error:
        raise InputError(f"[knee.tibia_solid] {error}") from error


def build_law(
    contact: ContactConfig, vertices: int, measured: FloatArray | None = None
) -> SpringLaw:
    """Return the spring law of a configuration.

    Parameters
    ----------
    contact : ContactConfig
        The law and its parameters.
    vertices : int
        Number of vertices V of the tibial mesh; a thickness table has one row for each.
    measured : (V,) float64, optional
        Thickness under each tibial vertex [m], for `thickness_mm = "underside"`.

    Raises
    ------
    InputError
        If a thickness is missing or its table cannot be used.
    """
    tibial = _layer(contact, _thickness(contact, vertices, measured))
    femoral = contact.femur_layer
    if femoral is None:
        return tibial
    return SeriesLaw(tibial, _layer(femoral, _thickness(femoral, vertices, None)))


def _thickness(
    layer: LayerConfig, vertices: int, measured: FloatArray | None
) -> float | FloatArray:
    if layer.thickness_file is not None:
        return _read_thickness(data_file(layer.thickness_file), vertices)
    if layer.thickness_mm != "underside":
        return 1e-3 * layer.thickness_mm
    if measured is None:
        raise InputError(
            'thickness_mm = "underside": needs the built-in insert or [knee.tibia_solid]'
        )
    return measured


def _read_thickness(path: Path, vertices: int) -> FloatArray:
    """Return the thicknesses of a table, (V,) [m]."""
    try:
        # With index_col=None, a row with too many cells would turn the first column into the index.
        table = pd.read_csv(path, skipinitialspace=True, index_col=False)
    except (OSError, ValueError) as error:
        raise InputError(f"thickness_file {path}: cannot be read as CSV ({error})") from error
    if "thickness_mm" not in table.columns:
        raise InputError(
            f"thickness_file {path}: expected a column thickness_mm, found {list(table.columns)}"
        )
    if len(table) != vertices:
        raise InputError(
            f"thickness_file {path}: expected {vertices} rows, one per vertex of the tibial mesh "
            f"as loaded, found {len(table)}"
        )
    values = pd.to_numeric(table["thickness_mm"], errors="coerce").to_numpy(dtype=np.float64)
    low, high = THICKNESS_RANGE
    # NaN must count as wrong.
    wrong = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(wrong):
        raise InputError(
            f"thickness_file {path}: expected thickness_mm from {low:g} to {high:g} mm, found "
            f"{table['thickness_mm'].iloc[wrong[0]]!r} in row {wrong[0] + 1} "
            f"({len(wrong)} such rows)"
        )
    return 1e-3 * values


def _layer(layer: LayerConfig, thickness: float | FloatArray) -> SpringLaw:
    modulus, own = 1e6 * layer.youngs_modulus_MPa, layer.own_parameters
    return LAWS[layer.law](modulus, layer.poissons_ratio, thickness, **own)


def _digest(model: ElasticFoundation) -> str:
    content = hashlib.sha256()
    for mesh in (model.femur, model.tibia):
        content.update(mesh.vertices.tobytes())
        content.update(mesh.faces.tobytes())
        content.update(b"" if mesh.vertex_normals is None else mesh.vertex_normals.tobytes())
    content.update(model.compartments.tobytes())
    settings = f"{model.surface} {model.conservative} {model.search_depth!r}"
    content.update(settings.encode())
    for part in _law_parts(model.law):
        content.update(part)
    return content.hexdigest()


def _law_parts(law: SpringLaw) -> Iterator[bytes]:
    """Return the kinds and parameters of a law's layers as bytes, in a fixed order."""
    yield type(law).__name__.encode()
    for name in (field.name for field in fields(law)):  # type: ignore[arg-type]
        value = getattr(law, name)
        if isinstance(value, SpringLaw):
            yield from _law_parts(value)
        else:
            yield np.asarray(value, dtype=np.float64).tobytes()
