"""Lists of any length, page by page: the items of one resource as typed values."""

from collections.abc import AsyncIterator, Mapping
from typing import Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from understudy.client.kube_client import KubeClient
from understudy.objects.resources import Resource

PAGE = 1000
NO_QUERY: Mapping[str, str] = {}
Item = TypeVar("Item")


class ListMetadata(msgspec.Struct, frozen=True, gc=False):
    more: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, Generic[Item], frozen=True):
    items: list[Item] | None = None
    metadata: ListMetadata = ListMetadata()


async def listed(
    client: KubeClient,
    resource: Resource,
    decoder: msgspec.json.Decoder[Page[Item]],
    namespace: str = "",
    query: Mapping[str, str] = NO_QUERY,
) -> AsyncIterator[Item]:
    """Parameters of `query` that are empty are left out. Refused with 410 (Gone) when a page has expired: the list has
    to be begun again."""
    given = {"limit": str(PAGE)} | {name: value for name, value in query.items() if value}
    more, first = "", True
    while first or more:
        parameters = urlencode({**given, **({"continue": more} if more else {})})
        page = decoder.decode(await client.request("GET", f"{resource.path(namespace)}?{parameters}"))
        for item in page.items or ():
            yield item
        more, first = page.metadata.more, False
