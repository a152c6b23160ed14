"""Discovers what a cluster serves: which of several versions of a kind it has, and the path of any kind."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, suggestion
from understudy.client import KubeClient
from understudy.objects.resources import Resource
from understudy.ports import Refused


class Discovery:
    """Asks the cluster once for each group and version."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._known: dict[str, dict[str, Resource]] = {}

    async def first(self, resources: Iterable[Resource]) -> Resource | None:
        """The first of these resources that the cluster serves."""
        for resource in resources:
            if resource.kind in await self.kinds(resource.api_version):
                return resource
        return None

    async def resource(self, api_version: str, kind: str, place: str) -> Resource:
        kinds = await self.kinds(api_version)
        if kind in kinds:
            return kinds[kind]
        if not kinds:
            raise BadInput(f"{place}: apiVersion: this cluster does not serve {api_version}")
        hint = suggestion(kind, kinds, f"{api_version} has")
        raise BadInput(f"{place}: kind: this cluster has no {kind} in {api_version}; {hint}")

    async def kinds(self, api_version: str) -> dict[str, Resource]:
        """The resources of this version, by kind; empty where the cluster does not serve the version."""
        if api_version not in self._known:
            self._known[api_version] = await self._asked(api_version)
        return self._known[api_version]

    async def _asked(self, api_version: str) -> dict[str, Resource]:
        group, _, version = api_version.rpartition("/")
        try:
            body = await self._client.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
        except Refused as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return {}
            raise
        offered = [one for one in msgspec.json.decode(body)["resources"] if "/" not in one["name"]]
        return {one["kind"]: _resource(group, version, one) for one in offered if "create" in one.get("verbs", ())}


def _resource(group: str, version: str, offered: dict[str, Any]) -> Resource:
    return Resource(group, version, offered["name"], offered["kind"], namespaced=bool(offered.get("namespaced")))
