"""What the tests of the command line share."""

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path / "home"))  # no test sees a real cluster
    return Shell(tmp_path, capsys)
