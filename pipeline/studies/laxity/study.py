"""Study of laxity tests: states with the ligaments of a table, calibration, and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from dynamics.laxity.parameters import MENISCI, OF_GROUP, Answer
from dynamics.laxity.posterior import Draws, Fit, draw, fit, linear_covariance
from dynamics.laxity.states import DIRECTIONS, LaxityKnee, LaxityStates
from dynamics.ligaments.bundle_tables import DRAW, MENISCI_COLUMN, ligament_rows
from dynamics.ligaments.bundles import ligament_forces, ligament_strains
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.flags import worded
from foundation.base.pose import FLEXION, POSE_COLUMNS, Pose
from foundation.base.threads import one_thread
from pipeline.config.laxity_schema import LaxityTestConfig
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
from pipeline.studies.laxity.setup import LaxitySetup, prepare

#: Half width of 90 % of a normal distribution, over its standard deviation.
NORMAL_90 = 1.6448536269514722
#: Parameters that the information of a test names, and the part by which they narrow at least.
_NAMED, _NARROWED = 4, 0.02
#: Least correlation of parameters that are not told apart, most such pairs, and the largest width
#: of a parameter that the tests inform.
_TOGETHER, _PAIRS, _INFORMED = 0.3, 8, 0.95
LIGAMENTS, PARAMETERS = "ligaments.csv", "parameters.csv"
#: Draws of the posterior and of the prior.
DRAWN, PRIOR = "ligament_draws.csv", "prior_draws.csv"
STATES, TENSIONS = "laxity.csv", "tensions.csv"


class Calibration(NamedTuple):
    """A calibration, and what it predicts [mm, deg]."""

    found: Fit
    draws: Draws | None
    #: Answers of all tests of the configuration: of the fit, and of the draws.
    answer: Answer
    drawn: tuple[Answer, ...]
    #: Standard deviations of the model's errors by direction of the fit (3,) or draws (M, 3).
    model_errors: FloatArray
    held_out: list[HeldOut]


def carry_out(setup: LaxitySetup, job: Job) -> Outcome:
    """Compute the tests, calibrate the ligaments if tests are measured, and return the results."""
    with one_thread:
        if setup.original is not None:
            setup.original.prepare(say)
        say(f"{len(setup.tests)} laxity tests")
        given = setup.model.base
        calibration = _calibrated(setup, job) if setup.settings.calibrated else None
    document = _document(setup, given, calibration, job)
    tables = _tables(setup, given, calibration)
    page = {"summary": document, "pictures": pictures(_page(setup, given, calibration, document))}
    return Outcome(document, _lines(document), page=page, tables=tables)


def _calibrated(setup: LaxitySetup, job: Job) -> Calibration:
    settings = setup.settings
    fitted = [m and not t.held_out for m, t in zip(setup.measured, setup.tests, strict=True)]
    part = setup.part(fitted)
    say(f"ligaments fitted to {sum(fitted)} tests")
    measured = part.measurements()
    found = fit(part.model, measured)
    answer = setup.model(found.answer.z)
    draws, errors = None, found.model_errors
    drawn: tuple[Answer, ...] = ()
    if settings.draws:
        say(f"{settings.draws} draws of the posterior")
        rng = np.random.default_rng(settings.seed)
        draws = draw(part.model, measured, found, settings.draws, rng)
        drawn, errors = _followed(setup, draws, answer)
    held_out: list[HeldOut] = []
    for split in settings.splits_deg:
        try:
            held_out += _split(setup, split)
        except EquilibriumError as error:
            job.note(f"laxity.splits_deg: {split[0]:g} to {split[1]:g} deg: {error}")
    return Calibration(found, draws, answer, drawn, errors, held_out)


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
    flexion = np.array([np.degrees(test.flexion.mean()) for test in setup.model.tests])
    inside = (flexion >= split[0]) & (flexion <= split[1])
    known = np.array(setup.measured)
    others, own = setup.part((known & ~inside).tolist()), setup.part((known & inside).tolist())
    if not own.tests or not others.tests:
        return []
    say(f"tests of {split[0]:g} to {split[1]:g} deg predicted by the others")
    measured = others.measurements()
    found = fit(others.model, measured)
    answer = own.model(found.answer.z)
    return [
        HeldOut(
            test=row.name, split=f"{split[0]:g} to {split[1]:g}°", measured=row.measured,
            predicted=row.value, sd=row.sd, z=row.z, trivial=_trivial(others, test, row.flexion),
        )
        for row, test in zip(_predicted(own, answer, found), own.tests, strict=True)
    ]  # fmt: skip


class _Prediction(NamedTuple):
    """Laxity of a test with the standard deviation of its measurement."""

    name: str
    flexion: float
    measured: float
    value: float
    sd: float

    @property
    def z(self) -> float:
        return (self.value - self.measured) / self.sd


def _predicted(setup: LaxitySetup, answer: Answer, found: Fit) -> list[_Prediction]:
    """Return the predictions of measured tests by a fit, for a linear model."""
    rows, end = [], 0
    kinds = list(DIRECTIONS)
    for test, states in zip(setup.tests, answer.states, strict=True):
        end += len(test.loads) - 1
        slope = answer.jacobian[end - 1]
        error = found.model_errors[kinds.index(test.direction)]
        sd = float(np.sqrt(slope @ found.covariance @ slope + error**2 + test.error**2))
        flexion = float(np.degrees(states.test.flexion.mean()))
        moved = test.measured[-1] - test.measured[0]
        rows.append(_Prediction(test.title, flexion, moved, states.laxity, sd))
    return rows


def _trivial(others: LaxitySetup, test: LaxityTestConfig, flexion: float) -> float | None:
    """Return the laxity of a test [mm or deg] by interpolation of those measured in others."""
    known = sorted(
        (float(own.flexion.mean()), each.measured[-1] - each.measured[0])
        for each, own in zip(others.tests, others.model.tests, strict=True)
        if each.direction == test.direction
    )
    if not known:
        return None
    at, values = np.array(known).T
    return float(np.interp(np.radians(flexion), at, values))


def _document(
    setup: LaxitySetup, given: Answer, calibration: Calibration | None, job: Job
) -> LaxityDocument:
    knee = setup.model.uncertain.knee
    states = given.states
    if calibration is not None:
        knee = setup.model.uncertain.at(calibration.found.answer.z)
        states = calibration.answer.states
    notes = [*job.notes, *(note for each in states for note in _state_notes(knee, each))]
    tests = [_test(setup, knee, given, calibration, k) for k in range(len(setup.tests))]
    return LaxityDocument(
        name=setup.config.run.name,
        contact=f"surrogate of {setup.settings.run}" if setup.settings.run else "contact model",
        bundles=len(knee.ligaments),
        tests=tests,
        notes=notes,
        calibration=None if calibration is None else _calibration(setup, calibration),
        seconds=job.seconds,
    )


def _state_notes(knee: LaxityKnee, states: LaxityStates) -> Iterator[str]:
    """Yield what is told about a test: doubtful contact, and rests of the released knee."""
    flags = [flag for row in states.poses for flag in knee.contact.loads(Pose(*row.tolist())).flags]
    if flags:
        yield f"test {states.test.name}: {worded(flags)}"
    others = knee.other_rests(states)
    if len(others):
        away = np.abs(others - states.poses[0]).max(axis=0)
        yield (
            f"test {states.test.name}: released from its ends, the knee also rests "
            f"{1e3 * away[3:].max():.1f} mm and {np.degrees(away[:3].max()):.1f}° away; the states "
            "are those that follow from the first rest"
        )


def _test(
    setup: LaxitySetup, knee: LaxityKnee, given: Answer, calibration: Calibration | None, k: int
) -> TestedLaxity:
    test, states = setup.tests[k], given.states[k]
    row = TestedLaxity(
        name=test.title, direction=test.direction, unit=DIRECTIONS[test.direction].unit,
        flexion_deg=float(np.degrees(states.test.flexion.mean())), least_load=test.loads[0],
        largest_load=test.loads[-1], held_out=test.held_out, given=states.laxity,
        secant=0.0, tangent_first=0.0, tangent_last=0.0,
    )  # fmt: skip
    if test.measured:
        row.measured = test.measured[-1] - test.measured[0]
    if calibration is not None:
        states = calibration.answer.states[k]
        row.calibrated = states.laxity
        middle, sd = _spread_of(setup, calibration, k)
        row.low, row.high = middle - NORMAL_90 * sd, middle + NORMAL_90 * sd
        if row.measured is not None:
            row.z = (middle - row.measured) / sd
    row.secant = (test.loads[-1] - test.loads[0]) / states.laxity
    row.tangent_first, row.tangent_last = (knee.stiffness(states, s) for s in (0, -1))
    return row


def _spread_of(setup: LaxitySetup, calibration: Calibration, k: int) -> tuple[float, float]:
    """Return mean and standard deviation of the predicted measurement of test k [mm or deg]."""
    test = setup.tests[k]
    kind = list(DIRECTIONS).index(test.direction)
    if calibration.drawn:
        values = np.array([each.states[k].laxity for each in calibration.drawn])
        own = values.var() + np.mean(calibration.model_errors[:, kind] ** 2)
        return float(values.mean()), float(np.sqrt(own + test.error**2))
    end = sum(len(each.loads) - 1 for each in setup.tests[: k + 1])
    slope, found = calibration.answer.jacobian[end - 1], calibration.found
    own = slope @ found.covariance @ slope + found.model_errors[kind] ** 2
    return calibration.answer.states[k].laxity, float(np.sqrt(own + test.error**2))


def _calibration(setup: LaxitySetup, calibration: Calibration) -> Calibrated:
    found, draws = calibration.found, calibration.draws
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
        draws=len(calibration.drawn),
        failed_draws=0 if draws is None else setup.settings.draws - len(calibration.drawn),
        steps=0 if draws is None else draws.steps,
        walkers=0 if draws is None else draws.walkers,
        autocorrelation=None if draws is None else draws.autocorrelation,
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
    chosen = [m and not t.held_out for m, t in zip(setup.measured, setup.tests, strict=True)]
    part, information, begin = setup.part(chosen), [], 0
    spread = part.measurements().spread(found.model_errors)
    for test in part.tests:
        rows = slice(begin, begin + len(test.loads) - 1)
        begin = rows.stop
        own = linear_covariance(found.answer.jacobian[rows], spread[rows])
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


def _tables(setup: LaxitySetup, given: Answer, calibration: Calibration | None) -> dict[str, Table]:
    uncertain = setup.model.uncertain
    answers = {"given": given}
    knees = {"given": uncertain.knee}
    tables = {}
    if calibration is not None:
        found = calibration.found
        answers["calibrated"] = calibration.answer
        knees["calibrated"] = uncertain.at(found.answer.z)
        rows = _calibration(setup, calibration).parameters
        tables[PARAMETERS] = Table(pd.DataFrame([row.model_dump() for row in rows]), "%.6g")
        tables[LIGAMENTS] = Table(_ligaments(setup, found.answer.z), "%.9g")
        if calibration.drawn:
            drawn = np.array([each.z for each in calibration.drawn])
            rng = np.random.default_rng([setup.settings.seed, 1])
            tables[DRAWN] = _draws(setup, drawn)
            tables[PRIOR] = _draws(setup, rng.standard_normal(drawn.shape))
    states = [_state_rows(name, each) for name, answer in answers.items() for each in answer.states]
    tables[STATES] = Table(pd.concat(states, ignore_index=True), "%.9g")
    tensions = [
        tension_rows(name, knees[name], each)
        for name, answer in answers.items()
        for each in answer.states
    ]
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


def tension_rows(name: str, knee: LaxityKnee, states: LaxityStates) -> pd.DataFrame:
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


def _page(
    setup: LaxitySetup, given: Answer, calibration: Calibration | None, document: LaxityDocument
) -> Page:
    knee, answer, drawn = setup.model.uncertain.knee, given, np.empty((0, 0))
    if calibration is not None:
        knee = setup.model.uncertain.at(calibration.found.answer.z)
        answer = calibration.answer
        if calibration.drawn:
            drawn = np.array([each.z for each in calibration.drawn]) * setup.model.uncertain.sizes
    names = setup.model.uncertain.names
    return Page(document, setup.tests, knee, given, answer, drawn, names)


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
    files=(STATES, TENSIONS, LIGAMENTS, DRAWN, PRIOR, PARAMETERS),
    ending="_laxity",
)
