"""Printer columns of custom resources, found by JSONPath."""

from typing import Any

import pytest

from tests.embedded.api.tables.printed_lines import CREATED, line, served
from understudy.embedded.api.tables.jsonpath import jsonpath
from understudy.embedded.schema.served_resource import Column
from understudy.objects.resources import Resource

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")

DOCUMENT: dict[str, Any] = {
    "metadata": {"labels": {"app.kubernetes.io/name": "x"}},
    "spec": {"replicas": 3, "suspend": False, "share": 0.5, "names": ["a", "b", "c"], "size": {"x": 1}},
    "status": {
        "conditions": [
            {"type": "Created", "status": "True", "weight": 1},
            {"type": "Ready", "status": "False", "weight": 5},
        ],
        "since": CREATED,
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("spec.replicas", [3]),
        (".spec['replicas']", [3]),
        ('.spec["replicas"]', [3]),
        (".spec.missing.deeper", []),
        (".spec.replicas.deeper", []),
        (".spec.names[0]", ["a"]),
        (".spec.names[-1]", ["c"]),
        (".spec.names[9]", []),
        (".spec.names[-9]", []),
        (".spec.names[-1:]", ["c"]),
        (".spec.names[1:]", ["b", "c"]),
        (".spec.names[:1]", ["a"]),
        (".spec.names[*]", ["a", "b", "c"]),
        (".spec.size.*", [1]),
        (r".metadata.labels.app\.kubernetes\.io/name", ["x"]),
        (".metadata.labels['app.kubernetes.io/name']", ["x"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["False"]),
        (".status.conditions[?(@.type == 'Ready')].status", ["False"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Created"]),
        (".status.conditions[?(@.weight>1)].type", ["Ready"]),
        (".status.conditions[?(@.weight<=1)].type", ["Created"]),
        (".status.conditions[?(@.type>1)].type", []),
        (".status.conditions[?(@.weight)].type", ["Created", "Ready"]),
        (".status.conditions[?(@.nothing)].type", []),
        (".status.conditions[-1:].type", ["Ready"]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert jsonpath(path)(DOCUMENT) == found


@pytest.mark.parametrize(
    "path", ["..replicas", ".spec[", ".spec[?(@.x==)]", ".spec.{x}", ".a[(@.length-1)]", ".a[?(@.b==x)]", "." * 2000]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="JSONPath"):
        jsonpath(path)


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("integer", ".spec.replicas", 3),
        ("integer", ".spec.share", 0),
        ("integer", ".spec.suspend", None),
        ("number", ".spec.share", 0.5),
        ("boolean", ".spec.suspend", False),
        ("boolean", ".spec.replicas", None),
        ("string", ".spec.replicas", "3"),
        ("string", ".spec.suspend", "false"),
        ("string", ".spec.size", '{"x":1}'),
        ("string", ".spec.names[*]", "a"),
        ("string", ".spec.missing", None),
        ("date", ".status.since", "5m"),
        ("date", ".spec.names[0]", "<invalid>"),
        ("string", "..not a path", None),
    ],
)
def test_cells_are_of_their_columns_type(kind: str, path: str, cell: Any) -> None:
    assert line(served(JOB_SETS, printer_columns=((Column("X", kind), path),)), DOCUMENT)["X"] == cell


def test_the_columns_of_a_definition_follow_the_name() -> None:
    columns = (
        (Column("Terminal State"), ".status.terminalState"),
        (Column("Restarts", "integer", priority=1), ".spec.replicas"),
        (Column("Age", "date"), ".metadata.creationTimestamp"),
    )
    printed = line(served(JOB_SETS, printer_columns=columns), DOCUMENT)
    assert printed == {"Name": "a", "Terminal State": None, "Restarts": 3, "Age": "5m"}


def test_an_object_that_keeps_its_version_is_read_with_the_paths_of_that_version() -> None:
    columns = ((Column("State"), ".status.phase"), (Column("Age", "date"), ".metadata.creationTimestamp"))
    kept = (("example.com/v1alpha1", ((Column("State"), ".status.word"),)),)
    mixed = served(JOB_SETS, printer_columns=columns, kept_columns=kept)
    first = {"apiVersion": "example.com/v1alpha1", "status": {"word": "Active", "phase": "wrong"}}
    later = {"apiVersion": "example.com/v1", "status": {"phase": "Running"}}
    assert line(mixed, first) == {"Name": "a", "State": "Active", "Age": "5m"}
    assert line(mixed, later) == {"Name": "a", "State": "Running", "Age": "5m"}


def test_without_columns_there_is_the_age() -> None:
    assert line(JOB_SETS, DOCUMENT) == {"Name": "a", "Age": "5m"}
