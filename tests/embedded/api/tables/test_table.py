"""Table documents: columns, and the object that each row includes."""

from typing import Any

import msgspec
import pytest

from tests.embedded.api.tables.printed_lines import NOW, served
from understudy.embedded.api.partial_objects import partial_metadata_list
from understudy.embedded.api.tables.table import Include, table
from understudy.objects.resources import PODS

BODY = b'{"kind":"Pod","metadata":{"name":"a","labels":{"x":"y"},"resourceVersion":"7"},"spec":{"nodeName":"n"}}'
METADATA = {"name": "a", "labels": {"x": "y"}, "resourceVersion": "7"}


def plain(document: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(document))


@pytest.mark.parametrize(
    ("include", "carried"),
    [
        (Include.METADATA, {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA}),
        (Include.OBJECT, msgspec.json.decode(BODY)),
        (Include.NONE, None),
    ],
)
def test_a_row_carries_of_its_object_what_was_asked(include: Include, carried: Any) -> None:
    document = plain(table(served(PODS), [BODY, BODY], NOW, include))
    assert [row["object"] for row in document["rows"]] == [carried, carried]


def test_columns_are_described_to_kubectl() -> None:
    document = plain(table(served(PODS), [], NOW))
    assert (document["kind"], document["apiVersion"], document["rows"]) == ("Table", "meta.k8s.io/v1", [])
    name, *_, gates = document["columnDefinitions"]
    assert (name["name"], name["type"], name["format"], name["priority"]) == ("Name", "string", "name", 0)
    assert (gates["name"], gates["priority"]) == ("Readiness Gates", 1)


def test_only_the_first_event_of_a_watch_has_a_header() -> None:
    assert plain(table(served(PODS), [BODY], NOW, header=False))["columnDefinitions"] == []


def test_lists_of_metadata_alone() -> None:
    assert plain(partial_metadata_list([BODY], {"resourceVersion": "9"})) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9"},
        "items": [{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA}],
    }
