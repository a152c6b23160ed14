"""What people write behind a flag, read or refused."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy.cli.submit import values
from understudy.cli.submit.values import Mounted


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.job_name, "a", "a"),
        (values.job_name, "x" * 49, "x" * 49),
        (values.count, "0", 0),
        (values.understudies, "64", 64),
        (values.positive, "3", 3),
        (values.processes, "auto", "auto"),
        (values.processes, "2", "2"),
        (values.port, "65535", 65535),
        (values.seconds, "90", 90),
        (values.seconds, "90s", 90),
        (values.seconds, "2h30m", 9000),
        (values.seconds, "7d", 604_800),
        (values.seconds, "1d2h3m4s", 93_784),
        (values.cpu, "500m", "500m"),
        (values.memory, "16Gi", "16Gi"),
        (values.variable, "A=b=c", ("A", "b=c")),
        (values.variable, "A=", ("A", "")),
        (values.label, "example.com/team=a-b", ("example.com/team", "a-b")),
        (values.annotation, "k=any text = at all", ("k", "any text = at all")),
        (values.device, "google.com/tpu=4", ("google.com/tpu", "4")),
        (values.claim, "data:/d", Mounted("data", "/d")),
        (values.folder, "/d", Mounted("/d", "/d")),
        (values.folder, "/d:/e", Mounted("/d", "/e")),
        (values.path, "/srv/", "/srv"),
    ],
)
def test_read(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (values.job_name, "x" * 50, "49 at most"),
        (values.job_name, "Medium", "lower-case"),
        (values.job_name, "a_b", "no name for a job"),
        (values.job_name, "-a", "first and last"),
        (values.count, "-1", "0 or more"),
        (values.count, "1.5", "whole number"),
        (values.count, "9" * 12, "whole number"),
        (values.positive, "0", "1 or more"),
        (values.processes, "many", "whole number"),
        (values.port, "65536", "no port"),
        (values.seconds, "", "no duration"),
        (values.seconds, "soon", "no duration"),
        (values.seconds, "-5s", "no duration"),
        (values.seconds, "99999d", "longer than"),
        (values.cpu, "many", "not a quantity"),
        (values.memory, "-1Gi", "negative"),
        (values.variable, "A", "NAME=VALUE"),
        (values.variable, "1A=b", "NAME=VALUE"),
        (values.label, "disk", "KEY=VALUE"),
        (values.label, "=ssd", "KEY=VALUE"),
        (values.label, "disk=a b", "cannot be the value of a label"),
        (values.label_key, "a b", "node label"),
        (values.annotation, "novalue", "KEY=VALUE"),
        (values.device, "nvidia.com/gpu=1", "--gpus"),
        (values.device, "google.com/tpu=0", "1 or more"),
        (values.claim, "data", "CLAIM:/PATH"),
        (values.claim, "data:relative", "CLAIM:/PATH"),
        (values.claim, "data:/", "CLAIM:/PATH"),
        (values.folder, "relative", "/PATH"),
        (values.folder, "/a/../b", "/PATH"),
        (values.path, "code", "no absolute path"),
        (values.file, "/no/such/file:/x", "no such file"),
    ],
)
def test_refused(read: Callable[[str], Any], text: str, words: str) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        read(text)


def test_a_file_is_taken_from_where_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conf").touch()
    assert values.file("a.conf:/etc/a.conf") == Mounted(str(tmp_path / "a.conf"), "/etc/a.conf")
    assert values.file("a.conf") == Mounted(str(tmp_path / "a.conf"), str(tmp_path / "a.conf"))
    with pytest.raises(ArgumentTypeError, match="no absolute path"):
        values.file("a.conf:b.conf")


@pytest.mark.parametrize(
    ("text", "toleration"),
    [
        ("all", {"operator": "Exists"}),
        ("gpu", {"key": "gpu", "operator": "Exists"}),
        ("gpu:NoSchedule", {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}),
        ("a=b", {"key": "a", "operator": "Equal", "value": "b"}),
        ("a=b:NoExecute", {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"}),
        ("a=b:NoSchedule,Equal", {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}),
        ("a=:NoSchedule,Exists", {"key": "a", "operator": "Exists", "effect": "NoSchedule"}),
    ],
)
def test_tolerations(text: str, toleration: dict[str, str]) -> None:
    assert values.toleration(text) == toleration


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=b:Sometimes", "NoSchedule, PreferNoSchedule, NoExecute"),
        ("a=b:NoSchedule,Like", "Equal or Exists"),
        ("a=b:NoSchedule,Exists", "leave 'b' out"),
        ("a b", "is no toleration"),
        ("", "is no toleration"),
        ("a=b c:NoSchedule", "is no toleration"),
    ],
)
def test_a_bad_toleration_is_not_dropped(text: str, words: str) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        values.toleration(text)


def test_more_understudies_than_can_be_held_ready_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="65 understudies are too many; 64 at most can be held ready"):
        values.understudies("65")
