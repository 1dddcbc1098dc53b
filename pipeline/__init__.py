"""Configuration, stages a to h, sample store, runner, report and command line."""

from foundation.former_names import redirect

redirect(
    {
        "pipeline.assessment": "pipeline.stages.assessment",
        "pipeline.exports": "pipeline.exchange.exports",
        "pipeline.exchange.knee_motion": "dynamics.walking.knee_motion",
        "pipeline.knee_motion": "dynamics.walking.knee_motion",
        "pipeline.lifetime": "pipeline.studies.lifetime_wear",
        "pipeline.loads_along": "pipeline.exchange.loads_along",
        "pipeline.originals.original": "pipeline.originals.contact_original",
        "pipeline.rerun": "pipeline.studies.repeated_stages",
        "pipeline.schema": "pipeline.config.schema",
        "pipeline.studies.lifetime": "pipeline.studies.lifetime_wear",
        "pipeline.studies.walks.walking": "dynamics.walking.natural_cycle",
        "pipeline.walks": "pipeline.studies.walks",
        "pipeline.walks.walk": "pipeline.studies.walks.walk",
    }
)
