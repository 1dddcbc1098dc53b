"""Words and rows of a page that a contact model has to itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.config.contact_schema import DEFAULT_MODEL
from pipeline.reports.units import given

#: A setting on the page: what it is, and its value in words.
SettingRow = tuple[str, str]


@dataclass(frozen=True)
class ContactWords:
    """Words of a contact model on a page."""

    #: Terms of the glossary that pages of other contact models do not need.
    terms: tuple[str, ...] = ()
    #: Takes the section [contact.NAME] of the model and returns the rows of its settings.
    rows: Callable[[Mapping[str, Any]], list[SettingRow]] | None = None
    #: Key of the configuration of the node spacing [mm], for a model with nodes.
    spacing_key: str = ""


def _element_rows(settings: Mapping[str, Any]) -> list[SettingRow]:
    text = (
        f"nodes {given(settings['node_spacing_mm'])} mm apart in the contact region, heights "
        f"growing by {given(settings['growth'])}"
    )
    return [("Finite elements", text)]


#: Words of the contact models, by the value of `contact.model`.
CONTACT_WORDS = {
    "elastic_foundation": ContactWords(terms=("springs",)),
    "finite_element": ContactWords(
        terms=("finite elements", "node spacing"),
        rows=_element_rows,
        spacing_key="contact.finite_element.node_spacing_mm",
    ),
}


def model_of(contact: Mapping[str, Any]) -> str:
    """Return the name of the contact model of a section [contact]."""
    return str(contact.get("model", DEFAULT_MODEL))


def words_of(contact: Mapping[str, Any]) -> ContactWords:
    """Return the words of the contact model of a section [contact]."""
    return CONTACT_WORDS[model_of(contact)]


def setting_rows(
    contact: Mapping[str, Any], settings: Mapping[str, Any] | None
) -> list[SettingRow]:
    """Return the rows of the settings of a contact model, none without a section of its own."""
    rows = words_of(contact).rows
    return [] if rows is None or settings is None else rows(settings)
