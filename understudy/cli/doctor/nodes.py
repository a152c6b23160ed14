"""Nodes: accelerators, health, taints, spares, and the labels that group them into domains."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from understudy.cli.doctor.facts import ClusterFacts
from understudy.cli.doctor.findings import Finding, care, counted, named, note, well
from understudy.cli.queries.nodes import NodeSummary
from understudy.cli.queries.objects import NodeInfo
from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, Verdict, is_accelerator
from understudy.model.quantity import format_quantity

_OWN_TAINTS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
)  # they describe the state of a node and keep no jobs away on purpose


def check_nodes(facts: ClusterFacts) -> list[Finding]:
    if facts.node_summaries is None or facts.nodes is None:
        return [care("nodes and pods may not be looked at", "ask as a user who may list them")]
    if not facts.node_summaries:
        return [care("there are no nodes", "nothing can be placed until there are")]
    return [
        *_health(facts.node_summaries),
        *_accelerators(facts.node_summaries),
        *_taints(facts.nodes),
        *_spares(facts),
    ]


def _health(nodes: Sequence[NodeSummary]) -> list[Finding]:
    bad: dict[Verdict, list[NodeSummary]] = defaultdict(list)
    for one in nodes:
        if one.verdict is not Verdict.HEALTHY:
            bad[one.verdict].append(one)
    healthy = len(nodes) - sum(map(len, bad.values()))
    found = [well(f"{counted(healthy, 'node')} of {len(nodes)} can be trusted")] if healthy else []
    for verdict, ones in sorted(bad.items()):
        names = named([f"{one.usage.name} ({one.reason})" for one in ones])
        found.append(care(f"{counted(len(ones), 'node')} {verdict.value}: {names}", "understudy node list -o wide"))
    cordoned = [one.usage.name for one in nodes if not one.usage.schedulable]
    return [*found, *([note(f"cordoned: {named(cordoned)}")] if cordoned else [])]


def _accelerators(nodes: Sequence[NodeSummary]) -> list[Finding]:
    offered: Counter[str] = Counter()
    free: Counter[str] = Counter()
    having: Counter[str] = Counter()
    for one in nodes:
        for name, amount in one.usage.offers.items():
            if is_accelerator(name) and amount:
                offered[name] += amount
                having[name] += 1
                usable = one.verdict is Verdict.HEALTHY and one.usage.schedulable
                free[name] += max(0, amount - one.usage.taken(name)) if usable else 0
    if not offered:
        return [note("no node offers accelerators: gangs are placed by cpu, memory and what else they ask for")]
    return [
        well(
            f"{name}: {format_quantity(offered[name], name)} on {counted(having[name], 'node')}, "
            f"{format_quantity(free[name], name)} free"
        )
        for name in sorted(offered)
    ]


def _taints(nodes: Sequence[NodeInfo]) -> list[Finding]:
    keeping: Counter[str] = Counter()
    for node in nodes:
        for taint in node.spec.taints:
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not taint.key.startswith(_OWN_TAINTS):
                keeping[
                    f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
                ] += 1
    shown = sorted(keeping, key=lambda text: (-keeping[text], text))
    texts = [f"{text} ({counted(keeping[text], 'node')})" for text in shown]
    return [note(f"taints that pods have to tolerate: {named(texts)}")] if texts else []


def _spares(facts: ClusterFacts) -> list[Finding]:
    labelled = [one.usage.name for one in facts.node_summaries or () if one.spare]
    rules = next((one.value for one in facts.settings if one.key == "policy.spares"), ())
    parts = [f"{counted(len(labelled), 'node')} labelled ({named(labelled)})"] if labelled else []
    parts += [counted(len(rules), "rule") + " of the settings"] if rules else []
    if parts:
        return [well(f"spares: {' and '.join(parts)}; `understudy spares` shows them")]
    fix = "kubectl label node NAME understudy.dev/spare=true, or policy.spares in the settings"
    return [note("no spares: a job that loses a node gets an idle one, or the seats of a less important job", fix)]


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


def check_topology(facts: ClusterFacts) -> list[Finding]:
    nodes = _that_matter(facts.nodes or ())
    found = [text for label in sorted(_labels(nodes)) if (text := _grouped(label, nodes))]
    if found:
        return [well(text) for text in found]
    if not nodes:
        return []
    fix = (
        "label nodes by slice, rack or NVLink domain where jobs are to stay together (understudy.dev/required-topology)"
    )
    return [note("no label groups nodes into domains", fix)]


def _that_matter(nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
    """The nodes with accelerators; all nodes where none has any."""
    bought = [node for node in nodes if any(map(is_accelerator, node.status.allocatable))]
    return bought or list(nodes)


def _labels(nodes: Sequence[NodeInfo]) -> set[str]:
    every = {label for node in nodes for label in node.metadata.labels}
    return {label for label in every if label.startswith(DOMAINS) and label not in _NO_DOMAINS}


def _grouped(label: str, nodes: Sequence[NodeInfo]) -> str:
    """The number and size of the domains with this label, in words; '' if nodes form no domains."""
    sizes = Counter(value for node in nodes if (value := node.metadata.labels.get(label)))
    if max(sizes.values(), default=0) < 2:
        return ""
    low, high = min(sizes.values()), max(sizes.values())
    size = f"{low}" if low == high else f"{low} to {high}"
    without = len(nodes) - sum(sizes.values())
    rest = f", {without} without" if without else ""
    return f"{label}: {len(sizes)} {'domain' if len(sizes) == 1 else 'domains'} of {size} nodes{rest}"
