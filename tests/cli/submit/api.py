"""A cluster for one test that is only its API: the real server, without a network and without controllers.

Every command opens it anew, as every command connects anew; what is stored stays.
"""

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest
import yaml

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.embedded.server.in_process_server import Server, server
from understudy.cli import session
from understudy.cli.queries import remote_cluster
from understudy.cli.verbs import version
from understudy.client import KubeClient
from understudy.client.config import Config
from understudy.client.errors import successful_body
from understudy.client.pool import Response
from understudy.embedded.manifests.definitions import bundled_definitions

Document = dict[str, Any]
ELSEWHERE = """\
current-context: c
contexts: [{name: c, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: "https://elsewhere.example:6443"}}]
"""


class DirectClient(KubeClient):
    """Speaks to the application itself. `troubles` are raised by the requests whose method and path begin so."""

    def __init__(self, config: Config, folder: Path, log: list[str], troubles: dict[str, Exception]) -> None:
        super().__init__(config)
        self._folder, self._log, self._troubles = folder, log, troubles
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._server: Server = await self._stack.enter_async_context(server(self._folder))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        repeatable: bool = False,  # noqa: ARG002
    ) -> bytes:
        if method != "GET":
            self._log.append(f"{method} {path}")
        for beginning, trouble in self._troubles.items():
            if f"{method} {path}".startswith(beginning) and "dryRun" not in path:
                raise trouble
        data = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        reply = await self._server(method, path, data, content_type=content_type)
        return successful_body(Response(reply.code, reply.body))


class Api:
    """What a test sees of the cluster, and the commands it runs against it."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell = shell
        self.folder = shell.folder / "api"
        self.log: list[str] = []  # requests that ask for a change
        self.troubles: dict[str, Exception] = {}
        self._monkeypatch = monkeypatch
        make_cluster("default")
        for module in (session, remote_cluster, version):
            monkeypatch.setattr(module, "connect", self._connect)

    def _connect(self, config: Config) -> "DirectClient":
        return DirectClient(config, self.folder, self.log, self.troubles)

    def be_elsewhere(self) -> None:
        """From now on commands take it for a cluster that is not embedded."""
        (self.shell.folder / "elsewhere").write_text(ELSEWHERE)
        self._monkeypatch.setenv("KUBECONFIG", str(self.shell.folder / "elsewhere"))

    def define(self, *plurals: str, versions: tuple[str, ...] = ()) -> None:
        """Kinds the embedded cluster brings; only in these versions, where some are named."""
        for name, text in bundled_definitions().items():
            if name.partition(".")[0] in plurals:
                document = yaml.safe_load(text)
                kept = [one for one in document["spec"]["versions"] if not versions or one["name"] in versions]
                kept = [{**one, "storage": number == 0} for number, one in enumerate(kept)]
                document["spec"]["versions"] = kept
                self.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document)

    def priorities(self, **values: int) -> None:
        for name, value in values.items():
            self.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})

    def post(self, url: str, document: Document) -> None:
        async def posted() -> None:
            async with server(self.folder) as ask:
                await ask.post(url, document)

        asyncio.run(posted())

    def get(self, url: str) -> Document | None:
        async def got() -> Document | None:
            async with server(self.folder) as ask:
                reply = await ask("GET", url)
                return reply.json if reply.code == 200 else None

        return asyncio.run(got())

    def names(self, url: str) -> list[str]:
        found = self.get(url)
        assert found is not None
        return [item["metadata"]["name"] for item in found["items"]]

    def run(self, *arguments: str) -> str:
        """What must go well: its stdout."""
        code, out, err = self.shell.run(*arguments)
        assert code == 0, err
        return out

    def refuses(self, *arguments: str) -> str:
        """The one line that refuses; nothing was asked to change."""
        before = len(self.log)
        line = self.shell.refuses(*arguments)
        assert [entry for entry in self.log[before:] if "dryRun=All" not in entry] == []
        return line
