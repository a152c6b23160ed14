"""Which settings a cluster's scheduler is taken to go by, and where they are from."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from tests.cli.shell import Shell
from understudy.cli.in_force import InForce, in_force
from understudy.client import KubeClient
from understudy.client.config import Config
from understudy.ports import Refused

pytestmark = pytest.mark.usefixtures("shell")  # and so no settings but those of the test
DEFAULTS = "the defaults; --settings names others"


class Maps:
    """A cluster that is asked for nothing but the ConfigMaps of Understudy."""

    def __init__(self, *maps: dict[str, Any], refuses: bool = False) -> None:
        self.config = Config(server="https://elsewhere.example")
        self._maps, self._refuses = maps, refuses

    async def request(self, method: str, path: str) -> bytes:
        wanted = "/api/v1/configmaps?labelSelector=app.kubernetes.io%2Fname%3Dunderstudy"
        assert (method, path) == ("GET", wanted)
        if self._refuses:
            raise Refused(403, "Forbidden", "configmaps is forbidden")
        return msgspec.json.encode({"items": list(self._maps)})

    def found(self, path: str | None = None) -> InForce:
        return asyncio.run(in_force(cast(KubeClient, self), path))


def kept(name: str, text: str, created: str = "2026-01-01T12:00:00Z") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "understudy-system", "creationTimestamp": created}
    return {"metadata": metadata, "data": {"understudy.yaml": text}}


def test_those_installed_are_found() -> None:
    found = Maps({"metadata": {"name": "other"}}, kept("s", "policy: {minRuntime: 7}")).found()
    assert (found.settings.policy.min_runtime, found.source) == (7, "those of ConfigMap understudy-system/s")


def test_of_several_the_newest_counts() -> None:
    old, new = kept("a", "policy: {minRuntime: 7}"), kept("b", "policy: {minRuntime: 8}", "2026-02-01T12:00:00Z")
    assert Maps(new, old).found().settings.policy.min_runtime == 8


@pytest.mark.parametrize("cluster", [Maps(), Maps(refuses=True)])
def test_none_there_or_none_to_be_seen(cluster: Maps) -> None:
    assert cluster.found().source == DEFAULTS


def test_what_cannot_be_read_is_told_and_not_guessed() -> None:
    found = Maps(kept("s", "policy: {minRuntimes: 7}")).found()
    assert "cannot be read: ConfigMap understudy-system/s: policy.minRuntimes: no such setting" in found.source
    assert found.settings.policy.min_runtime != 7


def test_what_somebody_names_goes_before(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Maps(kept("s", "policy: {minRuntime: 7}"))
    shell.write(mine="policy: {minRuntime: 9}")
    assert cluster.found("mine.yaml") == InForce(cluster.found("mine.yaml").settings, "mine.yaml")
    assert cluster.found("mine.yaml").settings.policy.min_runtime == 9
    monkeypatch.setenv("UNDERSTUDY_POLICY_MIN_RUNTIME", "11")
    found = cluster.found()
    assert (found.settings.policy.min_runtime, found.source) == (11, "those of the environment")
