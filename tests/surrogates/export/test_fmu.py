import ctypes
import io
import re
import subprocess
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from c_library import COMPILER, needs_compiler
from made_knees import FAMILY_PAIRS, KNEES, middle_of, poses_about
from some_slow import first_rows
from surrogate_arrays import arrays

from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import (
    COORDINATES,
    Pose,
    generalised_force,
    generalised_force_jacobian,
)
from pipeline.store.samples import POSE_COLUMNS
from surrogates.export import fmu
from surrogates.export.c_export import template
from surrogates.export.fmu import VARIABLES
from surrogates.formulations.training_data import FORMULATIONS

fmpy = pytest.importorskip("fmpy", reason="FMPy, which checks and simulates FMUs, is not installed")
from fmpy import fmi2, fmi3  # noqa: E402
from fmpy.fmi1 import FMICallException  # noqa: E402
from fmpy.simulation import instantiate_fmu  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

both_versions = pytest.mark.parametrize("version", ["2.0", "3.0"])
_HEADERS = Path(fmpy.__file__).parent / "c-code"
_MAIN, _OTHER = "inverted_kriging_network", "direct_kriging_network"
_NAMES = [variable.name for variable in VARIABLES]
_INPUTS = list(range(1, 7))
_OUTPUTS = list(range(7, 43))
_FLAGS = list(range(43, 46))
_QUANTITIES = [k for k in range(13, 37) if (k - 13) % 12 >= 6]
#: Each formulation, by families and versions in turn.
_STUDIES = [
    (f"{formulation}_{'_'.join(FAMILY_PAIRS[k % 2])}", ("2.0", "3.0")[k // 2 % 2])
    for k, formulation in enumerate(FORMULATIONS)
]
_STUDIES += [(f"smooth_{_MAIN}", "2.0"), ("smooth_direct_polynomial_poly_fourier", "3.0")]


@cache
def built(key, version):
    return fmu.export_fmu(KNEES[key], version)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A function that returns the folder of an FMU, unpacked once."""

    @cache
    def unpack(key, version):
        folder = tmp_path_factory.mktemp("fmu") / "knee"
        with zipfile.ZipFile(io.BytesIO(built(key, version))) as archive:
            archive.extractall(folder)
        return str(folder)

    return unpack


def wanted_outputs(knee, poses):
    """All real outputs (N, 36) and flags (N, 3) by Python; out of contact the centre is zero."""
    loads, _, x = arrays(knee, poses)
    wrench = loads[:, :, :6].sum(axis=1)
    forces = [generalised_force(Pose.from_array(q), w) for q, w in zip(poses, wrench, strict=True)]
    contact = ~np.isnan(loads[:, :, 9]) & (loads[:, :, :9] != 0.0).any(axis=2)
    rows = [wrench, *np.nan_to_num(loads).transpose(1, 0, 2), np.array(forces)]
    outside = (np.abs(x) > 1.0 + 1e-9).any(axis=(1, 2))
    return np.concatenate(rows, axis=1), np.column_stack([outside, contact])


def touching_poses(count):
    """The first poses of the main knee inside the domain at which both condyles touch."""
    poses = poses_about(KNEES[_MAIN].compartment("medial"), 400)
    _, flags = wanted_outputs(KNEES[_MAIN], poses)
    return poses[(flags == [0, 1, 1]).all(axis=1)][:count].tolist()


def open_slave(folder, version, kind="CoSimulation"):
    """An instance, initialised, behind the same few names in both versions."""
    one = instantiate_fmu(folder, fmpy.read_model_description(folder), kind)
    if version == "2.0":
        one.setupExperiment()
        one.get, one.put = one.getReal, one.setReal
    else:
        one.get, one.put = one.getFloat64, one.setFloat64
    one.enterInitializationMode()
    one.exitInitializationMode()
    return one


@pytest.fixture(params=["2.0", "3.0"])
def slave(request, unpacked):
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    one = open_slave(unpacked(_MAIN, request.param), request.param)
    one.version = request.param
    yield one
    one.terminate()
    one.freeInstance()


def poses_of(key):
    """Poses of both compartments: in the box and around it, in contact and out of it."""
    knee = KNEES[key]
    parts = (knee.compartment("medial"), knee.compartment("lateral"))
    return np.concatenate([poses_about(part, 60, seed) for seed, part in enumerate(parts)])


@needs_compiler
@pytest.mark.parametrize(("key", "version"), first_rows(_STUDIES))
def test_simulated_loads_are_those_of_python(key, version, unpacked):
    folder, poses = unpacked(key, version), poses_of(key)
    assert validate_fmu(folder) == []
    wanted, flags = wanted_outputs(KNEES[key], poses)
    if key.removeprefix("smooth_") == _MAIN:  # the poses ask for every flag
        assert (flags.sum(axis=0) > 10).all()
        assert (~flags).sum(axis=0).min() > 5
    times = 0.01 * np.arange(len(poses))
    columns = [("time", float), *((name, float) for name in POSE_COLUMNS)]
    rows = [tuple(row) for row in np.column_stack([times, poses])]
    for kind, delay in (("CoSimulation", 1), ("ModelExchange", 0)):
        result = fmpy.simulate_fmu(
            folder, fmi_type=kind, input=np.array(rows, dtype=columns), stop_time=times[-1],
            output_interval=0.01, output=[_NAMES[k] for k in _OUTPUTS + _FLAGS],
            start_values=dict(zip(POSE_COLUMNS, poses[0], strict=True)),
        )  # fmt: skip
        # FMPy records a step of co-simulation under its end, with the inputs of its beginning.
        at = np.rint(result["time"] / 0.01).astype(int)
        on_grid = np.abs(result["time"] - times[at]) < 1e-9
        at = np.maximum(at - delay, 0)[on_grid]
        assert len(set(at)) >= len(poses) - 1
        found = np.column_stack([result[_NAMES[k]] for k in _OUTPUTS])[on_grid]
        largest = np.abs(wanted).max(axis=0)
        assert (np.abs(found - wanted[at]) / np.where(largest > 0.0, largest, 1.0)).max() < 1e-9
        said = np.column_stack([result[_NAMES[k]] for k in _FLAGS])[on_grid]
        if kind == "CoSimulation":
            assert np.array_equal(said, flags[at])


def central(knee, pose, direction, step=1e-6):
    """Slopes of all real outputs along a direction by central differences."""
    both = np.array([pose + step * direction, pose - step * direction])
    ahead, behind = wanted_outputs(knee, both)[0]
    return (ahead - behind) / (2.0 * step)


def derivatives(one, unknowns, knowns, seed):
    given = one.getDirectionalDerivative(unknowns, knowns, seed)
    return np.array(given, dtype=float)


def test_derivatives_are_the_jacobian(slave):
    knee = KNEES[_MAIN]
    for pose in poses_of(_MAIN)[::6]:
        slave.put(_INPUTS, pose.tolist())
        jacobian = knee.loads(pose[None], 1).jacobian[0]
        total, wrench = jacobian.sum(axis=0), slave.get(_OUTPUTS[:6])
        geometric = generalised_force_jacobian(Pose.from_array(pose), wrench, total)
        for k, name in enumerate(COORDINATES):
            slopes = derivatives(slave, _OUTPUTS, [1 + k], [1.0])
            for found, wanted, whole in (
                (slopes[:6], total[:, k], total),
                (slopes[6:12], jacobian[0][:, k], jacobian[0]),
                (slopes[18:24], jacobian[1][:, k], jacobian[1]),
                (slopes[30:], geometric[:, k], geometric),
            ):
                # Over the largest of the row, as the loads are over their peak.
                size = np.maximum(np.abs(whole).max(axis=1), 1e-9)
                assert (np.abs(found - wanted) / size).max() < 1e-9, name


def test_derivatives_of_quantities_are_differences(slave):
    knee = KNEES[_MAIN]
    rng = np.random.default_rng(3)
    checked = 0
    for pose in poses_about(knee.compartment("medial"), 400):
        direction = rng.normal(size=6) * [1.0, 1.0, 1.0, 0.01, 0.01, 0.01]
        around = [pose + s * 2e-5 * direction for s in (-1.0, 0.0, 1.0)]
        flags = wanted_outputs(knee, np.array(around))[1]
        if flags[:, 0].any() or not flags[:, 1:].all():
            continue  # at the border of the domain or of contact there are two slopes
        slave.put(_INPUTS, pose.tolist())
        found = derivatives(slave, _QUANTITIES, _INPUTS, direction.tolist())
        wanted = central(knee, pose, direction)[np.array(_QUANTITIES) - 7]
        size = np.array(2 * [3e-3, 3e8, 1e8, 0.1, 0.1, 0.1])
        assert (np.abs(found - wanted) / np.maximum(np.abs(wanted), size)).max() < 1e-4
        checked += 1
    assert checked >= 10


def test_no_slope_out_of_contact_or_by_time(slave):
    poses = poses_of(_MAIN)
    _, flags = wanted_outputs(KNEES[_MAIN], poses)
    slave.put(_INPUTS, poses[~flags[:, 1] & ~flags[:, 2]][0].tolist())
    assert not derivatives(slave, _OUTPUTS, _INPUTS, 6 * [1.0]).any()
    slave.put(_INPUTS, middle_of(KNEES[_MAIN])[0].tolist())
    assert derivatives(slave, _OUTPUTS, [1], [1.0]).all()
    assert not derivatives(slave, _OUTPUTS, [0], [1.0]).any()
    assert not derivatives(slave, _OUTPUTS, [], []).any()


def test_start_and_reset(slave):
    start = [
        float(v.start)
        for v in fmpy.read_model_description(slave.unzipDirectory).modelVariables[1:7]
    ]
    space = KNEES[_MAIN].compartment("medial").space
    assert start == pytest.approx(space.path.poses([0.5])[0].tolist(), abs=0.0)
    before = slave.get(_OUTPUTS)
    assert before == pytest.approx(wanted_outputs(KNEES[_MAIN], np.array([start]))[0][0], rel=1e-9)
    slave.put(_INPUTS, touching_poses(1)[0])
    assert not set(slave.get(_OUTPUTS)) & set(before)
    slave.reset()
    assert slave.get(_INPUTS + _OUTPUTS) == [*start, *before]


def test_states_are_kept_and_serialised(slave):
    names = ["getFMUState", "setFMUState", "freeFMUState", "serializeFMUState"]
    names.append("deserializeFMUState")
    if slave.version == "2.0":
        names = [n.replace("State", "state").replace("deser", "deSer") for n in names]
    take, put, free, serialise, restore = (getattr(slave, name) for name in names)
    first, second = touching_poses(2)
    slave.put(_INPUTS, first)
    slave.doStep(0.0, 0.25)
    kept = slave.get([0, *_INPUTS, *_OUTPUTS])
    assert kept[:7] == [0.25, *first]
    assert all(kept[7:])
    state = take()
    content = serialise(state)
    slave.put(_INPUTS, second)
    slave.doStep(0.25, 0.25)
    assert not set(slave.get(_OUTPUTS)) & set(kept)
    put(state)
    assert slave.get([0, *_INPUTS, *_OUTPUTS]) == kept
    free(state)
    slave.reset()
    again = restore(content)
    put(again)
    assert slave.get([0, *_INPUTS, *_OUTPUTS]) == kept
    free(again)
    broken = np.frombuffer(content, dtype=float).copy()
    broken[3] = np.nan
    for bad in (content[:-1], broken.tobytes()):
        with pytest.raises(Exception, match=r"[dD]e[sS]erialize"):
            restore(bad)


def refused(call, *arguments):
    """The status of a call that FMPy refuses."""
    with pytest.raises(FMICallException) as found:
        call(*arguments)
    return found.value.status


def test_bad_calls(slave):
    discard, error = 2, 3
    before = slave.get(_INPUTS)
    for value in (np.nan, np.inf):
        assert refused(slave.put, [1, 2], [0.1, value]) == discard
    assert refused(slave.put, [7], [1.0]) == error
    assert refused(slave.put, [0], [1.0]) == error
    assert refused(slave.get, [43]) == error
    assert refused(slave.get, [2**31]) == error
    assert refused(slave.getBoolean, [42]) == error
    assert refused(slave.getBoolean, [46]) == error
    assert refused(slave.setBoolean, [43], [True]) == error
    assert refused(slave.getString, [1]) == error
    assert refused(derivatives, slave, [43], [1], [1.0]) == error
    assert refused(derivatives, slave, [1], [1], [1.0]) == error
    assert refused(derivatives, slave, [7], [8], [1.0]) == error
    assert refused(slave.doStep, 0.0, -0.1) == error
    assert refused(slave.doStep, 0.0, np.nan) == error
    assert slave.get(_INPUTS) == before  # nothing of a refused call is kept


@needs_compiler
@both_versions
def test_the_token_is_asked_for(version, unpacked, capfd):
    folder = unpacked(_MAIN, version)
    kind = fmi2.FMU2Slave if version == "2.0" else fmi3.FMU3Slave
    other = kind(guid="{0}", unzipDirectory=folder, modelIdentifier="knee", instanceName="one")
    with pytest.raises(Exception, match="instantiate"):
        other.instantiate()
    said = capfd.readouterr()
    assert "expected the token of modelDescription.xml" in said.out + said.err


@needs_compiler
@both_versions
def test_flags_change_at_events_alone_in_model_exchange(version, unpacked):
    one = open_slave(unpacked(_MAIN, version), version, "ModelExchange")
    discrete = one.newDiscreteStates if version == "2.0" else one.updateDiscreteStates
    inside = middle_of(KNEES[_MAIN])[0].tolist()
    poses = poses_of(_MAIN)
    _, flags = wanted_outputs(KNEES[_MAIN], poses)
    away = poses[(flags == [1, 0, 0]).all(axis=1)][0].tolist()
    one.put(_INPUTS, inside)
    discrete()
    one.enterContinuousTimeMode()
    assert one.getBoolean(_FLAGS) == [0, 1, 1]
    assert not one.completedIntegratorStep()[0]
    one.put(_INPUTS, away)
    assert one.getBoolean(_FLAGS) == [0, 1, 1]
    assert not any(one.get(_OUTPUTS))
    assert one.completedIntegratorStep()[0]
    one.enterEventMode()
    discrete()
    assert one.getBoolean(_FLAGS) == [1, 0, 0]
    one.enterContinuousTimeMode()
    assert not one.completedIntegratorStep()[0]
    one.freeInstance()


@needs_compiler
@both_versions
def test_the_library_has_the_functions_of_the_standard_alone(version, unpacked):
    library = next((Path(unpacked(_MAIN, version)) / "binaries").rglob("knee.*"))
    assert library.parent.name == fmu.this_platform(version).folder
    loaded = ctypes.CDLL(str(library))
    header = (_HEADERS / f"fmi{version[0]}FunctionTypes.h").read_text()
    names = re.findall(r"\b(fmi\d\w+)TYPE\b", header)
    assert len(names) > 40
    assert [name for name in names if not hasattr(loaded, name)] == []
    assert not hasattr(loaded, "knee_loads")
    assert b"/tmp" not in library.read_bytes()


@needs_compiler
@both_versions
def test_declarations_are_those_of_the_standard(version, tmp_path):
    """Behind the standard's own headers, whose prototypes must fit, and with all warnings."""
    number = version[0]
    with zipfile.ZipFile(io.BytesIO(built(_MAIN, version))) as archive:
        own = archive.read("sources/knee_fmu.c").decode()
        (tmp_path / "knee.h").write_bytes(archive.read("sources/knee.h"))
    types = template("knee", f"fmi/fmi{number}_types")
    log = types[types.rindex("typedef struct {") :]
    standard = own.replace(types, f'#include "fmi{number}Functions.h"\n{log}')
    assert standard != own
    (tmp_path / "own.c").write_text(own)
    (tmp_path / "standard.c").write_text(standard)
    strict = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-pedantic"]
    plain = f"-DFMI{number}_OVERRIDE_FUNCTION_PREFIX"
    command = [COMPILER, "-std=c99", "-c", "-o", tmp_path / "x.o", plain]
    subprocess.run([*command, *strict, tmp_path / "own.c"], check=True)
    subprocess.run([*command, f"-I{_HEADERS}", tmp_path / "standard.c"], check=True)
    # Linked into a program, several models tell each other by name.
    del command[-1]
    subprocess.run([*command, tmp_path / "own.c"], check=True)
    assert f"knee_fmi{number}DoStep".encode() in (tmp_path / "x.o").read_bytes()


@both_versions
def test_what_an_fmu_holds(version):
    content = fmu.export_fmu(KNEES[_MAIN], version, "mine", compiled=False)
    assert content == fmu.export_fmu(KNEES[_MAIN], version, "mine", compiled=False)
    assert validate_fmu(io.BytesIO(content)) == []
    archive = zipfile.ZipFile(io.BytesIO(content))
    wanted = {"modelDescription.xml", "documentation/licenses/license.txt"}
    wanted |= {f"sources/{name}" for name in ("mine.h", "mine.c", "mine_fmu.c")}
    wanted |= {"sources/buildDescription.xml"} if version == "3.0" else set()
    assert set(archive.namelist()) == wanted
    assert archive.namelist() == sorted(wanted)
    assert "Apache License" in archive.read("documentation/licenses/license.txt").decode()
    model = fmpy.read_model_description(io.BytesIO(content))
    files = [f for b in model.buildConfigurations for s in b.sourceFileSets for f in s.sourceFiles]
    if version == "2.0":
        assert files == ["mine.c", "mine_fmu.c"]
    else:
        text = archive.read("sources/buildDescription.xml").decode()
        assert re.findall(r'SourceFile name="(.*?)"', text) == ["mine.c", "mine_fmu.c"]
    assert model.guid in archive.read("sources/mine_fmu.c").decode()
    other = fmu.export_fmu(KNEES[_OTHER], version, "mine", compiled=False)
    assert fmpy.read_model_description(io.BytesIO(other)).guid != model.guid


@both_versions
def test_variables_carry_units_and_what_they_depend_on(version):
    content = fmu.export_fmu(KNEES[_OTHER], version, compiled=False)
    model = fmpy.read_model_description(io.BytesIO(content))
    variables = {v.name: v for v in model.modelVariables}
    assert list(variables) == _NAMES
    assert [int(v.valueReference) for v in variables.values()] == list(range(46))
    loads = [f"total_{c}" for c in WRENCH_COLUMNS]
    loads += [f"{part}_{c}" for part in COMPARTMENTS for c in LOAD_COLUMNS]
    assert _NAMES[1:37] == [*POSE_COLUMNS, *loads]
    units = {"N": "N", "Nm": "N.m", "m2": "m2", "Pa": "Pa", "m": "m", "rad": "rad"}
    for name in _NAMES[1:43]:
        assert variables[name].unit == units[name.rsplit("_", 1)[1]]
        assert variables[name].description
    bases = {u.name: u.baseUnit for u in model.unitDefinitions}
    assert (bases["Pa"].kg, bases["Pa"].m, bases["Pa"].s) == (1, -1, -2)
    assert (bases["N.m"].kg, bases["N.m"].m, bases["N.m"].s) == (1, 2, -2)
    assert len(model.outputs) == 39
    for unknown in model.outputs + model.initialUnknowns:
        assert [v.name for v in unknown.dependencies] == list(POSE_COLUMNS)
    assert not model.coSimulation.canBeInstantiatedOnlyOncePerProcess
    text = zipfile.ZipFile(io.BytesIO(content)).read("modelDescription.xml").decode()
    ability = "providesDirectionalDerivative" + ("s" if version == "3.0" else "")
    assert text.count(f'{ability}="true"') == 2  # FMPy does not read it in 3.0
