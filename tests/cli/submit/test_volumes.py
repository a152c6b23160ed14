"""Data, files and shared memory into volumes and mounts."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import made, pods
from understudy.cli.submit import configfiles


def mounts(spec: dict[str, Any]) -> dict[str, Any]:
    """What lies behind each mount."""
    volumes = {volume.pop("name"): volume for volume in spec["volumes"]}
    [container] = spec["containers"]
    return {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}


def test_claims_and_folders(shell: Shell) -> None:
    flags = ("-d", "corpus:/data", "--data=corpus:/again", "--data=models:/models", "--data-dir=/scratch:/tmp/scratch")
    assert mounts(pods(shell, *flags)["spec"]) == {
        "/data": {"persistentVolumeClaim": {"claimName": "corpus"}},
        "/again": {"persistentVolumeClaim": {"claimName": "corpus"}},
        "/models": {"persistentVolumeClaim": {"claimName": "models"}},
        "/tmp/scratch": {"hostPath": {"path": "/scratch"}},
    }


def test_a_claim_that_is_mounted_twice_is_one_volume(shell: Shell) -> None:
    assert len(pods(shell, "-d", "corpus:/a", "-d", "corpus:/b")["spec"]["volumes"]) == 1


def test_shared_memory(shell: Shell) -> None:
    found = mounts(pods(shell, "--share-memory=2Gi")["spec"])
    assert found == {"/dev/shm": {"emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}}


@pytest.mark.parametrize(
    "flags",
    [
        ("--data=a:/x", "--data-dir=/y:/x"),
        ("--data=a:/root/code", "--sync-mode=git", "--sync-source=https://example.com/a"),
        ("--data=a:/dev/shm", "--share-memory=1Gi"),
    ],
)
def test_two_things_in_one_place_are_refused(shell: Shell, flags: tuple[str, ...]) -> None:
    assert "two things are to be mounted there" in shell.refuses("submit", "job", "--name=j", "--dry-run", *flags, "x")


def test_files_of_a_folder_are_one_config_map(shell: Shell) -> None:
    Path("a").write_text("text")
    Path("b").write_bytes(b"\xff")
    Path("c").write_text("other")
    flags = [f"--config-file={file}:{place}" for file, place in (("a", "/etc/x/a"), ("b", "/etc/x/b"), ("c", "/opt/c"))]
    job, *maps = made(shell, "job", *flags)
    assert [(one.get("data"), one.get("binaryData")) for one in maps] == [
        ({"a": "text"}, {"b": "/w=="}),
        ({"c": "other"}, None),
    ]
    spec = job["spec"]["template"]["spec"]
    assert [volume["configMap"]["name"] for volume in spec["volumes"]] == [one["metadata"]["name"] for one in maps]
    assert [(mount["mountPath"], mount["subPath"]) for mount in spec["containers"][0]["volumeMounts"]] == [
        ("/etc/x/a", "a"),
        ("/etc/x/b", "b"),
        ("/opt/c", "c"),
    ]


def test_the_name_of_a_config_map_says_whose_it_is_and_which_folder(shell: Shell) -> None:
    Path("a").write_text("text")
    names = [
        made(shell, "job", f"--config-file=a:{place}")[1]["metadata"]["name"] for place in ("/x/a", "/y/a", "/x/b")
    ]
    assert names[0] == names[2] != names[1]
    assert all(name.startswith("j-") and len(name) == len("j-") + 15 for name in names)


def test_files_that_a_config_map_cannot_hold(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a").write_text("text")
    Path("b").write_text("text")
    refused = ("submit", "job", "--name=j", "--dry-run", "--config-file=a:/x/a", "true")
    assert "two things are to be mounted there" in shell.refuses(*refused, "--config-file=b:/x/a")
    monkeypatch.setattr(configfiles, "LARGEST", 3)
    assert "more than 1 MiB for one folder" in shell.refuses(*refused)
