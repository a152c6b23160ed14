"""The command line of a user whose only cluster is the real one."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.kube.cluster.running import Cluster
from understudy.main import main


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    def __init__(self, capsys: pytest.CaptureFixture[str], namespace: str) -> None:
        self._capsys = capsys
        self._namespace = namespace

    def run(self, *arguments: str) -> Said:
        at = (
            2 if arguments[0] == "submit" else len(arguments)
        )  # what follows the command of a job belongs to the command
        code = main([*arguments[:at], "-n", self._namespace, *arguments[at:]])
        return Said(code, *self._capsys.readouterr())

    def shows(self, *arguments: str) -> str:
        said = self.run(*arguments)
        assert said.code == 0, said
        return said.out


@pytest.fixture
def shell(
    kube: Cluster, namespace: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Commands whose only kubeconfig is that of the real cluster."""
    monkeypatch.setenv("KUBECONFIG", str(kube.kubeconfig))
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path))
    return Shell(capsys, namespace)
