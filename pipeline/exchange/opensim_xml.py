"""Set-up file of external loads for OpenSim, in the folder of the file of loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS

#: Bodies of OpenSim-JAM's right knee: femur and tibia.
JAM_BODIES = ("femur_distal_r", "tibia_proximal_r")
#: Version of the document that OpenSim 4 reads and writes.
_VERSION = "40000"


def external_loads_xml(
    loads: Path,
    bodies: tuple[str, str] = JAM_BODIES,
    *,
    storage: str = "knee contact loads",
    parts: Sequence[str] = COMPARTMENTS,
) -> str:
    """Return an `ExternalLoads` document for a file of loads (`loads_along.external_loads`).

    The document has one `ExternalForce` for each compartment of `parts` and body. Forces, points
    and moments are expressed in the tibial body, the second of `bodies`, whose frame must be the
    tibial frame of the run. The document names the `.sto` or `.mot` file of the loads without a
    folder: OpenSim searches next to the document. `storage` is the name in the first line of that
    file. Raises `InputError` if the names of the bodies are empty or equal.
    """
    femur, tibia = (name.strip() for name in bodies)
    if not femur or not tibia or femur == tibia:
        raise InputError(f"bodies: expected two names, femur and tibia, found {list(bodies)}")
    document = ElementTree.Element("OpenSimDocument", Version=_VERSION)
    external = ElementTree.SubElement(document, "ExternalLoads", name=f"{loads.stem}")
    objects = ElementTree.SubElement(external, "objects")
    for part in parts:
        for body, name in (("femur", femur), ("tibia", tibia)):
            head = f"{part}_{body}"
            force = ElementTree.SubElement(objects, "ExternalForce", name=head)
            for key, text in (
                ("applied_to_body", name),
                ("force_expressed_in_body", tibia),
                ("point_expressed_in_body", tibia),
                ("force_identifier", f"{head}_force_v"),
                ("point_identifier", f"{head}_force_p"),
                ("torque_identifier", f"{head}_torque_"),
                ("data_source_name", storage),
            ):
                ElementTree.SubElement(force, key).text = text
    ElementTree.SubElement(external, "groups")
    ElementTree.SubElement(external, "datafile").text = loads.name
    ElementTree.indent(document)
    return (
        '<?xml version="1.0" encoding="UTF-8" ?>\n'
        + ElementTree.tostring(document, encoding="unicode")
        + "\n"
    )
