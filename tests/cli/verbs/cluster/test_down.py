"""`understudy down`: the right cluster is stopped, whatever is left of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, lock_holder

FAKE_PART = Path(__file__).parents[3] / "embedded" / "clusters" / "fake_component.py"


def test_without_any_cluster(shell: Shell) -> None:
    assert shell.refuses("down") == "understudy: there is no cluster; `understudy up` makes one"


def test_a_cluster_that_is_down_already(shell: Shell) -> None:
    make_cluster("default")
    assert shell.run("down") == (0, "cluster default was down already\n", "")


def test_the_only_cluster_needs_no_name(shell: Shell) -> None:
    make_cluster("slices")
    assert shell.run("down")[1] == "cluster slices was down already\n"


def test_of_several_the_default_one_or_a_name(shell: Shell) -> None:
    make_cluster("one")
    make_cluster("two")
    assert shell.refuses("down") == "understudy: there are several clusters; say which with --name: one, two"
    make_cluster("default")
    assert shell.run("down")[1] == "cluster default was down already\n"
    assert shell.run("down", "--all")[1].splitlines() == [
        "cluster default was down already",
        "cluster one was down already",
        "cluster two was down already",
    ]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("slics", "--name slics: no such cluster; did you mean slices?"),
        ("zzz", "--name zzz: no such cluster; there are: slices"),
        ("../..", "--name ../..: no name for a cluster"),
    ],
)
def test_a_name_that_is_none(shell: Shell, name: str, complaint: str) -> None:
    make_cluster("slices")
    assert shell.refuses("down", "--name", name).startswith(f"understudy: {complaint}")


def test_parts_whose_supervisor_was_killed_are_stopped_in_order(shell: Shell) -> None:
    folder = make_cluster("default")
    processes = []
    for part in PARTS:
        process = subprocess.Popen([sys.executable, FAKE_PART, part, folder.path], stderr=subprocess.PIPE)
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.close()
        processes.append(process)
    assert all(lock_holder(folder.processes / part) for part in PARTS)
    assert shell.run("down") == (0, "cluster default is down\n", "")
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (folder.path / "stopped").read_text().split() == [CONTROL, AGENT, SERVER]
