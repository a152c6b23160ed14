"""The simulated cluster below the processes under test: its API server, its nodes, and quotas on the pods of jobs."""

from collections.abc import Iterable

from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects import resources
from understudy.objects.resources import LEASES, MPI_JOBS, MPI_JOBS_V1ALPHA1, PODS, Resource
from understudy.ports import Refused
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.context import SimulationContext
from understudy.simulate.kubelet import Kubelet, NodeLeases
from understudy.simulate.patches import Document
from understudy.simulate.scenario import JobPlan
from understudy.simulate.workloads import FIRST_VERSION, JOB_LABEL


def served(plans: Iterable[JobPlan]) -> list[Resource]:
    """Of MPIJobs, the one version in which the scenario has them."""
    first = any(plan.stages == FIRST_VERSION for plan in plans)
    return [
        resource
        for resource in (*vars(resources).values(), *JOB_RESOURCES)
        if isinstance(resource, Resource)
        and resource.version not in ("v1alpha3",)
        and resource.plural not in ("events", "podgroups")
        and (resource.plural != "mpijobs" or resource == (MPI_JOBS_V1ALPHA1 if first else MPI_JOBS))
    ]


class PodQuotas:
    """Limits on the number of pods of a job, for a time or for ever. The API server refuses pods beyond them."""

    def __init__(self, context: SimulationContext, server: ApiServer) -> None:
        self._context = context
        self._server = server
        self._quotas: dict[str, tuple[float, int]] = {}  # job -> until when, and how many pods may exist
        server.rules.append(self._check)

    def limit(self, job: str, pods: int, seconds: float) -> None:
        """Without seconds: for ever."""
        self._quotas[job] = (self._context.loop.time() + seconds if seconds else float("inf"), pods)

    def limits_for_ever(self, plan: JobPlan) -> bool:
        return self._quotas.get(plan.name, (0.0, 0))[0] == float("inf")

    def _check(self, resource: Resource, document: Document) -> None:
        if resource is not PODS or not self._quotas:
            return
        job = _job_label(document)
        until, most = self._quotas.get(job, (0.0, 0))
        if self._context.loop.time() < until and self._pods_of(job) >= most:
            raise Refused(403, "Forbidden", f"exceeded quota: pods of {job}")

    def _pods_of(self, job: str) -> int:
        return sum(1 for pod in self._server.objects[PODS.key].values() if _job_label(pod.document) == job)


class SimulatedCluster:
    def __init__(self, context: SimulationContext) -> None:
        self.context = context
        self.server = ApiServer(context.now, served(context.scenario.jobs))
        self.leases = NodeLeases(self.server)
        self.quotas = PodQuotas(context, self.server)
        self.kubelets = {plan.name: Kubelet(context, self.server, self.leases, plan) for plan in context.scenario.nodes}
        self.server.observers.append(self._observe)

    @property
    def silent(self) -> bool:
        """Whether no kubelet reaches the API server: then the loops suspect the API, not the nodes."""
        return not any(kubelet.heard for kubelet in self.kubelets.values())

    def _observe(self, before: Version | None, after: Version | None, writer: str) -> None:
        version = after or before
        assert version is not None
        if version.resource is LEASES:
            return
        self.context.changed()
        if self.context.trace is not None:
            self.context.note(f"  {'gone' if after is None else 'now'} {_description(version)} (by {writer})")
        if version.node and (kubelet := self.kubelets.get(version.node)) is not None:
            kubelet.touch(version.uid)


def _job_label(document: Document) -> str:
    label: str = document["metadata"].get("labels", {}).get(JOB_LABEL, "")
    return label


def _description(version: Version) -> str:
    document = version.document
    words = [version.resource.kind, version.name[1]]
    if version.resource.key == "pods":
        words.append(document.get("status", {}).get("phase", ""))
        words.append(f"on {version.node}" if version.node else "without a seat")
        if nominated := document.get("status", {}).get("nominatedNodeName"):
            words.append(f"nominated {nominated}")
    if version.leaving:
        words.append("leaving")
    notes = document["metadata"].get("annotations", {})
    if version.resource in JOB_RESOURCES and (holds := notes.get("understudy.dev/holds")):
        words.append(f"holds {holds}")
    if document.get("spec", {}).get("suspend"):
        words.append("suspended")
    return " ".join(words)
