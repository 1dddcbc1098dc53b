"""Walks of left legs and of both legs: mirror images of OpenSim-JAM's example."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from jam_walks import AS_JAM, JAM_WALK
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import read_motion_table, write_motion_table
from dynamics.musculoskeletal.leg_sides import counterpart
from pipeline.studies.dispatch import load_study
from pipeline.studies.muscle_walks.frames import (
    contact_sides,
    contact_table,
    forces_table,
    ligament_forces,
)
from pipeline.studies.muscle_walks.setup import prepare_walk

#: Signs of vectors, of body-fixed angles XYZ, and of the inertia xx yy zz xy xz yz.
_VECTOR, _TURN, _INERTIA = (1, 1, -1), (-1, -1, 1), (1, 1, 1, 1, -1, -1)
_SIGNS = (
    dict.fromkeys(("location", "translation", "mass_center", "gravity"), _VECTOR)
    | dict.fromkeys(("orientation", "xyz_body_rotation"), _TURN)
    | {"inertia": _INERTIA}
)


def mirrored_names(element):
    """Return a copy of an element of OpenSim's XML in which names are those of the other leg."""
    root = ET.fromstring(ET.tostring(element))
    for each in root.iter():
        if "name" in each.attrib:
            each.set("name", counterpart(each.get("name")))
        if each.text and not each.tag.endswith(("file", "directory", "prefix")):
            each.text = " ".join(map(counterpart, each.text.split()))
    return root


def mirrored_model(element):
    """Return the mirror image of a model, or of a part of one."""
    root = mirrored_names(element)
    for each in root.iter():
        if each.tag in _SIGNS:
            _sign(each, _SIGNS[each.tag])
        elif each.tag == "TransformAxis":
            turns = each.get("name").startswith("rotation")
            _sign(each.find("axis"), (-1, -1, 1) if turns else _VECTOR)
        elif each.tag == "quadrant" and each.text.endswith("z"):
            each.text = {"z": "-z", "+z": "-z", "-z": "z"}[each.text]
        elif each.tag == "Smith2018ContactMesh":
            factors = each.find("scale_factors")
            if factors is None:
                factors = ET.SubElement(each, "scale_factors")
                factors.text = "1 1 1"
            _sign(factors, _VECTOR)
    return root


def mirrored_loads(table):
    """Return a table of ground forces (columns ..vx, ..px, ..torque_1_x) of the mirror image."""
    values = table.values.copy()
    for k, name in enumerate(table.names):
        reversed_axes = "xy" if "torque" in name else "z"
        values[:, k] *= -1.0 if name[-1] in reversed_axes else 1.0
    return replace(table, values=values)


def _sign(element, signs):
    numbers = map(float, element.text.split())
    element.text = " ".join(repr(s * x) for s, x in zip(signs, numbers, strict=True))


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("opensim")]
#: Some instants of early stance.
TIMES = ("comak.start_s=1.30", "comak.stop_s=1.32")
#: Signs of the columns of loads that a mirror image reverses: vectors along z, moments about x, y.
REVERSED = ("force_z_N", "moment_x_Nm", "moment_y_Nm", "cop_z_m")


def simulated(overrides):
    """Return a walk, its result and its tables of contacts and forces."""
    setup = prepare_walk(load_study(JAM_WALK, (*AS_JAM, *TIMES, *overrides)))
    result = setup.comak.run(setup.first_values())
    forces = forces_table(setup, result, ligament_forces(setup, result))
    return setup, result, contact_table(result), forces


@pytest.fixture(scope="module")
def right(jam_folder):
    return simulated(())


def written(folder, document, name):
    path = folder / name
    ET.ElementTree(document).write(path)
    return path


def linked(jam_folder, folder):
    """Let a model in a folder find the mesh files of the example."""
    meshes = jam_folder / "models/lenhart2015/Geometry"
    (folder / "Geometry").symlink_to(meshes.resolve(), target_is_directory=True)


def parsed(path):
    return ET.parse(path).getroot()


def settings_of(jam_folder):
    """Return the example's settings without the files of loads and reserves."""
    found = parsed(jam_folder / "examples/walking/inputs/comak_settings.xml")
    for tag in ("force_set_file", "external_loads_file"):
        found[0].remove(found[0].find(tag))
    return found


def mirrored_example(jam_folder, folder):
    """Write the mirror image of the example's model, motion, loads and settings; return keys."""
    models = jam_folder / "models/lenhart2015"
    linked(jam_folder, folder)
    results = jam_folder / "examples/walking/results/comak-inverse-kinematics"
    motion = read_motion_table(results / "overground_17_ik.mot")
    motion = replace(motion, names=tuple(map(counterpart, motion.names)))
    write_motion_table(folder / "ik.mot", motion, title="Coordinates")
    grf = read_motion_table(models / "motion_data/overground_17_grf.mot")
    write_motion_table(folder / "overground_17_grf.mot", mirrored_loads(grf), title="loads")
    files = {
        "model": mirrored_model(parsed(models / "lenhart2015.osim")),
        "settings": mirrored_names(settings_of(jam_folder)),
        "reserves": mirrored_names(parsed(models / "lenhart2015_reserve_actuators.xml")),
        "external_loads": mirrored_names(
            parsed(models / "motion_data/overground_17_ext_loads.xml")
        ),
    }
    paths = {key: written(folder, tree, f"{key}.xml") for key, tree in files.items()}
    return [f'walk.{key}="{path}"' for key, path in (paths | {"motion": folder / "ik.mot"}).items()]


def test_a_mirrored_walk_is_that_of_the_other_leg(right, jam_folder, tmp_path):
    setup, found, contacts, forces = simulated(mirrored_example(jam_folder, tmp_path))
    expected = right[1]
    assert tuple(map(counterpart, found.secondary)) == expected.secondary
    assert {side.leg for side in contact_sides(setup.model, setup.contacts).values()} == {"left"}
    assert_allclose(found.values, expected.values, rtol=0, atol=1e-10)
    assert_allclose(found.activations, expected.activations, rtol=0, atol=1e-9)
    for mine, other in ((contacts, right[2]), (forces, right[3])):
        for k, name in enumerate(mine.names):
            sign = -1.0 if name.endswith(REVERSED) else 1.0
            values = other.column(counterpart(name))
            assert_allclose(mine.values[:, k], sign * values, rtol=1e-9, atol=1e-6, err_msg=name)
