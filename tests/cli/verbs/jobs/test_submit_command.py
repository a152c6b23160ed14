"""A command behind the flags is the command, in quotes or not; what is ambiguous is refused."""

import pytest

from tests.cli.shell import Shell


def command_of(shell: Shell, *words: str) -> str:
    code, out, err = shell.run("submit", "job", "--dry-run", *words)
    assert (code, err) == (0, "")
    [line] = [line for line in out.splitlines() if line.strip().startswith(("- exec ", "- 'true'"))]
    return line.strip().removeprefix("- ").removeprefix("exec ").strip("'")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--name", "x", "mpirun", "tail", "-f", "/dev/null"], "mpirun tail -f /dev/null"),
        (["--name=x", "mpirun", "-n", "2", "python", "a.py"], "mpirun -n 2 python a.py"),
        (["--name=x", "mpirun", "--np", "2", "python", "a.py"], "mpirun --np 2 python a.py"),
        (["--name=x", "-e", "A=1", "-pp", "python", "a.py", "--epochs", "20"], "python a.py --epochs 20"),
        (["--name=x", "--gang", "python", "a.py"], "python a.py"),
        (["--name=x", "--", "python", "a.py", "--name", "y"], "python a.py --name y"),
        (["python a.py --name y", "--name=x"], "python a.py --name y"),
        (["true", "--name=x"], "true"),
    ],
)
def test_a_command_needs_no_quotes(shell: Shell, words: list[str], command: str) -> None:
    assert command_of(shell, *words) == command


def test_a_flag_of_submit_within_an_unquoted_command_is_refused(shell: Shell) -> None:
    said = shell.refuses("submit", "pytorch", "--name=x", "python", "train.py", "--workers=4")
    assert "--workers=4: it may be meant for submit or for python" in said
