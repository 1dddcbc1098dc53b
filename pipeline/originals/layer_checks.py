"""Plausibility of elastic layers: values that the schema allows, but that are hardly meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from foundation.base.errors import InputError, PoseError
from foundation.base.findings import Finding
from foundation.base.flags import SOFTER_MODELS
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from foundation.elastic_foundation.springs import (
    NEARLY_INCOMPRESSIBLE,
    confined_excess,
    times,
)
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length
from pipeline.config.schema import Config, ContactConfig, LayerConfig

#: Least triangles across a contact patch by the surface of the springs, a rule of thumb.
TRIANGLES_ACROSS = {"curved": 6.0, "flat": 20.0}


def contact_width(area: float) -> float:
    """Return the diameter [m] of a round contact of an area [m²]."""
    return 2.0 * float(np.sqrt(area / np.pi))


def resolution_finding(
    about: str, width: float, across: float, noun: str, least: float, remedy: str
) -> Finding:
    """Return a warning if fewer than `least` nodes or triangles are across a contact."""
    text = f"a typical contact is {1e3 * width:.0f} mm across, which is {across:.1f} {noun}"
    if across >= least:
        return Finding("note", about, text)
    return Finding(
        "warning",
        about,
        f"{text} (expected at least {least:g}); peak pressures will be inaccurate: {remedy}",
    )


def check_triangles(tibia: TriangleMesh, area: float, surface: str) -> Finding:
    """Compare the triangles of the tibia with the area of a typical contact [m²]."""
    width, least = contact_width(area), TRIANGLES_ACROSS[surface]
    return resolution_finding(
        "[knee.tibia]",
        width,
        width / edge_length(tibia),
        "triangles of the tibia",
        least,
        f"use a mesh with edges of at most {_rounded_down(1e3 * width / least):g} mm",
    )


def _rounded_down(value: float) -> float:
    """Return a value with two significant digits, not above the value."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(f"{np.floor(value / unit) * unit:.2g}")


#: Poisson's ratio beyond which confinement stiffens the layer more than twelvefold, and below
#: which no layer of a knee is as fast as a step: cartilage keeps its water.
_CONFINED, _LEAST_RATIO = 0.485, 0.2
#: Ranges of Young's modulus, with a margin, by material [MPa]: polyethylene from a tenth of its
#: modulus of tension, as models of slow loading have, to highly cross-linked.
_MODULI = {"cartilage": (0.5, 40.0), "polyethylene": (200.0, 2000.0)}
#: Slips of the decimals and of the unit, by words [1].
_SLIPS = {"10 times": 10.0, "a tenth": 0.1, "1e3 times": 1e3, "1e-3": 1e-3, "1e6 times": 1e6,
          "1e-6": 1e-6}  # fmt: skip
#: Young's modulus below which a layer is cartilage [MPa].
_SOFT = 100.0
#: Largest thickness of cartilage and of polyethylene [m], with a margin: patellar cartilage is up
#: to 7 mm thick, inserts are up to 25 mm; and least thickness of either.
_THICKEST = {"cartilage": 10e-3, "polyethylene": 30e-3}
_THINNEST = 0.2e-3
#: Pressure that a layer bears at most [Pa]. Cartilage fails at 14 to 59 MPa (Kerin et al. 1998,
#: Proc Inst Mech Eng H 212:273-280). Polyethylene flows at a mean of three times its yield stress
#: of 25 MPa, and an elastic peak is twice its mean.
_STRENGTHS = {"cartilage": 60e6, "polyethylene": 150e6}
#: Strain far beyond those of a knee at rest; axial force at first contact [N], first depth below
#: first contact [m], and factor of the next depth.
_COMPRESSED, _TOUCH, _FIRST_DEPTH, _DEEPER = 0.3, 0.1, 0.1e-3, 1.2
#: Largest thickness over the shorter side of the bearing surface: a thicker layer is no layer.
_OF_SIDE = 0.5


def check_laws(contact: ContactConfig) -> list[Finding]:
    """Return warnings about doubtful spring laws, by the key of the configuration."""
    sections: dict[str, LayerConfig] = {"contact": contact}
    if contact.femur_layer is not None:
        sections["contact.femur_layer"] = contact.femur_layer
    unchanged = [
        Finding(
            "warning",
            f"{section}.law",
            f'law = "modified" of [{section}] is the linear law, since f = inf and m = 1: give f, '
            "m and reference_indentation_mm (dref, which sets the effective thickness hc), or set "
            'law = "linear"',
        )
        for section, layer in sections.items()
        if layer.is_modified_in_name_alone
    ]
    confined = [
        Finding(
            "warning",
            f"{section}.poissons_ratio",
            f"poissons_ratio of [{section}]: expected at most {NEARLY_INCOMPRESSIBLE:g} for "
            f'independent springs (law = "{layer.law}"), found {layer.poissons_ratio:g}: '
            f"they are {times(confined_excess(layer.poissons_ratio))} too stiff on a patch twice "
            f"as wide as the layer is thick; {SOFTER_MODELS}",
        )
        for section, layer in sections.items()
        if layer.poissons_ratio > NEARLY_INCOMPRESSIBLE
    ]
    return unchanged + confined


def check_layers(
    contact: ContactConfig, tibia: TriangleMesh, model: SurfaceContact
) -> list[Finding]:
    """Return warnings about implausible layers, by the key of the configuration."""
    law = getattr(model, "law", None)
    laws = {"contact": getattr(law, "first", law)}
    layers: dict[str, LayerConfig] = {"contact": contact}
    if contact.femur_layer is not None:
        layers["contact.femur_layer"] = contact.femur_layer
        laws["contact.femur_layer"] = getattr(law, "second", None)
    sides = np.ptp(tibia.vertices, axis=0)[[0, 2]]
    springs = contact.has_laws
    findings: list[Finding] = []
    for section, layer in layers.items():
        thickness = getattr(laws[section], "thickness", None)
        named = (*_of_material(layer, springs=springs), *_of_thickness(layer, thickness, sides))
        findings += [Finding("warning", f"{section}.{key}", text) for key, text in named]
    return findings


def check_strength(config: Config, model: SurfaceContact, start: Pose) -> None:
    """Refuse a modulus below those of cartilage that does not carry the load of the path.

    A knee on such a layer sinks in, and settling searches for minutes before the search fails.
    """
    layers = {"contact": config.contact, "contact.femur_layer": config.contact.femur_layer}
    soft = [
        f"{section}.youngs_modulus_MPa: {layer.youngs_modulus_MPa:g} MPa"
        for section, layer in layers.items()
        if layer is not None and layer.youngs_modulus_MPa < _MODULI["cartilage"][0]
    ]
    path = config.space.path
    if not soft or path.kind == "table":
        return
    try:
        carried = sum(_force_of_compressed(model, start, name) for name in model.compartment_names)
    except PoseError:  # no contact near the start, which has another cause
        return
    if carried < path.axial_force_N:
        raise InputError(
            f"{soft[0]} is too soft: compressed by {100.0 * _COMPRESSED:.0f} %, the layers carry "
            f"{carried:.0f} N (expected at least space.path.axial_force_N = "
            f"{path.axial_force_N:g} N); check the unit: cartilage has about 10 MPa, polyethylene "
            "about 500 to 1000 MPa"
        )


def _force_of_compressed(model: SurfaceContact, start: Pose, compartment: str) -> float:
    """Return the axial force of a compartment at the strain `_COMPRESSED` [N]."""
    touch, depth = pose_at_load(model, start, compartment, _TOUCH).pose, _FIRST_DEPTH
    while True:
        pose = replace(touch, superior=touch.superior - depth)
        loads, _, (_, strain) = model.compartment_loads(pose, compartment)
        if strain >= _COMPRESSED:
            return float(loads[AXIAL_FORCE])
        depth *= _DEEPER


def _of_material(layer: LayerConfig, *, springs: bool) -> Iterator[tuple[str, str]]:
    """Yield keys of an unusual material, with what to do."""
    nu, modulus = layer.poissons_ratio, layer.youngs_modulus_MPa
    if nu > _CONFINED and springs:
        factor = (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
        text = (
            f"{nu:g} makes the layer {factor:.0f} times as stiff as its Young's modulus; the "
            "elastic foundation overestimates this effect near incompressibility: use 0.45 to 0.47"
        )
        yield "poissons_ratio", text
    if nu < _LEAST_RATIO:
        text = f"{nu:g} is unusual for cartilage and polyethylene (about 0.45): check the decimals"
        yield "poissons_ratio", text
    if text := unusual_modulus(modulus):
        yield "youngs_modulus_MPa", text


def unusual_modulus(modulus_MPa: float) -> str:
    """Return what is unusual about a Young's modulus [MPa] of a layer; empty if nothing is."""
    if any(low <= modulus_MPa <= high for low, high in _MODULI.values()):
        return ""
    slips = [
        f"{factor * modulus_MPa:.6g} MPa, {of} as much, would be usual for {material}"
        for of, factor in _SLIPS.items()
        for material, (low, high) in _MODULI.items()
        if low <= factor * modulus_MPa <= high
    ]
    hint = f" ({slips[0]})" if slips else ""
    return (
        f"{modulus_MPa:.6g} MPa is unusual for cartilage (about 10 MPa) and polyethylene (about "
        f"500 to 1000 MPa){hint}: check the unit and the decimals"
    )


def strength_of(contact: ContactConfig) -> float:
    """Return the pressure that the layers of a contact bear at most [Pa]."""
    layers = (contact, contact.femur_layer)
    return min(_STRENGTHS[_material(layer)] for layer in layers if layer is not None)


def _material(layer: LayerConfig) -> str:
    return "cartilage" if layer.youngs_modulus_MPa < _SOFT else "polyethylene"


def _of_thickness(
    layer: LayerConfig, thickness: Any, sides: np.ndarray
) -> Iterator[tuple[str, str]]:
    """Yield the key of a thickness [m] that is unusual for the sides of the bearing surface [m]."""
    if thickness is None:
        return
    key = "thickness_mm" if layer.thickness_file is None else "thickness_file"
    # Measured thicknesses may be anything at some vertices near the rim.
    middle = float(np.median(np.asarray(thickness, dtype=np.float64)))
    material = _material(layer)
    most = min(_THICKEST[material], _OF_SIDE * float(sides.min()))
    if _THINNEST <= middle <= most:
        return
    measured = np.ndim(thickness) > 0
    along, across = 1e3 * sides
    yield (
        key,
        f"a layer {1e3 * middle:.3g} mm thick{' in the median' if measured else ''} is unusual "
        f"for {material} on a bearing surface of {along:.0f} by {across:.0f} mm (expected "
        f"{1e3 * _THINNEST:g} to {1e3 * most:.3g} mm): check the unit and the value",
    )
