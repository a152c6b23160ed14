"""`--set PATH=VALUE`."""

from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import job
from understudy.cli.errors import BadInput
from understudy.cli.submit.field_paths import set_fields

OBJECT: dict[str, Any] = {"spec": {"replicas": 1, "containers": [{"name": "a"}], "gone": True}}


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("spec.replicas=3", ["spec", "replicas"], 3),
        ("spec.suspend=true", ["spec", "suspend"], True),
        ("spec.note=a=b", ["spec", "note"], "a=b"),
        ("spec.note='3'", ["spec", "note"], "3"),
        ("spec.note=", ["spec", "note"], ""),
        ("spec.at=2026-01-31T12:00:00Z", ["spec", "at"], "2026-01-31T12:00:00Z"),
        ("spec.deep.er.still=x", ["spec", "deep", "er", "still"], "x"),
        ("spec.containers[0].image=i", ["spec", "containers", 0, "image"], "i"),
        ("spec.containers[1].name=b", ["spec", "containers", 1, "name"], "b"),
        ("spec.new[0]=x", ["spec", "new", 0], "x"),
        ('metadata.labels["example.com/a"]=b', ["metadata", "labels", "example.com/a"], "b"),
        (r"metadata.labels.example\.com/a=b", ["metadata", "labels", "example.com/a"], "b"),
        ("spec.args=[a, 1]", ["spec", "args"], ["a", 1]),
        ("spec.map={a: {b: c}}", ["spec", "map"], {"a": {"b": "c"}}),
    ],
)
def test_a_field_is_set(setting: str, path: list[Any], value: Any) -> None:
    found: Any = set_fields(OBJECT, [setting])
    for step in path:
        found = found[step]
    assert found == value


def test_null_takes_a_field_away() -> None:
    assert "gone" not in set_fields(OBJECT, ["spec.gone=null"])["spec"]


def test_later_ones_see_earlier_ones_and_the_original_stays() -> None:
    found = set_fields(OBJECT, ["spec.containers[1].name=b", "spec.containers[1].image=i"])
    assert found["spec"]["containers"] == [{"name": "a"}, {"name": "b", "image": "i"}]
    assert OBJECT["spec"]["containers"] == [{"name": "a"}]


def test_what_two_places_share_is_changed_in_one(shell: Shell) -> None:
    path = "spec.pytorchReplicaSpecs.Worker.template.spec.priorityClassName"
    roles = job(shell, "pytorch", "--workers=2", "--set", f"{path}=low")["spec"]["pytorchReplicaSpecs"]
    named = {role: spec["template"]["spec"].get("priorityClassName") for role, spec in roles.items()}
    assert named == {"Master": None, "Worker": "low"}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("spec.replicas", "PATH=VALUE"),
        ("=3", "PATH=VALUE"),
        ("spec..a=1", "no part of a path"),
        ("spec.containers[2].name=c", "the list has 1 elements"),
        ("spec.containers.name=c", "does not go into a list"),
        ("spec[0]=c", "does not go into a mapping"),
        ("spec.replicas.a=c", "does not go into a plain value"),
        ("spec.a=[1, 2", "is not YAML"),
        ("spec.a={a: 1, a: 2}", "is not YAML"),
    ],
)
def test_what_cannot_be_set_is_refused(setting: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        set_fields(OBJECT, [setting])
    assert str(error.value).startswith(f"--set {setting}: ")
