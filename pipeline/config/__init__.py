"""Configurations: their schema, reading, and the keys in messages."""

from pipeline.config.reading import ConfigError, dump_config, load_config, shipped_config

__all__ = ["ConfigError", "dump_config", "load_config", "shipped_config"]
