"""Documents into gangs, as short as tests want it."""

from collections.abc import Iterable

from tests.objects.documents import Document, priority_class
from understudy.kinds.context import Context
from understudy.kinds.decoding import decode
from understudy.kinds.gangs.job_gang import gang_of
from understudy.kinds.observed_pod import observe_pod
from understudy.kinds.ownership import owner_of
from understudy.model.gangs import Gang
from understudy.objects.cluster_objects import Namespace, PriorityClass
from understudy.objects.jobs import TrainingRuntime, Workload
from understudy.objects.pods import Pod

CLASSES = (
    priority_class("high", 1000),
    priority_class("low", 10),
    priority_class("meek", 50, preemptionPolicy="Never"),
)


def context_of(*around: Document, scheduler_name: str | None = None) -> Context:
    context = Context(scheduler_name)
    for document in around:
        obj = decode(document)
        if isinstance(obj, PriorityClass):
            context.classes[obj.metadata.name] = obj
        elif isinstance(obj, TrainingRuntime):
            context.runtimes[obj.kind, "" if obj.kind.startswith("Cluster") else "default", obj.metadata.name] = obj
        elif isinstance(obj, Namespace):
            context.surroundings.namespaces[obj.metadata.name] = obj
    context.changed()
    return context


def made(document: Document, pods: Iterable[Document] = (), context: Context | None = None) -> Gang | None:
    context = context or context_of(*CLASSES)
    obj = decode(document)
    assert isinstance(obj, Workload)
    seen = []
    for each in pods:
        found = decode(each)
        assert isinstance(found, Pod)
        seen.append(observe_pod(found, owner_of(found), context))
    return gang_of(obj, context, seen)


def gang(document: Document, pods: Iterable[Document] = (), context: Context | None = None) -> Gang:
    found = made(document, pods, context)
    assert found is not None
    return found


def names(found: Gang) -> list[str]:
    return [member.name for member in found.members()]


def layout(found: Gang) -> dict[str, list[str]]:
    return {island.name: [member.name for member in island.members] for island in found.islands}
