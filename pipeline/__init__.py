"""Configuration, stages a to h, sample store, runner, report and command line."""

from foundation.moved_modules import redirect

redirect(
    {
        "pipeline.assessment": "pipeline.stages.assessment",
        "pipeline.exports": "pipeline.exchange.exports",
        "pipeline.knee_motion": "pipeline.exchange.knee_motion",
        "pipeline.lifetime": "pipeline.studies.lifetime",
        "pipeline.loads_along": "pipeline.exchange.loads_along",
        "pipeline.rerun": "pipeline.stages.trained_run",
        "pipeline.runner": "pipeline.stages.runner",
        "pipeline.schema": "pipeline.config.schema",
        "pipeline.simulation": "pipeline.stages.simulation",
        "pipeline.walks": "pipeline.studies.walks",
        "pipeline.walks.walk": "pipeline.studies.walks.walk",
    }
)
