"""A flag that is wrong is named, by whatever kind of job."""

import pytest

from tests.cli.shell import Shell
from understudy.cli.submit.kinds.registered import KINDS

NAMES = [name for kind in KINDS for name in kind.NAMES]


def test_every_name_of_a_kind_is_its_own() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert {"tf", "tfjob", "pytorch", "pytorchjob", "mpi", "mpijob", "mj", "horovod", "horovodjob", "hj"} < set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_takes_the_shared_flags(shell: Shell, name: str) -> None:
    flags = ("--gpus=1", "--workers=2", "--priority=p", "--selector=a=b", "--retry=1", "--running-timeout=1h")
    code, out, _ = shell.run("submit", name, "--name=j", *flags, "--dry-run", "true")
    assert code == 0
    assert "priorityClassName: p" in out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--gpus=-1"], "--gpus: '-1'"),
        (["--workers=0"], "--workers: '0'"),
        (["--selector=ssd"], "--selector: 'ssd'"),
        (["--toleration=a=b:Never"], "--toleration: 'a=b:Never'"),
        (["--env=A"], "--env: 'A'"),
        (["--data=x"], "--data: 'x'"),
        (["--retry=often"], "--retry: 'often'"),
        (["--running-timeout=soon"], "--running-timeout: 'soon'"),
        (["--device=nvidia.com/gpu=1"], "--device: nvidia.com/gpu"),
        (["--sync-mode=hdfs"], "--sync-mode/--syncMode: invalid choice: 'hdfs'"),
        (["--clean-task-policy=Most"], "--clean-task-policy/--cleanTaskPolicy: invalid choice: 'Most'"),
        (["--on-preemption=cry"], "--on-preemption: invalid choice: 'cry'"),
        (["--name=Not_A_Name"], "--name: 'Not_A_Name'"),
        (["--gpsu=1"], "unrecognized arguments: --gpsu=1"),
        (["--wait", "--watch"], "--watch: not allowed with argument --wait"),
    ],
)
def test_the_complaint_names_the_flag(shell: Shell, flags: list[str], words: str) -> None:
    assert words in shell.refuses("submit", "mpi", "--name=j", *flags, "true")


def test_an_unknown_kind(shell: Shell) -> None:
    assert "invalid choice: 'pytroch'" in shell.refuses("submit", "pytroch", "--name=j", "true")
