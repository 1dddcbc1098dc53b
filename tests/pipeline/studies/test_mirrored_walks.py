"""Walks of left legs and of both legs: mirror images of OpenSim-JAM's example."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from jam_walks import AS_JAM, JAM_WALK
from mirrored import mirrored_loads, mirrored_model, mirrored_names, two_knees
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import read_motion_table, write_motion_table
from dynamics.musculoskeletal.leg_sides import counterpart
from pipeline.studies.dispatch import load_study
from pipeline.studies.muscle_walks.frames import contact_sides
from pipeline.studies.muscle_walks.setup import prepare_walk
from pipeline.studies.muscle_walks.tables import contact_table, forces_table, ligament_forces

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


def both(names):
    """Return names and those of the other leg."""
    return (*names, *(n for n in map(counterpart, names) if n not in names))


def two_knees_example(jam_folder, folder):
    """Write the example with a left knee that is the mirror image of the right one; return keys."""
    models = jam_folder / "models/lenhart2015"
    linked(jam_folder, folder)
    settings = settings_of(jam_folder)
    sets = settings.find(".//COMAKSecondaryCoordinateSet/objects")
    sets.extend(list(mirrored_names(sets)))
    primary, prescribed = (
        settings.find(f".//{kind}_coordinates") for kind in ("primary", "prescribed")
    )
    primary.text = " ".join(both(primary.text.split()))
    free = {*primary.text.split(), *(e.text.strip() for e in sets.iter("coordinate"))}
    named = [path for path in prescribed.text.split() if path not in free and "/pf_l/" not in path]
    prescribed.text = " ".join(named)
    reserves = parsed(models / "lenhart2015_reserve_actuators.xml")
    actuators = reserves.find("ForceSet/objects")
    known = {each.findtext("coordinate") for each in actuators}
    image = mirrored_names(actuators)
    actuators.extend(each for each in image if each.findtext("coordinate") not in known)
    results = jam_folder / "examples/walking/results/comak-inverse-kinematics"
    motion = read_motion_table(results / "overground_17_ik.mot")
    names = [path.text.strip().rsplit("/", 1)[1] for path in sets.iter("coordinate")]
    added = [name for name in names if name not in motion.names]
    columns = [motion.column(counterpart(name)) for name in added]
    motion = replace(
        motion,
        names=(*motion.names, *added),
        values=np.column_stack([motion.values, *columns]),
    )
    write_motion_table(folder / "ik.mot", motion, title="Coordinates")
    loads = models / "motion_data/overground_17_ext_loads.xml"
    return [
        f'walk.model="{written(folder, two_knees(parsed(models / "lenhart2015.osim")), "m.osim")}"',
        f'walk.settings="{written(folder, settings, "comak.xml")}"',
        f'walk.reserves="{written(folder, reserves, "reserves.xml")}"',
        f'walk.motion="{folder / "ik.mot"}"',
        f'walk.external_loads="{loads}"',
    ]


def test_each_of_two_knees_walks_as_it_does_alone(right, jam_folder, tmp_path):
    setup, found, contacts, forces = simulated(two_knees_example(jam_folder, tmp_path))
    sides = contact_sides(setup.model, setup.contacts)
    assert {name: side.leg for name, side in sides.items()} == {
        **dict.fromkeys(("tf_contact_r", "pf_contact_r"), "right"),
        **dict.fromkeys(("tf_contact_l", "pf_contact_l"), "left"),
    }
    assert not found.flags
    places = [found.secondary.index(name) for name in right[1].secondary]
    assert_allclose(found.values[:, places], right[1].values, rtol=0, atol=1e-5)
    for name in right[3].names:
        mine = name if name in forces.names else f"{name}_r"
        assert_allclose(forces.column(mine), right[3].column(name), rtol=0, atol=2.0, err_msg=name)
    for part in ("medial", "lateral"):
        force = right[2].column(f"tf_contact_{part}_force_y_N")
        assert_allclose(contacts.column(f"tf_contact_r_{part}_force_y_N"), force, rtol=0, atol=2.0)
        assert contacts.column(f"tf_contact_l_{part}_force_y_N").max() > 50.0
