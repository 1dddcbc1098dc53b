"""Keys of a section that a user states, in place of what a file of settings states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import Section


def stated_fields(section: Section, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the stated values of keys, by the fields of the settings that the keys change."""
    stated = section.model_dump(exclude_none=True)
    return {field: stated[key] for key, field in fields.items() if key in stated}


def stated_files(section: Section, fields: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that keys state, by the fields that the keys change."""
    return {field: data_file(text) for field, text in stated_fields(section, fields).items()}
