"""The knee, the tests and the priors of a configuration with [laxity]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynamics.laxity.parameters import LaxityModel, Spreads, UncertainKnee, groups_of
from dynamics.laxity.posterior import Measured
from dynamics.laxity.states import LaxityKnee, LaxityTest
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.laxity_schema import UNITS, LaxityConfig, LaxityTestConfig, SpreadsConfig
from pipeline.config.schema import Config, require_knee
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee
from pipeline.simulation import gait_ligaments
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
    #: The contact model, unless a surrogate stands for it.
    original: Knee | None = None

    @property
    def measured(self) -> list[bool]:
        """Whether each test has measured displacements."""
        return [bool(test.measured) for test in self.tests]

    def part(self, chosen: list[bool]) -> LaxitySetup:
        """Return the setup of the chosen tests alone."""
        tests = tuple(test for test, c in zip(self.tests, chosen, strict=True) if c)
        own = tuple(test for test, c in zip(self.model.tests, chosen, strict=True) if c)
        return replace(self, tests=tests, model=replace(self.model, tests=own))

    def measurements(self) -> Measured:
        """Return the measured displacements of the tests, all of which are measured."""
        values, errors, kinds = [], [], []
        for test in self.tests:
            moved = np.array(test.measured[1:]) - test.measured[0]
            values.append(moved)
            errors.append(np.full(len(moved), test.error))
            kinds.append(np.full(len(moved), _DIRECTIONS.index(test.direction)))
        return Measured(
            np.concatenate(values),
            np.concatenate(errors),
            np.concatenate(kinds),
            self.scales,
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


def _contact(
    config: Config, settings: LaxityConfig, job: Job
) -> tuple[Knee | None, ContactModel, Pose]:
    """Return the original model unless a surrogate takes its place, the contact, a pose near it."""
    if settings.run:
        run = TrainedRun.open(Path(settings.run))
        return None, run.surrogate, Pose.from_array(run.path.poses(run.path.flexion[:1])[0])
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
