"""Stages of a run over designs with their expected costs."""

from __future__ import annotations

from pipeline.config.designs import design_space_of
from pipeline.config.schema import Config
from pipeline.progress import Stage


def stages_over_designs(config: Config) -> list[Stage]:
    """Return the stages with their expected costs."""
    space = design_space_of(config)
    parts = len(config.knee.compartments)
    each = parts * space.poses
    per_load, steps = 6.0, config.surrogate.network.steps * config.surrogate.network.networks
    first = -(-space.designs // space.rounds)
    rounds = [
        stage
        for _ in range(space.rounds - 1)
        for stage in (
            Stage("c: first surrogates", seconds=30.0),
            Stage("d: predicted errors of designs", seconds=10.0),
            Stage("f: kept designs", first * each, per_load, 0.5 * first),
        )
    ]
    return [
        Stage("knee", seconds=2.0),
        Stage("a: designs", seconds=2.0),
        Stage("reference paths", seconds=2.0 * min(space.designs, 64)),
        Stage("b: first designs", first * each, per_load, 0.5 * first),
        *rounds,
        Stage("unseen designs", space.unseen * each // 2, per_load, 0.5 * space.unseen),
        Stage("held-out designs", space.held_out * each // 2, per_load, 0.5 * space.held_out),
        Stage("g: final surrogate", seconds=parts * 1.5e-3 * steps),
        Stage("g: domain", seconds=parts * 10.0),
        Stage("h: gait of unseen designs", seconds=3.0 * space.unseen),
        Stage("h: gait of held-out designs", seconds=3.0 * space.held_out),
        Stage("h: derivatives by parameters", seconds=8.0 * len(space.parameter)),
    ]
