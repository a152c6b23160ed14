"""Which labels group nodes into domains that a gang can be asked to stay in."""

from collections import Counter
from collections.abc import Sequence

from understudy.cli.checkup.findings import Finding, note, well
from understudy.cli.checkup.seen import Seen
from understudy.cli.jobs.seen import SeenNode
from understudy.model.nodes import is_accelerator

# Labels of clouds and vendors that say which nodes are near each other. All labels that begin so count.
DOMAINS = (
    "cloud.google.com/gce-topology-",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "network.topology.nvidia.com/",
    "nvidia.com/gpu.clique",
    "oci.oraclecloud.com/rdma.",
    "topology.k8s.aws/",
    "topology.kubernetes.io/",
    "understudy.dev/pool",
)
_NO_DOMAINS = ("cloud.google.com/gce-topology-host",)  # one value a machine


def check(seen: Seen) -> list[Finding]:
    nodes = _that_matter(seen.nodes or ())
    found = [text for label in sorted(_labels(nodes)) if (text := _grouped(label, nodes))]
    if found:
        return [well(text) for text in found]
    if not nodes:
        return []
    fix = (
        "label nodes by slice, rack or NVLink domain where jobs are to stay together (understudy.dev/required-topology)"
    )
    return [note("no label groups nodes into domains", fix)]


def _that_matter(nodes: Sequence[SeenNode]) -> list[SeenNode]:
    """Those with accelerators, where any have."""
    bought = [node for node in nodes if any(map(is_accelerator, node.status.allocatable))]
    return bought or list(nodes)


def _labels(nodes: Sequence[SeenNode]) -> set[str]:
    every = {label for node in nodes for label in node.metadata.labels}
    return {label for label in every if label.startswith(DOMAINS) and label not in _NO_DOMAINS}


def _grouped(label: str, nodes: Sequence[SeenNode]) -> str:
    """'' where every node stands for itself."""
    sizes = Counter(value for node in nodes if (value := node.metadata.labels.get(label)))
    if max(sizes.values(), default=0) < 2:
        return ""
    low, high = min(sizes.values()), max(sizes.values())
    size = f"{low}" if low == high else f"{low} to {high}"
    without = len(nodes) - sum(sizes.values())
    rest = f", {without} without" if without else ""
    return f"{label}: {len(sizes)} {'domain' if len(sizes) == 1 else 'domains'} of {size} nodes{rest}"
