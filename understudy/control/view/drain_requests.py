"""Requests of others to empty nodes, by node: each makes its node leaving for as long as it exists."""

from collections.abc import Iterator

from understudy.model.nodes import Health, Verdict
from understudy.objects.drain_requests import DrainRequest
from understudy.objects.meta import seconds

_Key = tuple[str, str]  # namespace and name


class DrainRequests:
    def __init__(self) -> None:
        self._by_node: dict[str, dict[_Key, DrainRequest]] = {}
        self._node_of: dict[_Key, str] = {}

    def __iter__(self) -> Iterator[DrainRequest]:
        for requests in self._by_node.values():
            yield from requests.values()

    def put(self, request: DrainRequest) -> set[str]:
        """The nodes whose health may change."""
        changed = self.remove(request)
        node, key = request.spec.node_name, _key(request)
        self._by_node.setdefault(node, {})[key] = request
        self._node_of[key] = node
        return changed | {node}

    def remove(self, request: DrainRequest) -> set[str]:
        key = _key(request)
        node = self._node_of.pop(key, None)
        if node is None:
            return set()
        del self._by_node[node][key]
        if not self._by_node[node]:
            del self._by_node[node]
        return {node}

    def health_of(self, node: str) -> Health | None:
        """Without a deadline: the repair waits for the answer."""
        requests = self._by_node.get(node)
        if not requests:
            return None
        first = requests[min(requests)]
        why = f" ({first.spec.check_name})" if first.spec.check_name else ""
        cause = f"drain request {first.metadata.name}{why}"
        return Health(Verdict.LEAVING, cause, seconds(first.metadata.creation_timestamp))


def _key(request: DrainRequest) -> _Key:
    return request.metadata.namespace, request.metadata.name
