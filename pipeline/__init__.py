"""Configuration, stages a to h, sample store, runner, report and command line."""
