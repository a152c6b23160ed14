"""What the node agent needs of a cluster: to read and to patch a Node. `Cluster` and `KubeClient` have both."""

from typing import Any, Protocol

from understudy.ports import PatchForm, Ref


class NodeApi(Protocol):
    """Both raise Refused or Unreachable."""

    async def get(self, ref: Ref) -> bytes: ...

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes: ...
