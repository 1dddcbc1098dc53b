"""Study of laxity tests: states with the ligaments of a table, calibration, and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dynamics.laxity.parameters import MENISCI, OF_GROUP, Answer
from dynamics.laxity.posterior import Draws, Fit, draw, fit, linear_covariance, predict
from dynamics.laxity.states import DIRECTIONS, LaxityKnee, LaxityStates
from dynamics.ligaments.bundle_tables import DRAW, MENISCI_COLUMN, ligament_rows, points_in_file
from dynamics.ligaments.bundles import Ligament, ligament_forces, ligament_strains
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.flags import worded
from foundation.base.pose import FLEXION, POSE_COLUMNS, POSITION, Pose, rotation_matrix
from foundation.base.threads import one_thread
from foundation.base.wording import counted
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from pipeline.config.schema import Config
from pipeline.progress import say
from pipeline.reports.units import number
from pipeline.simulation import ligament_places
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.laxity.documents import (
    Calibrated,
    HeldOut,
    Information,
    LaxityDocument,
    Pair,
    Parameter,
    TestedLaxity,
)
from pipeline.studies.laxity.page import Page, pictures
from pipeline.studies.laxity.setup import LaxitySetup, prepare, strained

#: Half width of 90 % of a normal distribution, over its standard deviation.
NORMAL_90 = 1.6448536269514722
#: Parameters that the information of a test names, and the part by which they narrow at least.
_NAMED, _NARROWED = 4, 0.02
#: Least correlation of parameters that are not told apart, most such pairs, and the largest width
#: of a parameter that the tests inform.
_TOGETHER, _PAIRS, _INFORMED = 0.3, 8, 0.95
#: Least slack of a bundle that is told [1], and largest error of a surrogate that is not [mm, deg].
_SLACK, _SURROGATE = 0.05, 0.1
#: Bundles through a bone that are named.
_BUNDLES = 4
LIGAMENTS, OSIM, PARAMETERS = "ligaments.csv", "ligaments.osim", "parameters.csv"
#: Draws of the posterior and of the prior.
DRAWN, PRIOR = "ligament_draws.csv", "prior_draws.csv"
STATES, TENSIONS = "laxity.csv", "tensions.csv"


class Tested(NamedTuple):
    """A knee with the ligaments of the table or with calibrated ones, and its answer."""

    knee: LaxityKnee
    answer: Answer


class Calibration(NamedTuple):
    """A calibration, and what it predicts [mm, deg]."""

    found: Fit
    #: Answers of all tests of the configuration: of the fit, and of the draws.
    tested: Tested
    drawn: tuple[Answer, ...]
    #: Means and standard deviations (N,) of measurements of all displacements.
    means: FloatArray
    deviations: FloatArray
    held_out: list[HeldOut]


def carry_out(setup: LaxitySetup, job: Job) -> Outcome:
    """Compute the tests, calibrate the ligaments if tests are measured, and return the results."""
    with one_thread:
        setup.original.prepare(say)
        setup = strained(setup)
        say(f"{len(setup.tests)} laxity tests")
        given = setup.model.base
        calibration = _calibrated(setup, job) if setup.settings.calibrated else None
    knees = {"given": Tested(setup.model.uncertain.knee, given)}
    drawn = np.empty((0, 0))
    if calibration is not None:
        knees["calibrated"] = calibration.tested
        if calibration.drawn:
            sizes = setup.model.uncertain.sizes
            drawn = sizes * [each.z for each in calibration.drawn]
    document = _document(setup, knees, calibration, job)
    tables = _tables(setup, knees, calibration, job)
    last = list(knees.values())[-1]
    page = Page(document, setup.tests, *last, drawn)
    shown = {"summary": document, "pictures": pictures(page)}
    return Outcome(document, _lines(document), page=shown, tables=tables)


def _calibrated(setup: LaxitySetup, job: Job) -> Calibration:
    settings, known = setup.settings, setup.fitted[setup.test_of]
    say(f"ligaments fitted to {setup.fitted.sum()} tests")
    model, measured = setup.model_of(setup.fitted), setup.measurements.rows(known)
    found = fit(model, measured)
    answer = setup.model(found.answer.z)
    predicted = _predicted(setup, found, answer, known)
    drawn = tuple[Answer, ...]()
    if settings.draws:
        say(f"{settings.draws} draws of the posterior")
        draws = draw(model, measured, found, settings.draws, np.random.default_rng(settings.seed))
        drawn, errors = _followed(setup, draws, answer)
        values = np.array([each.values for each in drawn])
        predicted = predict(setup.measurements, known, errors, values)
    held_out: list[HeldOut] = []
    for split in settings.splits_deg:
        try:
            held_out += _split(setup, split)
        except EquilibriumError as error:
            job.note(f"laxity.splits_deg: {split[0]:g} to {split[1]:g} deg: {error}")
    tested = Tested(setup.model.uncertain.at(found.answer.z), answer)
    return Calibration(found, tested, drawn, *predicted, held_out)


def _predicted(
    setup: LaxitySetup, found: Fit, answer: Answer, known: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of all displacements (N,) for a linear model."""
    slope = answer.jacobian
    at_prior = answer.values - slope @ answer.z
    return predict(setup.measurements, known, found.drawn_errors, at_prior, slope)


def _followed(
    setup: LaxitySetup, draws: Draws, answer: Answer
) -> tuple[tuple[Answer, ...], FloatArray]:
    """Return the answers of all tests for draws that have states in all of them, and the errors."""
    answers, errors = [], []
    for each, row in zip(draws.answers, draws.model_errors, strict=True):
        try:
            answers.append(setup.model(each.z, answer))
            errors.append(row)
        except EquilibriumError:
            continue
    return tuple(answers), np.array(errors).reshape(-1, len(DIRECTIONS))


def _split(setup: LaxitySetup, split: tuple[float, float]) -> list[HeldOut]:
    """Return the predictions of the measured tests in a range of flexion [deg] by all others."""
    inside = (setup.flexion >= split[0]) & (setup.flexion <= split[1])
    others, own = setup.measured & ~inside, setup.measured & inside
    if not own.any() or not others.any():
        return []
    say(f"tests of {split[0]:g} to {split[1]:g} deg predicted by the others")
    known = others[setup.test_of]
    found = fit(setup.model_of(others), setup.measurements.rows(known))
    means, deviations = _predicted(setup, found, setup.model(found.answer.z), known)
    rows = []
    for k in np.flatnonzero(own).tolist():
        last = setup.last[k]
        measured, mean, sd = setup.measurements.values[last], means[last], deviations[last]
        rows.append(
            HeldOut(
                test=setup.tests[k].title, split=f"{split[0]:g} to {split[1]:g}°",
                measured=measured, predicted=mean, sd=sd, z=(mean - measured) / sd,
                trivial=_trivial(setup, others, k),
            )
        )  # fmt: skip
    return rows


def _trivial(setup: LaxitySetup, others: NDArray[np.bool_], k: int) -> float | None:
    """Return the laxity of test k [mm or deg] by interpolation of those measured in others (T,)."""
    alike = np.array([test.direction == setup.tests[k].direction for test in setup.tests])
    known = np.flatnonzero(others & alike)
    if not len(known):
        return None
    known = known[np.argsort(setup.flexion[known])]
    values = setup.measurements.values[setup.last[known]]
    return float(np.interp(setup.flexion[k], setup.flexion[known], values))


def _document(
    setup: LaxitySetup, knees: Mapping[str, Tested], calibration: Calibration | None, job: Job
) -> LaxityDocument:
    given, (knee, answer) = knees["given"], list(knees.values())[-1]
    notes = [*job.notes, *_slack_notes(setup, given.answer.states)]
    contact, model = "contact model", setup.original.model
    if setup.settings.run:
        contact = f"surrogate of {setup.settings.run}"
    if setup.settings.run and model is not None:
        notes += _surrogate_notes(model, knee, answer.states)
    else:
        notes += _flag_notes(knee, answer.states)
    notes += [note for each in answer.states for note in _other_rests(knee, each)]
    if model is not None:
        notes += _passing_notes(model, knee, answer.states)
    notes += _wrapping_notes(setup, knee, answer.states)
    return LaxityDocument(
        name=setup.config.run.name,
        contact=contact,
        bundles=len(knee.ligaments),
        tests=[_test(setup, given, calibration, k) for k in range(len(setup.tests))],
        notes=notes,
        calibration=None if calibration is None else _calibration(setup, calibration),
        seconds=job.seconds,
    )


def _flag_notes(knee: LaxityKnee, tests: Sequence[LaxityStates]) -> Iterator[str]:
    """Yield the flags of the contact in states of tests."""
    for states in tests:
        flags = [flag for row in states.poses for flag in knee.contact.loads(Pose(*row)).flags]
        if flags:
            yield f"test {states.test.name}: {worded(flags)}"


def _other_rests(knee: LaxityKnee, states: LaxityStates) -> Iterator[str]:
    """Yield where else the released knee rests, if it does."""
    others = knee.other_rests(states)
    if len(others):
        away = np.abs(others - states.poses[0]).max(axis=0)
        yield (
            f"test {states.test.name}: released from its ends, the knee also rests "
            f"{1e3 * away[3:].max():.1f} mm and {np.degrees(away[:3].max()):.1f}° away; the states "
            "are those that follow from the first rest"
        )


def _slack_notes(setup: LaxitySetup, tests: Sequence[LaxityStates]) -> Iterator[str]:
    """Yield which bundles of the table are far from pulling in all states of tests."""
    uncertain, poses = setup.model.uncertain, np.concatenate([each.poses for each in tests])
    largest = ligament_strains(uncertain.knee.ligaments, poses).max(axis=0)
    slack = np.flatnonzero(largest < -_SLACK).tolist()
    if slack:
        names = [f"{uncertain.knee.ligaments[k].name} by {-100 * largest[k]:.0f} %" for k in slack]
        worst = int(largest.argmin())
        group = next(name for name, members in uncertain.groups.items() if worst in members)
        yield (
            f"expected bundles that pull in some test, found bundles that are slack in all: "
            f"{', '.join(names)}: rest lengths of paths around bone are too long for straight "
            "bundles; state the strain of each such group near extension from the literature, "
            f"such as reference_strain = 0.03 in [laxity.groups.{group}] (docs/howto/laxity.md has "
            "strains)"
        )


def _surrogate_notes(
    contact: SurfaceContact, knee: LaxityKnee, tests: Sequence[LaxityStates]
) -> Iterator[str]:
    """Yield the tests in which a surrogate gives another laxity than the contact model."""
    exact, off = replace(knee, contact=contact), []
    for states in tests:
        found, unit = exact.near(states.test, states.poses), DIRECTIONS[states.test.direction].unit
        if found is None:
            off.append(f"no state of the contact model near those of {states.test.name}")
        elif (error := abs(found.laxity - states.laxity)) > _SURROGATE:
            off.append(f"{error:.2g} {unit} in {states.test.name}")
    if off:
        yield (
            f"expected laxities by the surrogate within {_SURROGATE:g} mm or ° of those by the "
            f"contact model, found {', '.join(off)}; leave out laxity.run, or train the run near "
            "the states of the tests (docs/howto/laxity.md)"
        )


def _passing_notes(
    contact: SurfaceContact, knee: LaxityKnee, tests: Sequence[LaxityStates]
) -> Iterator[str]:
    """Yield which bundles pass through the surfaces of the bones in states of tests."""
    for bone, mesh in (("femoral", contact.femur), ("tibial", contact.tibia)):
        tracer = LineTracer(flat_surface(mesh), curved=False)
        crossing = partial(passing, tracer, knee.ligaments, in_femur=bone == "femoral")
        if found := _crossed(knee, tests, crossing):
            yield (
                f"expected bundles outside the bones, found through the {bone} surface {found}: "
                "straight lines pull there in another direction than ligaments that wrap; move the "
                "attachments in simulation.ligaments"
            )


def _wrapping_notes(
    setup: LaxitySetup, knee: LaxityKnee, tests: Sequence[LaxityStates]
) -> Iterator[str]:
    """Yield which bundles pass through surfaces around which an OpenSim model wraps them."""
    if setup.osim is None:
        return
    wraps, numbers = setup.osim.wraps, {each.name: k for k, each in enumerate(knee.ligaments)}
    places = ligament_places(setup.config.simulation)

    def crossing(pose: FloatArray) -> Iterator[int]:
        for bone, name in enumerate(("femur", "tibia")):
            lines = lines_at(knee.ligaments, pose, in_femur=bone == 0)
            first, last = (points_in_file(ends, places["side"], places[name]) for ends in lines)
            for wrap in wraps:
                k = numbers[wrap.bundle]
                if wrap.bone == bone and wrap.crossed(first[k], last[k]):
                    yield k

    if found := _crossed(knee, tests, crossing):
        yield (
            "expected straight bundles, found through surfaces around which the OpenSim model "
            f"wraps them {found}: their lengths and directions differ from its own there"
        )


def _crossed(
    knee: LaxityKnee,
    tests: Sequence[LaxityStates],
    crossing: Callable[[FloatArray], Iterable[int]],
) -> str:
    """Return in how many tests bundles cross surfaces at poses (6,) [rad, m]; "" for none."""
    found: Counter[str] = Counter()
    for states in tests:
        crossed = sorted(set[int]().union(*map(crossing, states.poses)))
        found.update(knee.ligaments[k].name for k in crossed)
    worst = found.most_common(_BUNDLES)
    where = ", ".join(f"{name} in {counted(count, 'test')}" for name, count in worst)
    where += ", ..." if len(found) > len(worst) else ""
    return f"{counted(len(found), 'bundle')} ({where})" if found else ""


def lines_at(
    ligaments: Sequence[Ligament], pose: FloatArray, *, in_femur: bool
) -> tuple[FloatArray, FloatArray]:
    """Return both ends (B, 3) [m] of bundles in the frame of a bone at a pose (6,) [rad, m]."""
    turn, at = rotation_matrix(*pose[:3].tolist()), pose[POSITION]
    femoral = np.array([each.femoral for each in ligaments])
    tibial = np.array([each.tibial for each in ligaments])
    return (femoral, (tibial - at) @ turn) if in_femur else (femoral @ turn.T + at, tibial)


def passing(
    tracer: LineTracer, ligaments: Sequence[Ligament], pose: FloatArray, *, in_femur: bool
) -> list[int]:
    """Return the numbers of bundles that cross the surface of a bone at a pose (6,) [rad, m]."""
    femoral, tibial = lines_at(ligaments, pose, in_femur=in_femur)
    length = np.linalg.norm(tibial - femoral, axis=1)
    way = (tibial - femoral) / length[:, None]
    # A tracer finds where a line leaves a body: what one way enters, the other way leaves.
    ways = ((femoral, way), (tibial, -way))
    hits = [tracer.exits(start, along, float(length.max())) for start, along in ways]
    crossed = [(each.facet >= 0) & (each.distance < length) for each in hits]
    found: list[int] = np.flatnonzero(crossed[0] | crossed[1]).tolist()
    return found


def _test(
    setup: LaxitySetup, given: Tested, calibration: Calibration | None, k: int
) -> TestedLaxity:
    test, knee, states = setup.tests[k], given.knee, given.answer.states[k]
    row = TestedLaxity(
        name=test.title, direction=test.direction, unit=DIRECTIONS[test.direction].unit,
        flexion_deg=float(np.degrees(states.test.flexion.mean())), least_load=test.loads[0],
        largest_load=test.loads[-1], held_out=test.held_out, given=states.laxity,
        secant=0.0, tangent_first=0.0, tangent_last=0.0,
    )  # fmt: skip
    if test.measured:
        row.measured = test.measured[-1] - test.measured[0]
    if calibration is not None:
        knee, answer = calibration.tested
        states, last = answer.states[k], setup.last[k]
        row.calibrated = states.laxity
        middle, sd = calibration.means[last], calibration.deviations[last]
        row.low, row.high = middle - NORMAL_90 * sd, middle + NORMAL_90 * sd
        if row.measured is not None:
            row.z = (middle - row.measured) / sd
    row.secant = (test.loads[-1] - test.loads[0]) / states.laxity
    row.tangent_first, row.tangent_last = (knee.stiffness(states, s) for s in (0, -1))
    return row


def _calibration(setup: LaxitySetup, calibration: Calibration) -> Calibrated:
    found, drawn = calibration.found, len(calibration.drawn)
    deviation = np.sqrt(np.diag(found.covariance))
    return Calibrated(
        misfit=found.misfit,
        displacements=len(found.answer.values),
        evaluations=found.evaluations,
        model_errors=dict(zip(DIRECTIONS, found.model_errors, strict=True)),
        parameters=_parameters(setup, found, deviation),
        information=_information(setup, found),
        pairs=_pairs(setup.model.uncertain.names, found.covariance, deviation),
        held_out=calibration.held_out,
        draws=drawn,
        failed_draws=setup.settings.draws - drawn,
    )


def _parameters(setup: LaxitySetup, found: Fit, deviation: FloatArray) -> list[Parameter]:
    uncertain, settings = setup.model.uncertain, setup.settings
    pairs = [(group, name) for group in uncertain.groups for name in OF_GROUP]
    rows = []
    for k, (group, name) in enumerate([*pairs, ("menisci", MENISCI)]):
        is_factor = name in (*OF_GROUP[:2], MENISCI)
        size = uncertain.sizes[k] * (100.0 if is_factor else 1e3)
        value = size * found.answer.z[k]
        if is_factor:
            value = 100.0 * float(np.expm1(0.01 * value))
        rows.append(
            Parameter(
                group=group, name=name.replace("_", " "), unit="%" if is_factor else "mm",
                prior_sd=size, value=value, sd=size * deviation[k], width=deviation[k],
                source=settings.groups.get(group, settings.prior).source,
            )
        )  # fmt: skip
    return rows


def _information(setup: LaxitySetup, found: Fit) -> list[Information]:
    """Return what each fitted test would teach alone, for a linear model at the fit."""
    known, information = setup.test_of[setup.fitted[setup.test_of]], []
    for k in np.flatnonzero(setup.fitted):
        test, slope = setup.tests[k], found.answer.jacobian[known == k]
        measured = setup.measurements.rows(setup.test_of == k)
        own = linear_covariance(slope, measured.covariance(found.model_errors))
        narrower = 1.0 - np.sqrt(np.diag(own))
        best = [k for k in np.argsort(-narrower)[:_NAMED] if narrower[k] > _NARROWED]
        words = [
            f"{setup.model.uncertain.names[k].replace('_', ' ')} by {100 * narrower[k]:.0f} %"
            for k in best
        ]
        information.append(Information(test=test.title, narrowed=", ".join(words) or "nothing"))
    return information


def _pairs(names: tuple[str, ...], covariance: FloatArray, deviation: FloatArray) -> list[Pair]:
    """Return the most correlated pairs of parameters that the tests inform."""
    correlation = covariance / np.outer(deviation, deviation)
    informed = np.flatnonzero(deviation < _INFORMED)
    pairs = [
        (correlation[i, k], names[i], names[k])
        for place, i in enumerate(informed)
        for k in informed[place + 1 :]
        if abs(correlation[i, k]) > _TOGETHER
    ]
    pairs.sort(key=lambda pair: -abs(pair[0]))
    return [
        Pair(first=a.replace("_", " "), second=b.replace("_", " "), correlation=r)
        for r, a, b in pairs[:_PAIRS]
    ]


def _tables(
    setup: LaxitySetup, knees: Mapping[str, Tested], calibration: Calibration | None, job: Job
) -> dict[str, Table]:
    tables = {}
    if calibration is not None:
        found = calibration.found
        rows = _calibration(setup, calibration).parameters
        tables[PARAMETERS] = Table(pd.DataFrame([row.model_dump() for row in rows]), "%.6g")
        tables[LIGAMENTS] = Table(_ligaments(setup, found.answer.z), "%.9g")
        if setup.osim is not None:
            bundles = tables[LIGAMENTS].rows.to_dict("records")
            setup.osim.write(bundles, job.folder / OSIM)
        if calibration.drawn:
            drawn = np.array([each.z for each in calibration.drawn])
            rng = np.random.default_rng([setup.settings.seed, 1])
            tables[DRAWN] = _draws(setup, drawn)
            tables[PRIOR] = _draws(setup, rng.standard_normal(drawn.shape))
    each_test = [(name, knee, each) for name, (knee, a) in knees.items() for each in a.states]
    states = [_state_rows(name, each) for name, _, each in each_test]
    tables[STATES] = Table(pd.concat(states, ignore_index=True), "%.9g")
    tensions = [_tension_rows(*each) for each in each_test]
    tables[TENSIONS] = Table(pd.concat(tensions, ignore_index=True), "%.6g")
    return tables


def _draws(setup: LaxitySetup, drawn: FloatArray) -> Table:
    """Return the tables of bundles and the restraint of the menisci of draws (M, P)."""
    tables = [_ligaments(setup, z).assign(**{DRAW: k}) for k, z in enumerate(drawn)]
    if setup.settings.menisci_N_per_mm:
        for table, z in zip(tables, drawn, strict=True):
            table[MENISCI_COLUMN] = 1e-3 * setup.model.uncertain.at(z).menisci
    return Table(pd.concat(tables, ignore_index=True), "%.9g")


def _ligaments(setup: LaxitySetup, z: FloatArray) -> pd.DataFrame:
    """Return the table of the bundles at parameters (P,), in the frames of the mesh files."""
    places = ligament_places(setup.config.simulation)
    return pd.DataFrame(ligament_rows(setup.model.uncertain.at(z).ligaments, **places))


def _state_rows(name: str, states: LaxityStates) -> pd.DataFrame:
    test = states.test
    poses = dict(zip(POSE_COLUMNS, states.poses[1:].T, strict=True))
    heads = {"ligaments": name, "test": test.name, "load": test.loads}
    return pd.DataFrame({**heads, "displacement": states.displacement, **poses})


def _tension_rows(name: str, knee: LaxityKnee, states: LaxityStates) -> pd.DataFrame:
    """Return tension [N] and strain [%] of each bundle in the states of a test."""
    poses, names = states.poses[1:], [each.name for each in knee.ligaments]
    strains = ligament_strains(knee.ligaments, poses)
    return pd.DataFrame({
        "ligaments": name,
        "test": states.test.name,
        "flexion_deg": np.repeat(np.degrees(poses[:, FLEXION]), len(names)),
        "load": np.repeat(states.test.loads, len(names)),
        "bundle": names * len(poses),
        "tension_N": ligament_forces(knee.ligaments, poses).ravel(),
        "strain_percent": 100.0 * strains.ravel(),
    })  # fmt: skip


def _lines(document: LaxityDocument) -> list[str]:
    """Return the lines on the terminal."""
    lines = []
    for row in document.tests:
        text = f"{row.name}: {number(row.given)} {row.unit}"
        if row.calibrated is not None:
            text += f", calibrated {number(row.calibrated)} {row.unit}"
        if row.measured is not None:
            text += f", measured {number(row.measured)} {row.unit}"
        lines.append(text)
    return lines


LAXITY_STUDY = Study(
    JobKind("study of laxity", "run", "laxity.toml"),
    Config,
    "laxity.json",
    "laxity.html",
    prepare,
    carry_out,
    files=(STATES, TENSIONS, LIGAMENTS, OSIM, DRAWN, PRIOR, PARAMETERS),
    ending="_laxity",
)
