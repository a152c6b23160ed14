"""The scripts in the shells they are for; those that are not installed here are left out."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell

STUB = """\
#!/bin/sh
echo "$@" >> "$ASKED"
case "$1 $2" in
    "list -o") echo job.batch/medium; echo pytorchjob.kubeflow.org/mnist ;;
    "node list") echo node/slice-a-0; echo node/slice-b-0 ;;
esac
"""
BASH = """\
source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_understudy
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """\
source "$SCRIPT"
complete -C "$argv" | string replace -r '\\t.*' ''
true
"""


class Terminal:
    """A line in a shell, and the words it offers. `understudy` itself is played by a stub that knows two jobs."""

    def __init__(self, folder: Path, name: str, script: str) -> None:
        self._folder, self._name = folder, name
        stub, self._script, self._asked = folder / "understudy", folder / "script", folder / "asked"
        stub.write_text(STUB)
        stub.chmod(0o755)
        self._script.write_text(script)
        (folder / "there.yaml").touch()

    def offers(self, line: str) -> set[str]:
        words = line.split(" ")
        given = [line] if self._name == "fish" else words
        code = {"bash": BASH, "fish": FISH}[self._name]
        quiet = {"bash": ("--norc",), "fish": ("--no-config",)}[self._name]
        after = [] if self._name == "fish" else ["_"]
        path = f"{self._folder}:{os.environ['PATH']}"
        surroundings = {**os.environ, "PATH": path, "SCRIPT": str(self._script), "ASKED": str(self._asked)}
        command = [self._name, *quiet, "-c", code, *after, *given]
        done = subprocess.run(command, env=surroundings, cwd=self._folder, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return set(done.stdout.split())

    def asked(self) -> str:
        return self._asked.read_text()


@pytest.fixture(params=["bash", "fish"])
def terminal(request: pytest.FixtureRequest, shell: Shell) -> Terminal:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    code, out, err = shell.run("completion", request.param)
    assert (code, err) == (0, "")
    return Terminal(shell.folder, request.param, out)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("understudy susp", {"suspend"}),
        ("understudy node unc", {"uncordon"}),
        ("understudy delete m", {"medium", "mnist"}),
        ("understudy node drain slice-b", {"slice-b-0"}),
        ("understudy delete --type pyt", {"pytorchjob"}),
        ("understudy delete -T pyt", {"pytorchjob"}),
        ("understudy delete --name", {"--namespace"}),
        ("understudy list -o na", {"name"}),
        ("understudy node fail --how fr", {"freeze"}),
        ("understudy plan -f th", {"there.yaml"}),
        ("understudy completion zs", {"zsh"}),
    ],
)
def test_words_are_offered(terminal: Terminal, line: str, words: set[str]) -> None:
    assert words <= terminal.offers(line)


def test_jobs_are_asked_of_the_cluster_that_the_line_names(terminal: Terminal) -> None:
    terminal.offers("understudy delete --cluster slices -n research m")
    assert terminal.asked() == "list -o name --cluster slices -n research\n"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_knows_verbs_options_and_where_names_come_from(shell: Shell, name: str) -> None:
    code, out, err = shell.run("completion", name)
    assert (code, err) == (0, "")
    for word in ("suspend", "uncordon", "on-preemption", "understudy_jobs", "understudy_nodes", "pytorchjob", "freeze"):
        assert word in out
    if shutil.which(name) is not None:
        subprocess.run([name, "-n"], input=out, text=True, check=True)


def test_another_shell_is_refused(shell: Shell) -> None:
    assert "invalid choice: 'csh'" in shell.refuses("completion", "csh")
