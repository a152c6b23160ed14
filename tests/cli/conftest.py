"""What the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.embedded.shared_cluster import shared
from understudy.cli.clusters import start

__all__ = ["shared", "shell"]

PATIENCE = 90.0  # seconds


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """No test sees a real cluster, nor leaves one of its own behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    yield Shell(tmp_path, capsys)
    while start._left_running:
        start._left_running.pop().wait(PATIENCE)
