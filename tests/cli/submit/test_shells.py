"""The signal to save reaches the program, and no line means anything else than before."""

import os
import signal
import subprocess

import pytest

from understudy.cli.submit.shells import making_way

SAVES = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(7)); print(1, flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    "command",
    ["python train.py --epochs 5", "./train.sh > out.log", "/usr/bin/env X=1 python train.py", "torchrun a.py 'a; b'"],
)
def test_a_plain_command_takes_the_place_of_the_shell(command: str) -> None:
    assert making_way(command) == f"exec {command}"


@pytest.mark.parametrize(
    "command",
    [
        "cd /root && python train.py",
        "X=1 python train.py",
        "python a.py; python b.py",
        "python a.py | tee log",
        "python a.py &",
        "(python a.py)",
        "python a.py\npython b.py",
        "for n in 1 2; do echo $n; done",
        "$PYTHON train.py",
        "export A=b",
        "echo hello",
        "python 'unclosed",
        "",
        " ",
    ],
)
def test_any_other_line_stays_as_it_is(command: str) -> None:
    assert making_way(command) == command


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_program_hears_what_its_container_is_told(shell: str) -> None:
    with subprocess.Popen([shell, "-c", making_way(f"python -c '{SAVES}'")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 7
