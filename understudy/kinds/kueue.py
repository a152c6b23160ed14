"""What Kueue writes on jobs and pods, where it matters to another scheduler: which jobs' `suspend` Kueue controls, and
in which domains pods of a job must be."""

from collections.abc import Mapping, Sequence

from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.outline import GangOutline, in_one_island
from understudy.model.gangs import Topology, TopologyMode
from understudy.objects.meta import ObjectMeta

QUEUE = "kueue.x-k8s.io/queue-name"  # a label; in old versions an annotation
WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
MANAGED = "kueue.x-k8s.io/managed"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
SLICE_REQUIRED = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"


def manages_suspend(meta: ObjectMeta) -> bool:
    """Whether Kueue decides when this job is suspended. A job that Kueue manages without a queue stays suspended for
    good. Understudy does not change it, as it does not change any `suspend` that another component controls."""
    return any(key in meta.labels for key in (QUEUE, WORKLOAD)) or (
        QUEUE in meta.annotations or meta.labels.get(MANAGED) == "true"
    )


def topology_of(annotations: Mapping[str, str]) -> Topology | None:
    """The domain for all pods of one template."""
    if label := annotations.get(REQUIRED):
        return Topology(label, TopologyMode.REQUIRED)
    return Topology(label, TopologyMode.PREFERRED) if (label := annotations.get(PREFERRED)) else None


def with_kueue_topology(outline: GangOutline, seen: Sequence[ObservedPod]) -> tuple[GangOutline, Sequence[ObservedPod]]:
    """The outline of a job, with the topology that its templates request from Kueue, unless the job itself requests
    one.

    A request on a template applies to all of its pods: they become one island. Requests for slices apply where the
    slices are islands already. Kueue enforces all other requests itself, with node selectors."""
    for template in {id(role.template): role.template for role in outline.roles}.values():
        notes = template.metadata.annotations
        roles = [role for role in outline.roles if role.template is template and role.topology is None]
        if not notes or not roles:
            continue
        if (topology := topology_of(notes)) is not None:
            others = {role.island for role in outline.roles if role.template is not template}
            island = roles[0].names[0] if roles[0].island in others else roles[0].island
            outline, seen = in_one_island(outline, seen, roles, island, topology)
        elif label := notes.get(SLICE_REQUIRED):
            slices = [role for role in roles if notes.get(SLICE_SIZE) == str(len(role.names))]
            for role in slices:
                outline, seen = in_one_island(
                    outline, seen, [role], role.island, Topology(label, TopologyMode.REQUIRED)
                )
    return outline, seen
