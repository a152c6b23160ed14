"""What comes in from the cluster: puts it into the view, confirms own writes, and sets aside what cannot be read."""

import asyncio
from collections.abc import Callable

import msgspec

from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.watch.freshness import Expectations
from understudy.control.watch.reflector import ObjectHeader
from understudy.objects.errors import BadObject
from understudy.objects.meta import CLUSTER_SCOPED, KubeObject
from understudy.objects.nodes import Node, NodeSpec

INVALID = "InvalidObject"
Listener = Callable[[KubeObject, bool], None]


class ViewUpdater:
    """`changed` is set whenever the loop has a reason to look again."""

    def __init__(
        self,
        view: ClusterView,
        expectations: Expectations,
        invalid_objects: InvalidObjects,
        recorder: EventRecorder,
        *listeners: Listener,
    ) -> None:
        """Listeners get every object too, and whether it is gone."""
        self._view = view
        self._expectations = expectations
        self._recorder = recorder
        self._listeners = listeners
        self._invalid_objects = invalid_objects
        self._unread: dict[str, EventSubject] = {}
        self._nodes: set[str] = set()
        self.changed = asyncio.Event()

    def put(self, obj: KubeObject) -> None:
        self._view.put(obj)
        if isinstance(obj, Node):
            self._nodes.add(obj.metadata.name)
        if self._unread:
            self._can_be_read(obj.title)
        self._seen(obj, gone=False)

    def remove(self, obj: KubeObject) -> None:
        self._view.remove(obj)
        self._nodes.discard(obj.metadata.name if isinstance(obj, Node) else "")
        self._can_be_read(obj.title)
        self._recorder.forget(obj.metadata.uid)
        self._seen(obj, gone=True)

    def _seen(self, obj: KubeObject, gone: bool) -> None:
        name = (obj.kind, obj.metadata.namespace, obj.metadata.name)
        was_awaited = self._expectations.observed(name, None if gone else obj)
        for listen in self._listeners:
            listen(obj, gone)
        if was_awaited or (not self.changed.is_set() and self._view.has_changed):
            self.changed.set()

    def cannot_read(self, bare: ObjectHeader, error: BadObject, gone: bool) -> None:
        """A node that cannot be read and was not known before gets no pods, but its pods do not count as lost."""
        meta = bare.metadata
        stand_in = Node(
            kind=bare.kind,
            api_version=bare.api_version,
            metadata=msgspec.structs.replace(meta, annotations={}),
            spec=NodeSpec(unschedulable=True),
        )
        if gone:
            self._can_be_read(bare.title)
            if bare.kind == "Node":
                self._view.remove(stand_in)
        else:
            namespace = "" if bare.kind in CLUSTER_SCOPED else meta.namespace
            subject = EventSubject(bare.api_version, bare.kind, namespace, meta.name, meta.uid)
            self._expectations.observed((bare.kind, namespace, meta.name), None)  # the view will never show it
            self._unread[_unread(bare.title)] = subject
            self._invalid_objects.found(_unread(bare.title), error)
            if bare.kind == "Node" and meta.name not in self._nodes:
                self._view.put(stand_in)
        self.changed.set()

    def _can_be_read(self, title: str) -> None:
        if self._unread.pop(_unread(title), None) is not None:
            self._invalid_objects.over(_unread(title))

    def report_invalid_objects(self) -> None:
        """Each problem is reported once, on the object itself. The pods of a job that cannot be read show why they
        wait."""
        recorder, view = self._recorder, self._view
        for subject, words in self._invalid_objects.news():
            text = EventText(INVALID, words, warning=True)
            if subject in self._unread:
                recorder.event(self._unread[subject], text)
            elif subject.startswith("Node "):
                recorder.event(EventSubject("v1", "Node", "", subject.removeprefix("Node ")), text)
            else:
                job, pods = view.job_of(subject), view.pods_of(subject)
                if job is not None:
                    recorder.event(EventSubject.of(job), text)
                for pod in pods:
                    if not pod.spec.node_name:
                        recorder.record_wait(EventSubject.of(pod), words)


def _unread(title: str) -> str:
    """The name of the problem. It differs from the name of the problem of an object that can be read and is invalid."""
    return f"{title}, unread"
