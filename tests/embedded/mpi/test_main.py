"""mpirun as a program on this machine, without cluster and workers."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from understudy.embedded.mpi.__main__ import exported, main
from understudy.embedded.mpi.options import BadOptions, Options
from understudy.embedded.mpi.program_scripts import install


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return install(tmp_path / "a folder", tmp_path / "agent.sock")


def run(programs: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{os.environ['PATH']}{os.pathsep}{programs}"
    given = {**os.environ, "PATH": path, **variables}
    return subprocess.run([programs / words[0], *words[1:]], capture_output=True, text=True, env=given, check=False)


@pytest.mark.parametrize("name", ["mpirun", "mpiexec"])
def test_without_hosts_processes_run_here(programs: Path, name: str) -> None:
    done = run(programs, name, "-np", "2", "--oversubscribe", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK")
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["0", "1"], "")


def test_python_settings_of_the_container_are_ignored(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    done = run(programs, "mpirun", "-np", "1", "true", PYTHONPATH=str(tmp_path), PYTHONHOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_host_file_from_a_variable(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost slots=3\n")
    done = run(programs, "mpirun", "echo", "hi", OMPI_MCA_orte_default_hostfile=str(tmp_path / "hosts"))
    assert done.stdout == "hi\n" * 3


def test_a_host_file_where_mounts_are_not_private(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("localhost slots=2\n")
    moved = json.dumps({"/etc/mpi": str(tmp_path), "/etc": "/nowhere"})
    done = run(programs, "mpirun", "--hostfile", "/etc/mpi/hostfile", "echo", "hi", UNDERSTUDY_MOUNTS=moved)
    assert done.stdout == "hi\n" * 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--frobnicate", "x"], "option --frobnicate is not known here"),
        (["--hostfile", "/nowhere", "x"], "the host file /nowhere cannot be read"),
        (["-H", "a:b", "x"], "host 'a:b'"),
        (["-x", "=1", "x"], "-x =1: say the name"),
        ([], "there is no command to run"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    assert main(Path("/nowhere"), words) == 2
    assert f"mpirun: {complaint}" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "said"), [("--version", "mpirun (Understudy)"), ("--help", "usage: mpirun")])
def test_version_and_help(capsys: pytest.CaptureFixture[str], word: str, said: str) -> None:
    assert main(Path("/nowhere"), [word]) == 0
    assert capsys.readouterr().out.startswith(said)


def test_a_worker_outside_of_any_cluster(programs: Path) -> None:
    done = run(programs, "mpirun", "-H", "elsewhere", "true", UNDERSTUDY_CONTAINER="")
    assert done.returncode == 1
    assert "elsewhere cannot be entered: UNDERSTUDY_CONTAINER is not set" in done.stderr


def test_exported_variables() -> None:
    given = {"A": "1", "OMPI_MCA_pml": "cm", "PATH": "/bin"}
    options = Options(variables=("A", "B=2", "C"), parameters={"btl": "tcp"})
    assert exported(options, given) == {"A": "1", "B": "2", "OMPI_MCA_pml": "cm", "OMPI_MCA_btl": "tcp"}
    with pytest.raises(BadOptions):
        exported(Options(variables=("=x",)), given)
