"""The configuration of a single design of a design space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from foundation.base.errors import InputError
from pipeline.config.design_space_schema import DesignSpaceConfig
from pipeline.config.reading import ConfigError, checked_section
from pipeline.config.schema import Config, section_of
from pipeline.config.schema_base import near


def design_config(config: Config, values: Mapping[str, float]) -> Config:
    """Return the configuration of one design, of values by parameter in the unit of its name."""
    space = design_space_of(config)
    tree = config.model_dump(exclude_none=True, exclude={"design_space"})
    for parameter in space.parameter:
        *sections, key = parameter.key.split(".")
        branch: dict[str, Any] = tree
        for name in sections:
            branch = branch.setdefault(name, {})
        branch[key] = float(values[parameter.label])
    told = ", ".join(f"{name} = {values[name]:g}" for name in space.names)
    return checked_section(tree, Config, f"design with {told}")


def design_space_of(config: Config) -> DesignSpaceConfig:
    """Return the section [design_space]; raise an InputError if there is none."""
    if config.design_space is None:
        raise InputError(
            "[design_space] is missing: expected the parameters of the designs and their ranges"
        )
    return config.design_space


def check_designs(config: Config) -> None:
    """Raise a ConfigError unless every parameter is a number that takes its range."""
    space = design_space_of(config)
    for parameter in space.parameter:
        _check_key(parameter.key)
    for end in (0, 1):
        design_config(config, {p.label: p.range[end] for p in space.parameter})


def _check_key(dotted: str) -> None:
    """Raise a ConfigError unless a dotted key is one of a configuration, and no section."""
    section: type[BaseModel] | None = Config
    for name in dotted.split("."):
        known = section.model_fields if section is not None else {}
        if name not in known:
            raise ConfigError(
                f"design_space.parameter: {dotted}: expected one of {', '.join(known)} in place of "
                f"{name}{near(name, known)}"
            )
        section = section_of(known[name].annotation)
    if section is not None:
        raise ConfigError(
            f"design_space.parameter: {dotted}: expected a key of this section, one of "
            f"{', '.join(section.model_fields)}"
        )
