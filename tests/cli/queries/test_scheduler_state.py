"""What the scheduler of a cluster goes by: its objects and its settings."""

import asyncio
import json
import time
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.cli.shell import Shell
from understudy.cli.queries import scheduler_state
from understudy.cli.queries.scheduler_state import (
    SchedulerObjectReader,
    SchedulerObjects,
    SettingsInForce,
    settings_in_force,
)
from understudy.client import KubeClient
from understudy.client.config import Config
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.objects import resources
from understudy.objects.resources import Resource
from understudy.ports import Refused

Document = dict[str, Any]


class ReadOnly:
    """An API that serves lists in pages and is read-only: a write fails the test."""

    def __init__(self, **lists: list[Document]) -> None:
        """By plural. What is not there is not served, but for what every cluster has."""
        self.lists = lists
        self.forbidden: set[str] = set()
        self.expiring = 0  # so many further pages are refused: their list is too old
        self.asked: list[str] = []

    async def request(self, method: str, path: str, body: object = None) -> bytes:
        assert method == "GET", f"{method} {path}"
        assert body is None
        self.asked.append(path)
        parts = urlsplit(path)
        plural, query = parts.path.rpartition("/")[2], parse_qs(parts.query)
        if plural in self.forbidden:
            raise Refused(403, "Forbidden", f"{plural} is forbidden")
        if plural not in self.lists and any(s.optional and s.versions[0].plural == plural for s in WATCHED_RESOURCES):
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        if start and self.expiring:
            self.expiring -= 1
            raise Refused(410, "Expired", "the provided continue parameter is too old")
        items = self.lists.get(plural, [])
        more = {"continue": str(start + limit)} if start + limit < len(items) else {}
        return json.dumps({"metadata": more, "items": items[start : start + limit]}).encode()

    def surveyed(self) -> SchedulerObjects:
        return asyncio.run(SchedulerObjectReader(cast(KubeClient, self)).survey())


def named(*names: str) -> list[Document]:
    return [{"metadata": {"name": name}} for name in names]


def lease(name: str, renewed: float) -> Document:
    when = datetime.fromtimestamp(renewed, UTC).isoformat()
    return {
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"renewTime": when, "leaseDurationSeconds": 40},
    }


def titles(found: SchedulerObjects) -> list[str]:
    return [obj.title for obj in found.objects]


def test_lists_are_read_to_their_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_state, "PAGE", 2)
    cluster = ReadOnly(nodes=named("a", "b", "c", "d", "e"))
    assert titles(cluster.surveyed()) == [f"Node {name}" for name in "abcde"]
    assert [path for path in cluster.asked if "/nodes" in path] == [
        "/api/v1/nodes?limit=2",
        "/api/v1/nodes?limit=2&continue=2",
        "/api/v1/nodes?limit=2&continue=4",
    ]


def test_a_list_that_expires_half_way_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_state, "PAGE", 2)
    cluster = ReadOnly(nodes=named("a", "b", "c"))
    cluster.expiring = scheduler_state.TRIES - 1
    assert titles(cluster.surveyed()) == ["Node a", "Node b", "Node c"]
    cluster.expiring = scheduler_state.TRIES
    with pytest.raises(Refused):
        cluster.surveyed()


def test_what_the_loop_follows_is_what_is_read() -> None:
    cluster = ReadOnly()
    assert cluster.surveyed().notes == ()
    asked = {urlsplit(path).path for path in cluster.asked}
    assert asked == {version.path(source.namespace) for source in WATCHED_RESOURCES for version in source.versions}


def test_of_several_versions_the_first_served_is_read() -> None:
    cluster = ReadOnly(mpijobs=[])
    cluster.surveyed()
    assert [path for path in cluster.asked if "mpijobs" in path] == [
        f"{resources.MPI_JOBS.path()}?limit={scheduler_state.PAGE}"
    ]


def test_what_may_not_be_seen_is_named_in_one_line() -> None:
    cluster = ReadOnly(nodes=named("a"))
    cluster.forbidden = {"leases", "poddisruptionbudgets", "jobsets"}
    found = cluster.surveyed()
    assert titles(found) == ["Node a"]
    kinds = "jobsets.jobset.x-k8s.io, leases.coordination.k8s.io, poddisruptionbudgets.policy"
    assert found.notes == (f"not allowed to list {kinds}: what they would say is left out",)


@pytest.mark.parametrize("needed", [resources.NODES, resources.PODS])
def test_without_nodes_or_pods_there_is_nothing_to_plan(needed: Resource) -> None:
    cluster = ReadOnly()
    cluster.forbidden = {needed.plural}
    with pytest.raises(Refused):
        cluster.surveyed()


def test_what_cannot_be_read_is_passed_over_and_named() -> None:
    cluster = ReadOnly(nodes=[*named("a"), {"metadata": {"name": "b"}, "spec": {"taints": 5}}])
    found = cluster.surveyed()
    assert titles(found) == ["Node a"]
    [note] = found.notes
    assert note.startswith("Node b: spec.taints: ")
    assert note.endswith("; passed over")


def test_leases_come_last_and_the_newest_first() -> None:
    cluster = ReadOnly(nodes=named("a"), leases=[lease("old", 100.0), lease("new", 300.0), lease("mid", 200.0)])
    order = ["Node a", *(f"Lease kube-node-lease/{name}" for name in ("new", "mid", "old"))]
    assert titles(cluster.surveyed()) == order


def test_a_clock_that_is_behind_takes_the_cluster_s_word() -> None:
    ahead = time.time() + 500.0
    assert ReadOnly(leases=[lease("a", ahead)]).surveyed().now == pytest.approx(ahead, abs=0.01)
    assert ReadOnly(leases=[lease("a", 100.0)]).surveyed().now == pytest.approx(time.time(), abs=60.0)


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

    def found(self, path: str | None = None) -> SettingsInForce:
        return asyncio.run(settings_in_force(cast(KubeClient, self), path))


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


def test_a_named_settings_file_goes_first(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Maps(kept("s", "policy: {minRuntime: 7}"))
    shell.write(mine="policy: {minRuntime: 9}")
    assert cluster.found("mine.yaml") == SettingsInForce(cluster.found("mine.yaml").settings, "mine.yaml")
    assert cluster.found("mine.yaml").settings.policy.min_runtime == 9
    monkeypatch.setenv("UNDERSTUDY_POLICY_MIN_RUNTIME", "11")
    found = cluster.found()
    assert (found.settings.policy.min_runtime, found.source) == (11, "those of the environment")
