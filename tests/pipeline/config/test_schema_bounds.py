"""What the schemas state of a key, its type, bounds and names, is refused beyond them."""

import re

import pytest

from pipeline.config.reading import ConfigError, checked_section
from pipeline.config.schema import Config
from pipeline.studies.forward_motions import ForwardFile
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.optimisation.search import OptimisationFile
from pipeline.studies.schema import StudyFile

#: A value beyond a bound, by the keyword of JSON Schema.
BEYOND = {
    "minimum": lambda bound: bound - 1,
    "exclusiveMinimum": lambda bound: bound,
    "maximum": lambda bound: bound + 1,
    "exclusiveMaximum": lambda bound: bound,
    "minItems": lambda bound: [None] * (bound - 1),
}


def wrong_values(part, defs, path=()):
    """Yield keys, a value that the schema does not allow, and the keyword that it breaks."""
    if "$ref" in part:
        part = {**defs[part["$ref"].rpartition("/")[2]], **part}
    if "properties" in part:
        yield (*path, "unknown_key"), 1, "unknown"
        for name, own in part["properties"].items():
            yield from wrong_values(own, defs, (*path, name))
    elif "anyOf" in part and path:
        sections = [each for each in part["anyOf"] if "$ref" in each]
        for each in sections or part["anyOf"][:1]:
            yield from wrong_values(each, defs, path)
    elif "enum" in part:
        yield path, "nonsense", "enum"
    elif part.get("type") in ("number", "integer", "boolean"):
        yield path, "text", "type"
        yield from ((path, BEYOND[key](part[key]), key) for key in BEYOND if key in part)


def cases():
    for schema in (Config, StudyFile, MuscleWalkFile, ForwardFile, OptimisationFile):
        tree = schema.model_json_schema()
        for path, value, keyword in wrong_values(tree, tree.get("$defs", {})):
            yield pytest.param(
                schema, path, value, id=f"{schema.__name__}-{'.'.join(path)}-{keyword}"
            )


@pytest.mark.parametrize(("schema", "path", "value"), list(cases()))
def test_what_the_schema_does_not_allow_is_refused_by_its_key(schema, path, value):
    tree = value
    for key in reversed(path):
        tree = {key: tree}
    with pytest.raises(ConfigError, match=rf"{re.escape('.'.join(path))}: (?!expected a value)"):
        checked_section(tree, schema, "study.toml")
