"""What people write behind a flag, read or refused."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy.cli.submit import flag_values
from understudy.cli.submit.flag_values import Mount


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (flag_values.job_name, "a", "a"),
        (flag_values.job_name, "x" * 49, "x" * 49),
        (flag_values.count, "0", 0),
        (flag_values.understudies, "64", 64),
        (flag_values.positive, "3", 3),
        (flag_values.processes, "auto", "auto"),
        (flag_values.processes, "2", "2"),
        (flag_values.port, "65535", 65535),
        (flag_values.seconds, "90", 90),
        (flag_values.seconds, "90s", 90),
        (flag_values.seconds, "2h30m", 9000),
        (flag_values.seconds, "7d", 604_800),
        (flag_values.seconds, "1d2h3m4s", 93_784),
        (flag_values.cpu, "500m", "500m"),
        (flag_values.memory, "16Gi", "16Gi"),
        (flag_values.variable, "A=b=c", ("A", "b=c")),
        (flag_values.variable, "A=", ("A", "")),
        (flag_values.label, "example.com/team=a-b", ("example.com/team", "a-b")),
        (flag_values.annotation, "k=any text = at all", ("k", "any text = at all")),
        (flag_values.device, "google.com/tpu=4", ("google.com/tpu", "4")),
        (flag_values.claim, "data:/d", Mount("data", "/d")),
        (flag_values.folder, "/d", Mount("/d", "/d")),
        (flag_values.folder, "/d:/e", Mount("/d", "/e")),
        (flag_values.path, "/srv/", "/srv"),
    ],
)
def test_read(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (flag_values.job_name, "x" * 50, "49 at most"),
        (flag_values.job_name, "Medium", "lower-case"),
        (flag_values.job_name, "a_b", "no name for a job"),
        (flag_values.job_name, "-a", "first and last"),
        (flag_values.count, "-1", "0 or more"),
        (flag_values.count, "1.5", "whole number"),
        (flag_values.count, "9" * 12, "whole number"),
        (flag_values.positive, "0", "1 or more"),
        (flag_values.processes, "many", "whole number"),
        (flag_values.port, "65536", "no port"),
        (flag_values.seconds, "", "no duration"),
        (flag_values.seconds, "soon", "no duration"),
        (flag_values.seconds, "-5s", "no duration"),
        (flag_values.seconds, "99999d", "longer than"),
        (flag_values.cpu, "many", "not a quantity"),
        (flag_values.memory, "-1Gi", "negative"),
        (flag_values.variable, "A", "NAME=VALUE"),
        (flag_values.variable, "1A=b", "NAME=VALUE"),
        (flag_values.label, "disk", "KEY=VALUE"),
        (flag_values.label, "=ssd", "KEY=VALUE"),
        (flag_values.label, "disk=a b", "cannot be the value of a label"),
        (flag_values.label_key, "a b", "node label"),
        (flag_values.annotation, "novalue", "KEY=VALUE"),
        (flag_values.device, "nvidia.com/gpu=1", "--gpus"),
        (flag_values.device, "google.com/tpu=0", "1 or more"),
        (flag_values.claim, "data", "CLAIM:/PATH"),
        (flag_values.claim, "data:relative", "CLAIM:/PATH"),
        (flag_values.claim, "data:/", "CLAIM:/PATH"),
        (flag_values.folder, "relative", "/PATH"),
        (flag_values.folder, "/a/../b", "/PATH"),
        (flag_values.path, "code", "no absolute path"),
        (flag_values.file, "/no/such/file:/x", "no such file"),
    ],
)
def test_refused(read: Callable[[str], Any], text: str, words: str) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        read(text)


def test_a_file_is_taken_from_where_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conf").touch()
    assert flag_values.file("a.conf:/etc/a.conf") == Mount(str(tmp_path / "a.conf"), "/etc/a.conf")
    assert flag_values.file("a.conf") == Mount(str(tmp_path / "a.conf"), str(tmp_path / "a.conf"))
    with pytest.raises(ArgumentTypeError, match="no absolute path"):
        flag_values.file("a.conf:b.conf")


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
    assert flag_values.toleration(text) == toleration


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
        flag_values.toleration(text)


def test_more_understudies_than_can_be_held_ready_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="65 understudies are too many; 64 at most can be held ready"):
        flag_values.understudies("65")
