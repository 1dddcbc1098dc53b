"""The elastic foundation of a study: spring laws and the bed over the surfaces, its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import LAWS, LinearLaw, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.data_folder import data_file
from pipeline.config.schema import THICKNESS_RANGE, ContactConfig, LayerConfig
from pipeline.originals.knee_surfaces import KneeSurfaces
from pipeline.originals.mesh_loading import vertex_table


def layer_thickness(
    layer: LayerConfig, vertices: int, measured: FloatArray | None = None, *, body: str = "tibial"
) -> float | FloatArray:
    """Return the thickness of a layer [m], a number or one per vertex of its body's mesh, (V,)."""
    if layer.thickness_file is not None:
        path, mesh = data_file(layer.thickness_file), f"the {body} mesh as loaded"
        head = f"thickness_file {path}"
        table = vertex_table(path, head, ("thickness_mm",), vertices, mesh, THICKNESS_RANGE)
        return 1e-3 * table[:, 0]
    if layer.thickness_mm != "underside":
        return 1e-3 * layer.thickness_mm
    if measured is None:
        raise InputError(
            'thickness_mm = "underside": needs the built-in insert, [knee.tibia_solid] or a closed '
            '[knee.tibia] with surface = "bearing"'
        )
    return measured


#: Largest Poisson's ratio of the springs beside finite elements. Springs cannot bulge aside: under
#: the implant at 500 N and 0.4999 their patch would be 1.9 mm wide, that of the exact layer 8.0 mm.
LARGEST_RATIO = 0.46


def build_bed(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return the elastic foundation of a configuration over the surfaces of its knee."""
    law = build_law(contact, len(surfaces.tibia.vertices), surfaces.measured_thickness())
    return bed_of(law, contact, surfaces)


def bed_of(law: SpringLaw, contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return the bed of springs of a law over the surfaces of a knee; errors as `build_bed`."""
    labels = surfaces.compartments.astype(np.int8).tobytes()
    of_contact = contact.surface, contact.conservative
    return _bed_over(surfaces.femur, surfaces.tibia, labels, surfaces.names, *of_contact).with_law(
        law
    )


# Springs of several laws stand on the same surfaces, whose search structures take long; the second
# place is for the coarse surfaces of a check.
@lru_cache(maxsize=2)
def _bed_over(
    femur: TriangleMesh,
    tibia: TriangleMesh,
    labels: bytes,
    names: tuple[str, ...],
    surface: str,
    conservative: bool,
) -> ElasticFoundation:
    """Return a bed of springs of any law over two surfaces, for others to replace the law."""
    return ElasticFoundation(
        femur,
        tibia,
        LinearLaw(1e6, 0.4, 1e-3),
        surface=surface,
        conservative=conservative,
        compartments=np.frombuffer(labels, dtype=np.int8),
        compartment_names=names,
    )


def springs_beside(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return an elastic foundation over the surfaces of another contact model, evaluated faster.

    A varying femoral thickness becomes its mean, a ratio above 0.46 0.46.
    """
    measured = surfaces.measured_thickness()
    law = _bulging_law(contact, layer_thickness(contact, len(surfaces.tibia.vertices), measured))
    if (femoral := contact.femur_layer) is not None:
        if contact.has_laws:
            thickness = layer_thickness(femoral, len(surfaces.tibia.vertices))
        else:
            at_femur = layer_thickness(femoral, len(surfaces.femur.vertices), body="femoral")
            thickness = float(np.mean(at_femur))
        law = SeriesLaw(law, _bulging_law(femoral, thickness))
    return bed_of(law, contact, surfaces)


def _bulging_law(layer: LayerConfig, thickness: float | FloatArray) -> SpringLaw:
    ratio = min(layer.poissons_ratio, LARGEST_RATIO)
    return layer_law(layer.model_copy(update={"poissons_ratio": ratio}), thickness)


def build_law(
    contact: ContactConfig, vertices: int, measured: FloatArray | None = None
) -> SpringLaw:
    """Return the spring law of a configuration; `measured` (V,) [m] is a measured thickness."""
    tibial = layer_law(contact, layer_thickness(contact, vertices, measured))
    femoral = contact.femur_layer
    if femoral is None:
        return tibial
    return SeriesLaw(tibial, layer_law(femoral, layer_thickness(femoral, vertices)))


def layer_law(layer: LayerConfig, thickness: float | FloatArray) -> SpringLaw:
    """Return the law of one layer of a thickness [m], a number or one per tibial vertex (V,)."""
    modulus, parameters = 1e6 * layer.youngs_modulus_MPa, layer.own_parameters
    return LAWS[layer.law](modulus, layer.poissons_ratio, thickness, **parameters)


def bed_digest(model: ElasticFoundation) -> str:
    """Return a SHA-256 of the surfaces, the spring law and the settings of the springs."""
    content = hashlib.sha256()
    for mesh in (model.femur, model.tibia):
        content.update(mesh.vertices.tobytes())
        content.update(mesh.faces.tobytes())
        content.update(b"" if mesh.vertex_normals is None else mesh.vertex_normals.tobytes())
    content.update(model.compartments.tobytes())
    settings = f"{model.surface} {model.conservative} {model.search_depth!r}"
    content.update(settings.encode())
    for chunk in _law_parts(model.law):
        content.update(chunk)
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
