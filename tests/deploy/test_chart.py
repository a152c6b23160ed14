"""The chart's values: each is explained, checked by the schema, and used."""

import json
import re
from collections.abc import Iterator

import msgspec
import pytest

from tests.deploy.manifests import CHART, Document, documents
from understudy.cli.input.settings import Settings

[VALUES] = documents(CHART / "values.yaml")
SCHEMA: Document = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
_OPAQUE = {"settings", "nodeSelector", "requests", "limits", "resources"}  # handed on as they are


def paths(values: Document, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in _OPAQUE:
            yield from paths(value, (*above, key))
        else:
            yield (*above, key)


LEAVES = list(paths(VALUES))


@pytest.mark.parametrize("path", LEAVES, ids=".".join)
def test_every_value_is_used(path: tuple[str, ...]) -> None:
    assert any(f".Values.{'.'.join(path)}" in text for text in TEMPLATES.values())


def test_no_template_uses_a_value_that_is_not_there() -> None:
    for name, text in TEMPLATES.items():
        for used in re.findall(r"\.Values\.([A-Za-z.]+)", text):
            found: object = VALUES
            for part in used.rstrip(".").split("."):
                assert isinstance(found, dict), f"{name}: {used}"
                assert part in found, f"{name}: {used}"
                found = found[part]


def test_the_schema_knows_the_same_values() -> None:
    def compared(schema: Document, values: Document, place: str) -> None:
        known = set(schema["properties"]) - {"global"}
        assert known == set(values), place
        assert schema["additionalProperties"] is not True, place
        for key, value in values.items():
            if "properties" in schema["properties"][key]:
                compared(schema["properties"][key], value, f"{place}.{key}")

    compared(SCHEMA, VALUES, "values")


def test_every_value_is_explained() -> None:
    """By a comment right above it."""
    lines = (CHART / "values.yaml").read_text().splitlines()
    keys = {path[-1] for path in LEAVES}
    for above, line in zip(["", *lines], lines, strict=False):
        key = line.strip().partition(":")[0]
        if key in keys and not line.strip().startswith("#"):
            assert above.strip().startswith("#"), f"no comment says what {key} is for"


def test_settings_are_written_as_understudy_reads_them() -> None:
    sections = {field.encode_name for field in msgspec.structs.fields(Settings)}
    assert set(VALUES["settings"]) == sections - {"logs"}  # of pods in the folder of an embedded cluster
    assert "checksum/settings" in TEMPLATES["deployment.yaml"]
