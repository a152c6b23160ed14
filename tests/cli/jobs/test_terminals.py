"""How a command that ran beside a job ended, and how it is asked for."""

import pytest

from understudy.cli.jobs.terminals import Errand, exit_code


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (b'{"status":"Success"}', 0, ""),
        (b'{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}', 7, ""),
        (b'{"status":"Failure","message":"no such container"}', 1, "understudy: no such container\n"),
        (b'{"status":"Failure"}', 1, "understudy: the command could not be run\n"),
    ],
)
def test_the_error_channel_tells_how_a_command_ended(
    capsys: pytest.CaptureFixture[str], status: bytes, code: int, said: str
) -> None:
    assert exit_code(status) == code
    assert capsys.readouterr().err == said


def test_a_terminal_has_no_stderr_of_its_own() -> None:
    errand = Errand("default", "train-0", "main", ("sh", "-c", "a b & c"))
    head = "/api/v1/namespaces/default/pods/train-0/exec?stdin=true&stdout=true"
    tail = "&container=main&command=sh&command=-c&command=a+b+%26+c"
    assert errand.path(terminal=True) == f"{head}&stderr=false&tty=true{tail}"
    assert errand.path(terminal=False) == f"{head}&stderr=true&tty=false{tail}"
