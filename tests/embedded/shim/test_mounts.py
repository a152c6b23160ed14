"""Mounts that only one container sees: on paths that exist on the machine, and on paths that do not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.embedded.shim.fork_servers import ForkServerUnderTest, fork_server, said
from understudy.embedded.shim import container_files, messages
from understudy.embedded.shim.container_files import Mount, ShimState


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    (path / "file").write_text("content\n")
    return path


def isolated(one: ForkServerUnderTest) -> None:
    if not one.hello.mounts:
        pytest.skip(f"this machine permits no private mounts: {one.hello.why_not}")


@pytest.mark.parametrize("target", ["/mnt", "/understudy-a", "/understudy-a/b/c", "/etc/understudy-a", "/usr/lib/x/y"])
def test_a_volume_is_mounted_and_hides_no_other_files(tmp_path: Path, volume: Path, target: str) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        parents = " ".join(str(parent) for parent in Path(target).parents if parent.exists())
        before = {path: sorted(os.listdir(path)) for path in parents.split()}
        script = f"cat {target}/file; for d in {parents}; do ls -A $d; echo --; done"
        attempt, _ = one.run("sh", "-c", script, mounts=(Mount(str(volume), target),))
        lines = [line.split(" ", 2)[2] for line in said(attempt)]
        assert lines[0] == "content"
        seen = "\n".join(lines[1:]).split("--")
        for path, names in zip(before, seen, strict=False):
            assert set(before[path]) <= set(names.split())
            assert sorted(os.listdir(path)) == before[path], "the machine itself is as it was"


def test_read_only_mounts_cannot_be_written(tmp_path: Path, volume: Path) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        mounts = (Mount(str(volume), "/understudy-ro", read_only=True), Mount(str(volume), "/understudy-rw"))
        attempt, _ = one.run("sh", "-c", "touch /understudy-ro/x || touch /understudy-rw/y", mounts=mounts)
        assert sorted(os.listdir(volume)) == ["file", "y"]
        assert "Read-only file system" in "".join(line.removeprefix("stderr P ") for line in said(attempt))


def test_one_mount_within_another(tmp_path: Path, volume: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "deep").touch()
    with fork_server(tmp_path) as one:
        isolated(one)
        mounts = (Mount(str(inner), "/understudy-x/sub/inner"), Mount(str(volume), "/understudy-x"))
        attempt, _ = one.run("ls", "/understudy-x", "/understudy-x/sub/inner", mounts=mounts)
        assert "stdout F deep" in said(attempt)


def test_a_file_in_the_place_of_a_file(tmp_path: Path, volume: Path) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        attempt, _ = one.run("cat", "/etc/hosts", mounts=(Mount(str(volume / "file"), "/etc/hosts"),))
        assert said(attempt) == ["stdout F content"]


def test_a_file_mounted_over_a_folder_is_refused_with_a_message(tmp_path: Path, volume: Path) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        _, ending = one.run("true", mounts=(Mount(str(volume / "file"), "/usr"),))
        assert (ending.reason, ending.message) == ("StartError", "/usr is a folder on this machine")


def test_the_host_name_is_the_pods(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        attempt, _ = one.run("uname", "-n", hostname="worker-7")
        assert said(attempt) == ["stdout F worker-7"]
        assert os.uname().nodename != "worker-7"


def test_no_mount_is_left_on_the_machine(tmp_path: Path, volume: Path) -> None:
    with fork_server(tmp_path) as one:
        isolated(one)
        attempt = one.prepare("sleep", "1000", mounts=(Mount(str(volume), "/understudy-left"),))
        one.order(attempt)
        one.heard(messages.ContainerStarted)
        assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
        state = container_files.read(attempt.state, ShimState)
        assert state is not None
        os.kill(state.pid, 9)
        one.heard(messages.ContainerEnded)


_WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-sys_admin")
UNPRIVILEGED = """
import sys
from pathlib import Path
from tests.embedded.shim.fork_servers import fork_server, said
from understudy.embedded.shim.container_files import Mount
path = Path(sys.argv[1])
with fork_server(path) as one:
    print(one.hello)
    if one.hello.mounts:
        volume = str(path / "volume")
        mounts = (Mount(volume, "/understudy-user/v"), Mount(volume, "/mnt", read_only=True))
        script = "cat /understudy-user/v/file; id -u; hostname; echo > /dev/null; touch /mnt/x || true"
        attempt, ending = one.run("sh", "-c", script, mounts=mounts, hostname="mine")
        print(said(attempt), ending.exit_code, ending.message)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="nothing here takes rights away")
def test_users_without_rights_can_have_private_mounts_too(tmp_path: Path, volume: Path) -> None:
    assert volume.exists()
    line = [*(_WITHOUT_RIGHTS if os.getuid() == 0 else ()), sys.executable, "-c", UNPRIVILEGED, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    hello, *rest = done.stdout.splitlines()
    if "mounts=False" in hello:
        pytest.skip(f"this machine permits no user namespaces: {hello}")
    assert f"'stdout F content', 'stdout F {os.getuid()}', 'stdout F mine'" in rest[0]
    assert "Read-only file system" in rest[0]


_WITHOUT_EYES = ("setpriv", "--bounding-set=-sys_admin,-dac_override,-dac_read_search")
LOCKED = """
import sys
from pathlib import Path
from tests.embedded.shim.fork_servers import fork_server, said
from understudy.embedded.shim.container_files import Mount
path, locked = Path(sys.argv[1]), sys.argv[2]
with fork_server(path) as one:
    print(one.hello)
    if one.hello.mounts:
        mounts = (Mount(str(path / "volume"), f"{locked}/code"),)
        attempt, ending = one.run("sh", "-c", f"cd {locked}; pwd; ls; cat code/file", mounts=mounts)
        print(said(attempt), ending.exit_code, ending.message)
"""


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can be kept out by others")
def test_below_a_folder_that_only_its_owner_may_enter(tmp_path: Path, volume: Path) -> None:
    assert volume.exists()
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o700)
    os.chown(locked, 65534, 65534)
    line = [*_WITHOUT_EYES, sys.executable, "-c", LOCKED, str(tmp_path), str(locked)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    hello, *rest = done.stdout.splitlines()
    if "mounts=False" in hello:
        pytest.skip(f"this machine permits no user namespaces: {hello}")
    assert rest == [f"['stdout F {locked}', 'stdout F code', 'stdout F content'] 0 "]


def test_a_mount_may_hide_the_source_of_another(tmp_path: Path, volume: Path) -> None:
    """Here the folder with all files of the pod, which includes its working folder."""
    empty = tmp_path / "empty"
    empty.mkdir()
    with fork_server(tmp_path) as one:
        isolated(one)
        mounts = (
            Mount(str(empty), str(tmp_path.parents[-2])),
            Mount(str(volume), "/understudy-after/deep/v"),
            Mount(str(volume / "file"), "/etc/hosts"),
        )
        script = f"cat /understudy-after/deep/v/file /etc/hosts; ls -A {tmp_path.parents[-2]}; pwd"
        attempt, ending = one.run("sh", "-c", script, mounts=mounts, preload=str(volume / "file"))
        assert (said(attempt), ending.message) == (["stdout F content", "stdout F content", "stdout F /"], "")
        state = container_files.read(attempt.state, ShimState)
        assert state is not None
        assert state.notes == (f"working folder {tmp_path}/u/root: No such file or directory; started in / instead",)
