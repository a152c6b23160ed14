"""The writes that the recording parts ask for. `control/apply/`, the only part that writes, carries them out."""

from collections.abc import Mapping
from typing import Any, Protocol

from understudy.objects.jobs import Workload
from understudy.ports import Ref


class RecordWrites(Protocol):
    """Raises Refused or Unreachable like the cluster itself, except where a result says what happened."""

    async def create_event(self, ref: Ref, event: Mapping[str, Any]) -> bool:
        """False: an event of this name exists already."""
        ...

    async def update_event(self, ref: Ref, patch: Mapping[str, Any]) -> bool:
        """False: there is no event of this name any more."""
        ...

    async def update_pod_status(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> None: ...

    async def annotate_node(self, name: str, annotations: Mapping[str, str | None], uid: str = "") -> None:
        """None removes an annotation. With `uid`, a node of the same name that was created later is left alone."""
        ...

    async def update_drain_status(self, ref: Ref, seen: Mapping[str, str], status: Mapping[str, Any]) -> None:
        """`seen` are the uid and the version of the drain request; a newer one is left alone."""
        ...

    async def put_incident(self, ref: Ref, document: Mapping[str, Any], is_known: bool) -> None:
        """Creates or updates a record. `is_known`: it existed at the last look."""
        ...

    async def delete_incident(self, ref: Ref) -> None: ...


class JobAnnotator(Protocol):
    async def annotate(self, obj: Workload, annotations: Mapping[str, str | None]) -> None: ...
