"""Moves a running cluster in time: all recorded times become older by so many seconds."""

from collections.abc import Collection, Iterable
from datetime import datetime

from tests.embedded.cluster_monitor import ClusterMonitor
from tests.scenarios.scenario_file import Document
from understudy.client import KubeClient
from understudy.kinds.annotations import NOTICE, PREFIX, format_time, format_times
from understudy.objects.resources import LEASES, NODES, PODS, Resource
from understudy.ports import PatchForm, Ref

NOTES = ("queued-at", "requeued-at", "displaced-at", "preempted-for", "last-checkpoint", "failed-at", "drain-deadline")


async def make_older(
    client: KubeClient, monitor: ClusterMonitor, jobs: Iterable[Resource], lost: Collection[str], seconds: float
) -> None:
    """`lost` nodes were silent for so much longer; the others keep reporting."""
    for resource in (*jobs, PODS, NODES):
        for document in monitor.all(resource):
            if notes := _older_notes(document, seconds):
                await _patch(client, resource, document, {"metadata": {"annotations": notes}})
    for pod in monitor.all(PODS):
        if began := pod.get("status", {}).get("startTime"):
            await _patch(client, PODS, pod, {"status": {"startTime": _older(began, seconds)}}, "status")
    for lease in monitor.all(LEASES):
        if lease["metadata"]["name"] in lost:
            await _patch(client, LEASES, lease, {"spec": {"renewTime": _older(lease["spec"]["renewTime"], seconds)}})
    for node in monitor.all(NODES):
        conditions = [_older_condition(condition, seconds) for condition in node["status"]["conditions"]]
        await _patch(client, NODES, node, {"status": {"conditions": conditions}}, "status")


async def _patch(client: KubeClient, resource: Resource, document: Document, patch: Document, sub: str = "") -> None:
    meta = document["metadata"]
    ref = Ref(resource, meta.get("namespace", ""), meta["name"])
    await client.patch(ref, patch, sub=sub, form=PatchForm.MERGE)


def _older_notes(document: Document, seconds: float) -> dict[str, str]:
    notes = document["metadata"].get("annotations", {})
    older = {key: _older(notes[key], seconds) for name in NOTES if (key := f"{PREFIX}{name}") in notes}
    return {**older, NOTICE: _older_notice(notes[NOTICE], seconds)} if NOTICE in notes else older


def _older_notice(text: str, seconds: float) -> str:
    parts = (part.partition("=") for part in text.split(","))
    told = ((key, _older(value, seconds) if key in ("deadline", "at") else value) for key, _, value in parts)
    return ",".join(f"{key}={value}" for key, value in told)


def _older_condition(condition: Document, seconds: float) -> Document:
    return {**condition, "lastTransitionTime": _older(condition["lastTransitionTime"], seconds)}


def _older(moments: str, seconds: float) -> str:
    """One time, or several separated by commas."""
    times = [datetime.fromisoformat(moment).timestamp() - seconds for moment in moments.split(",")]
    return format_time(times[0]) if len(times) == 1 else format_times(times)
