"""Configuration, stages a to h, sample store, runner, report and command line."""

from foundation.moved_modules import redirect

redirect(
    {
        "pipeline.assessment": "pipeline.stages.assessment",
        "pipeline.exports": "pipeline.exchange.exports",
        "pipeline.knee_motion": "pipeline.exchange.knee_motion",
        "pipeline.lifetime": "pipeline.studies.lifetime",
        "pipeline.loads_along": "pipeline.exchange.loads_along",
        "pipeline.originals.original": "pipeline.originals.contact_original",
        "pipeline.rerun": "pipeline.studies.repeated_stages",
        "pipeline.schema": "pipeline.config.schema",
        "pipeline.walks": "pipeline.studies.walks",
        "pipeline.walks.walk": "pipeline.studies.walks.walk",
    }
)
