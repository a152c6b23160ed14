"""Code is fetched with plain tools: what the container is, and what its command does."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import container, pods
from understudy.cli.submit.code import project


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
    assert project(source) == name


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
