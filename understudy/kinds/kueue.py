"""What Kueue writes on jobs and pods, as far as it binds a scheduler beside it: who owns `suspend`, and in which
domains the pods of a job belong."""

from collections.abc import Mapping, Sequence

from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.outline import GangOutline, in_one_island
from understudy.model.gangs import Topology, TopologyMode
from understudy.objects.meta import ObjectMeta

QUEUE = "kueue.x-k8s.io/queue-name"  # a label; long ago an annotation
WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
MANAGED = "kueue.x-k8s.io/managed"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
SLICE_REQUIRED = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"


def manages_suspend(meta: ObjectMeta) -> bool:
    """Whether Kueue decides when this job is suspended. Without a queue a job it manages stays suspended for good, and
    Understudy leaves that alone, like the suspend of any other owner."""
    return any(key in meta.labels for key in (QUEUE, WORKLOAD)) or (
        QUEUE in meta.annotations or meta.labels.get(MANAGED) == "true"
    )


def topology_of(annotations: Mapping[str, str]) -> Topology | None:
    """Where all the pods of one template belong."""
    if label := annotations.get(REQUIRED):
        return Topology(label, TopologyMode.REQUIRED)
    return Topology(label, TopologyMode.PREFERRED) if (label := annotations.get(PREFERRED)) else None


def with_kueue_topology(outline: GangOutline, seen: Sequence[ObservedPod]) -> tuple[GangOutline, Sequence[ObservedPod]]:
    """The outline of a job, with what its templates ask of Kueue where the job itself asks for nothing.

    What is asked for the pods of a template binds all that are made from it: they become one island. Slices do so where
    they are islands already; any others Kueue keeps together by itself, as it does all of them by node selectors.
    """
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
