"""The clouds whose notices are known, by name, and which of them a node belongs to."""

from understudy.node_agent.notices.announcements import Source
from understudy.node_agent.notices.aws import AWS, REBALANCE
from understudy.node_agent.notices.azure import AZURE, machine_name
from understudy.node_agent.notices.gcp import SPOT_NOTICE, gcp

CLOUDS = ("azure", "aws", "gcp")
# Causes that are no notice unless asked for: after these, a machine most likely goes on running.
IGNORED = ("Freeze", REBALANCE)
_PREFIXES = {"azure://": "azure", "aws://": "aws", "gce://": "gcp"}


def source_named(name: str, spot_notice: float = SPOT_NOTICE) -> Source:
    return {"azure": AZURE, "aws": AWS, "gcp": gcp(spot_notice)}[name]


def cloud_of(provider_id: str) -> str:
    """By spec.providerID of a node; '' for a cloud that is not known, or none."""
    return next((name for prefix, name in _PREFIXES.items() if provider_id.startswith(prefix)), "")


def names_of_machine(node: str, provider_id: str) -> frozenset[str]:
    """In lower case: what announcements may call the machine of this node."""
    return frozenset(name.lower() for name in (node, machine_name(provider_id)) if name)
