"""What the tests of `understudy submit` and its neighbours share."""

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.api import Api


@pytest.fixture
def api(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(shell.folder))
    return Api(shell, monkeypatch)
