"""Code, data and files of a job into volumes, mounts and ConfigMaps."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import container, made, pods
from understudy.cli.submit import volumes
from understudy.cli.submit.volumes import project_name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://example.com/team/mnist-pytorch.git", "mnist-pytorch"),
        ("https://example.com/team/mnist/", "mnist"),
        ("git@example.com:mnist.git", "mnist"),
        ("/home/me/mnist", "mnist"),
        ("file:///srv/a.b.git", "a.b"),
        ("https://example.com/..", ""),
        ("/", ""),
    ],
)
def test_the_name_of_a_repository(source: str, name: str) -> None:
    assert project_name(source) == name


def test_a_repository_without_a_name_is_refused(shell: Shell) -> None:
    flags = ("--sync-mode=git", "--sync-source=/", "--dry-run")
    assert "--sync-source /: has no name" in shell.refuses("submit", "job", "--name=j", *flags, "true")


def test_code_lies_below_the_working_folder(shell: Shell) -> None:
    spec = pods(shell, "--sync-mode=git", "--sync-source=https://example.com/a.git", "--working-dir=/srv")["spec"]
    [fetching] = spec["initContainers"]
    assert (fetching["name"], fetching["volumeMounts"]) == ("init-code", [{"name": "code-sync", "mountPath": "/code"}])
    assert spec["containers"][0]["volumeMounts"] == [{"name": "code-sync", "mountPath": "/srv/code"}]
    assert spec["volumes"] == [{"name": "code-sync", "emptyDir": {}}]


def test_rsync(shell: Shell) -> None:
    flags = ("--syncMode=rsync", "--syncSource=10.0.0.1::backup/code", "--sync-image=own")
    [fetching] = pods(shell, *flags)["spec"]["initContainers"]
    assert fetching["command"] == ["rsync", "-avP", "10.0.0.1::backup/code", "/code"]
    assert fetching["image"] == "own"


def test_a_folder_of_this_machine_may_be_named_from_where_one_is(shell: Shell) -> None:
    Path("mnist").mkdir()
    [fetching] = pods(shell, "--sync-mode=git", "--sync-source=mnist")["spec"]["initContainers"]
    assert {"name": "GIT_SYNC_REPO", "value": str(shell.folder / "mnist")} in fetching["env"]


def test_without_code_nothing_is_fetched(shell: Shell) -> None:
    assert "initContainers" not in pods(shell)["spec"]
    assert "volumeMounts" not in container(shell)


class Fetching:
    """The container's command, run on a folder that stands for its volume."""

    def __init__(self, shell: Shell, repository: Path) -> None:
        flags = ("--sync-mode=git", f"--sync-source={repository}")
        [container] = pods(shell, *flags)["spec"]["initContainers"]
        told = {entry["name"]: entry["value"] for entry in container["env"]}
        self.root = shell.folder / "volume"
        self.env = {**os.environ, **told, "GIT_SYNC_ROOT": str(self.root)}
        self.command = container["command"]

    def run(self, **more: str) -> None:
        done = subprocess.run(self.command, env={**self.env, **more}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "mnist"
    folder.mkdir()
    git(folder, "init", "--initial-branch=main")
    (folder / "train.py").write_text("first")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    return folder


def test_the_command_clones(shell: Shell, repository: Path) -> None:
    fetching = Fetching(shell, repository)
    fetching.run()
    assert (fetching.root / "mnist" / "train.py").read_text() == "first"


def test_a_second_try_starts_anew(shell: Shell, repository: Path) -> None:
    fetching = Fetching(shell, repository)
    (fetching.root / "mnist").mkdir(parents=True)
    (fetching.root / "mnist" / "half").touch()
    fetching.run()
    assert not (fetching.root / "mnist" / "half").exists()


def test_a_branch_and_a_password_come_from_the_environment(shell: Shell, repository: Path) -> None:
    git(repository, "checkout", "-b", "other")
    (repository / "train.py").write_text("second")
    git(repository, "commit", "-am", "second")
    git(repository, "checkout", "main")
    fetching = Fetching(shell, repository)
    fetching.run(GIT_SYNC_BRANCH="other", GIT_SYNC_USERNAME="me", GIT_SYNC_PASSWORD="it's $HOME")
    assert (fetching.root / "mnist" / "train.py").read_text() == "second"


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
    monkeypatch.setattr(volumes, "LARGEST", 3)
    assert "more than 1 MiB for one folder" in shell.refuses(*refused)
