"""Plausibility of ligament bundles: the side that a name states, and the place about the bones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from dynamics.ligaments.bundles import Ligament, ligament_strains
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.wording import counted

# Words of names in lower case, English, German and Latin. Bundles of a cruciate ligament and
# ligaments of a meniscus are named after a side on which only one of their ends is.
_BETWEEN = re.compile(r"acl|pcl|lca|lcp|vkb|hkb|cruci|kreuz|menis")
_SIDES = {
    "medial": re.compile(
        r"mcl|(?<![a-z])(tcl|lcm|pol(?![a-z]))|innenband|inneres|(?<!ro)medial|"
        r"coll.*tibial|tibial.*coll"
    ),
    "lateral": re.compile(
        r"lcl|(?<![a-z])(fcl|pfl|itb|al[ls](?![a-z]))|aussenband|[aä]usseres|"
        r"(?<!ro)(?<!ol)lateral|coll.*fibular|fibular.*coll"
    ),
}
#: Largest distance of an attachment across the origin [m], which may be off the middle of the knee.
_ACROSS = 10e-3
#: Distances [m] along x, y and z by which attachments may pass the box of a bearing surface at its
#: low and its high end. Two natural knees (Lenhart et al. 2015; S192803) need at most 11 mm in z on
#: the femur; on the tibia 6 mm in x, 58 mm downwards and 13 mm in z.
_REACH = {
    "femoral": ((30e-3, 5e-3, 35e-3), (30e-3, 60e-3, 35e-3)),
    "tibial": ((35e-3, 80e-3, 35e-3), (35e-3, 10e-3, 35e-3)),
}
#: Largest strain over the passive motion, and largest slack (measured: -0.18 to 0.24).
_STRAIN = 0.3


def stated_side(name: str) -> str | None:
    """Return the side, "medial" or "lateral", that the name of a bundle states; None if none."""
    words = name.casefold()
    sides = [side for side, pattern in _SIDES.items() if pattern.search(words)]
    return sides[0] if len(sides) == 1 and not _BETWEEN.search(words) else None


def check_sides(ligaments: Sequence[Ligament]) -> None:
    """Raise an InputError if bundles of a right knee lie on another side than their names state."""
    sides = {each.name: stated_side(each.name) for each in ligaments}
    away = {
        each.name: max(each.femoral[2], each.tibial[2])
        if sides[each.name] == "medial"
        else -min(each.femoral[2], each.tibial[2])
        for each in ligaments
        if sides[each.name]
    }
    wrong = [name for name, across in away.items() if across > _ACROSS]
    if not wrong:
        return
    remedy = "check the signs and the order of the coordinates"
    if len(wrong) == len(away):
        remedy = (
            "z points to the body's right, as in the files of the meshes, and a left knee is "
            "mirrored with its meshes: change the side of the knee, or the signs of femoral_z_mm "
            "and tibial_z_mm"
        )
    name, side = wrong[0], sides[wrong[0]]
    others = f" ({counted(len(wrong), 'bundle')} in all)" if len(wrong) > 1 else ""
    raise InputError(
        f"ligament {name}: expected on the {side} side of the knee, as the name states, found an "
        f"attachment {1e3 * away[name]:.0f} mm on the other side{others}; {remedy}"
    )


def far_attachments(ligaments: Sequence[Ligament], surfaces: Mapping[str, FloatArray]) -> str:
    """Return a text on attachments far from vertices (V, 3) [m] of a bone; "" if all are near."""
    far = []
    for end, vertices in surfaces.items():
        below, above = np.array(_REACH[end])
        low, high = vertices.min(axis=0) - below, vertices.max(axis=0) + above
        for each in ligaments:
            point = getattr(each, end)
            if (beyond := float(np.maximum(low - point, point - high).max())) > 0.0:
                far.append((beyond, f"the {end} attachment of {each.name}", 1e3 * point))
    if not far:
        return ""
    beyond, what, point = max(far, key=lambda found: found[0])
    others = f" ({counted(len(far), 'attachment')} in all)" if len(far) > 1 else ""
    return (
        f"expected attachments near the bones, found {what} at {point.round(1).tolist()} mm in the "
        f"frame of the bone, {1e3 * beyond:.0f} mm beyond what bones reach about the bearing "
        f"surface{others}; check unit, axes and origin of the table, which are those of the files "
        "of the meshes, in mm"
    )


def unfit_strains(ligaments: Sequence[Ligament], poses: FloatArray) -> str:
    """Return what is told about bundles torn or slack over poses (n, 6) [rad, m]; "" if none."""
    if not ligaments:
        return ""
    largest = ligament_strains(ligaments, poses).max(axis=0)
    k = int(np.abs(largest).argmax())
    if abs(largest[k]) <= _STRAIN:
        return ""
    return (
        f"expected a largest strain of {-_STRAIN:g} to {_STRAIN:g} on the path, since ligaments "
        f"tear at about 0.2, found {largest[k]:.2f} in {ligaments[k].name}; check attachments, "
        "rest lengths, and that the table belongs to this knee"
    )
