"""Jobs and nodes as programs read them: the keys people know from Arena, and ours beside them.

The keys are a promise to scripts; docs/reference/cli.md lists them.
"""

from collections.abc import Mapping
from typing import Any

from understudy.cli.input.times import rfc3339
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import NodeState
from understudy.model.nodes import Verdict
from understudy.model.quantity import format_quantity


def job_figures(job: JobSummary, now: float) -> dict[str, Any]:
    listed, chief = job.listed_instances, job.chief
    return {
        "uuid": job.uid,
        "name": job.name,
        "namespace": job.namespace,
        "kind": job.kind,
        "apiVersion": job.resource.api_version,
        "trainer": job.trainer.lower(),
        "status": job.status,
        "reason": job.reason,
        "priority": job.priority,
        "duration": f"{int(job.duration(now))}s",
        "creationTimestamp": rfc3339(job.created),
        "startTime": _moment(job.started),
        "endTime": _moment(job.ended),
        "chiefName": chief.name if chief else "",
        "requestGPUs": job.gpus_requested,
        "allocatedGPUs": job.gpus_allocated,
        "requests": written(job.requested),
        "restarts": job.restarts,
        "attempts": job.attempts(now),
        "instances": [instance_figures(one, now, is_chief=one is chief) for one in listed],
    }


def instance_figures(instance: Instance, now: float, *, is_chief: bool) -> dict[str, Any]:
    return {
        "name": instance.name,
        "status": instance.status,
        "detail": instance.detail,
        "role": instance.role,
        "chief": is_chief,
        "node": instance.node,
        "nodeIP": instance.address,
        **_node_figures(instance.node_state),
        "ip": instance.ip,
        "age": f"{int(now - instance.created)}s",
        "creationTimestamp": rfc3339(instance.created),
        "requestGPUs": instance.gpus,
        "requests": written(instance.requests),
        "restarts": instance.restarts,
        "exitCode": instance.exit_code,
        "waits": instance.waits,
    }


def _node_figures(state: NodeState | None) -> dict[str, Any]:
    """The figures of the node that an instance sits on; empty where they were not asked for."""
    if state is None:
        return {}
    health = state.health
    leaves = {"deadline": _moment(health.deadline), "reason": health.cause}
    return {"capacity": state.capacity.value, "leaves": leaves if health.verdict is Verdict.LEAVING else None}


def written(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_quantity(amount, name) for name, amount in sorted(amounts.items()) if name != "pods"}


def _moment(moment: float | None) -> str | None:
    return None if moment is None else rfc3339(moment)
