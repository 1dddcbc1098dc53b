"""The knee, the tests and the priors of a configuration with [laxity]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics.laxity.parameters import LaxityModel, Spreads, UncertainKnee, groups_of
from dynamics.laxity.posterior import Measured
from dynamics.laxity.states import LaxityKnee, LaxityTest
from dynamics.musculoskeletal.osim_ligaments import OsimLigaments
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.laxity_schema import UNITS, LaxityConfig, LaxityTestConfig, SpreadsConfig
from pipeline.config.schema import Config, require_knee
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import OriginalModel
from pipeline.simulation import gait_ligaments, osim_ligaments
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.job import Job

_DIRECTIONS = tuple(UNITS)


@dataclass(frozen=True, eq=False)
class LaxitySetup:
    """A knee in laxity tests, ready to be computed."""

    config: Config
    settings: LaxityConfig
    #: Tests of the configuration, and the model of all of them.
    tests: tuple[LaxityTestConfig, ...]
    model: LaxityModel
    #: The contact model, for which a surrogate may stand.
    original: OriginalModel

    @cached_property
    def osim(self) -> OsimLigaments | None:
        """The OpenSim model of the ligaments, None if they are those of a table."""
        return osim_ligaments(self.config.simulation)

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Whether each test has measured displacements, (T,)."""
        return np.array([bool(test.measured) for test in self.tests])

    @cached_property
    def fitted(self) -> NDArray[np.bool_]:
        """Whether each test is fitted, (T,)."""
        return self.measured & [not test.held_out for test in self.tests]

    @cached_property
    def flexion(self) -> FloatArray:
        """Mean flexion of each test, (T,) [deg]."""
        return np.array([np.degrees(test.flexion.mean()) for test in self.model.tests])

    @cached_property
    def test_of(self) -> NDArray[np.int64]:
        """Number of the test of each displacement, (N,)."""
        return np.repeat(np.arange(len(self.tests)), [len(test.loads) - 1 for test in self.tests])

    @cached_property
    def last(self) -> NDArray[np.int64]:
        """Number of the last displacement of each test, (T,)."""
        return np.searchsorted(self.test_of, np.arange(len(self.tests)), side="right") - 1

    def model_of(self, chosen: NDArray[np.bool_]) -> LaxityModel:
        """Return the model of the chosen tests (T,) alone."""
        return replace(self.model, tests=tuple(np.array(self.model.tests, object)[chosen]))

    @cached_property
    def measurements(self) -> Measured:
        """The displacements of all tests, NaN where they are not measured."""
        values, errors, kinds, places = [], [], [], []
        for test, own in zip(self.tests, self.model.tests, strict=True):
            moved = np.array(test.measured or np.full(len(own.loads), np.nan))
            flexion = np.degrees(own.flexion) / self.settings.model_error_length_deg
            places.append(np.column_stack([flexion, own.loads / np.abs(own.loads).max()])[1:])
            values.append(moved[1:] - moved[0])
            errors.append(np.full(len(own.loads) - 1, test.error))
            kinds.append(np.full(len(own.loads) - 1, _DIRECTIONS.index(test.direction)))
        return Measured(
            np.concatenate(values),
            np.concatenate(errors),
            np.concatenate(kinds),
            self.scales,
            np.concatenate(places),
        )

    @property
    def scales(self) -> FloatArray:
        """Scales of the prior of the model's errors by direction, (3,) [mm, deg, deg]."""
        scale = {"mm": self.settings.model_error_mm, "deg": self.settings.model_error_deg}
        return np.array([scale[unit] for _, unit in UNITS.values()])


def prepare(config: Config, job: Job) -> LaxitySetup:
    """Return the knee and the tests of a configuration, checked."""
    require_knee(config.knee, "a laxity test")
    settings = config.laxity
    assert settings is not None
    ligaments = gait_ligaments(config.simulation)
    if not ligaments:
        raise InputError(
            "simulation.ligaments: expected the bundles that hold the knee in [laxity], found "
            "none; name a table of them"
        )
    original, contact, start = _contact(config, settings, job)
    knee = LaxityKnee(
        contact,
        ligaments,
        1e3 * settings.menisci_N_per_mm,
        1e-3 * config.simulation.medial_offset_mm,
        1e-3 * config.simulation.anterior_offset_mm,
    )
    groups = groups_of(ligaments, tuple(settings.groups))
    spreads = {name: _spreads(settings.groups.get(name, settings.prior)) for name in groups}
    uncertain = UncertainKnee(knee, groups, spreads, _log_spread(settings.menisci_percent))
    tests = tuple(
        LaxityTest(
            each.direction,
            np.radians(each.flexion_deg),
            np.array(each.loads),
            np.array(each.axial_force_N),
            each.title,
        )
        for each in settings.test
    )
    model = LaxityModel(uncertain, tests, start)
    return LaxitySetup(config, settings, settings.test, model, original)


def strained(setup: LaxitySetup) -> LaxitySetup:
    """Return the setup whose groups have their strains at rest in the test of least flexion."""
    settings, model = setup.settings, setup.model
    of = {name: settings.groups.get(name, settings.prior) for name in model.uncertain.groups}
    stated = ((name, spreads.reference_strain) for name, spreads in of.items())
    strains = {name: strain for name, strain in stated if strain is not None}
    if not strains:
        return setup
    test = model.tests[int(setup.flexion.argmin())]
    pose = Pose(*model.uncertain.knee.rest(test, model.start).tolist())
    return replace(setup, model=replace(model, uncertain=model.uncertain.at_strains(strains, pose)))


def _contact(
    config: Config, settings: LaxityConfig, job: Job
) -> tuple[OriginalModel, ContactModel, Pose]:
    """Return the original model, the contact that is used, and a pose near it."""
    if settings.run:
        run = TrainedRun.open(Path(settings.run))
        start = Pose.from_array(run.path.poses(run.path.flexion[:1])[0])
        return run.original, run.surrogate, start
    if config.original.kind != "model":
        raise InputError(
            'original.kind: expected "model" for a laxity test, since a table gives no loads at '
            "other poses, found a table; train a run with it and name the run in laxity.run"
        )
    original = build_knee(config, job.folder)
    return original, original.model, original.start


def _spreads(config: SpreadsConfig) -> Spreads:
    return Spreads(
        _log_spread(config.rest_length_percent),
        _log_spread(config.stiffness_percent),
        1e-3 * config.insertion_mm,
    )


def _log_spread(percent: float) -> float:
    """Return the standard deviation of the logarithm of a factor that varies by some per cent."""
    return float(np.sqrt(np.log1p((0.01 * percent) ** 2)))
