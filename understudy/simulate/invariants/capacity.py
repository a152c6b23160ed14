"""The invariant about kinds of capacity: no seat breaks what its gang says about spot capacity."""

from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects.resources import PODS
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.scenario import JobPlan
from understudy.simulate.workloads import JOB_LABEL

JOB_KEYS = {resource.key for resource in JOB_RESOURCES}  # in all of their versions
CAPACITY = "no seat breaks its gang's capacity policy"


class CapacityInvariant:
    """Looks at every binding. Pods that are leaving do not count: their seats are being replaced."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._context = cluster.context
        self._plans = {plan.name: plan for plan in cluster.context.scenario.jobs}
        self._is_spot = {plan.name: plan.spot for plan in cluster.context.scenario.nodes}
        self._seated: dict[str, dict[str, str]] = {}  # job -> uid of a pod that stays -> its node
        cluster.server.observers.append(self.observe)

    def observe(self, before: Version | None, after: Version | None, _writer: str) -> None:
        version = after or before
        assert version is not None
        if version.resource.key in JOB_KEYS and (after is None or after.leaving):
            self._plans.pop(version.name[1], None)  # its rules are gone with it, and its pods are garbage
        if version.resource is not PODS:
            return
        plan = self._plans.get(version.metadata.get("labels", {}).get(JOB_LABEL, ""))
        if plan is None:
            return
        seated = self._seated.setdefault(plan.name, {})
        if after is None or not after.takes_room or after.leaving:
            seated.pop(version.uid, None)
        elif version.uid not in seated:
            seated[version.uid] = after.node
            if why := self._broken_rule(plan, after.node, list(seated.values())):
                self._context.fail(CAPACITY, f"{after.name[1]} got a seat on {after.node}: {why}")

    def _broken_rule(self, plan: JobPlan, node: str, nodes: list[str]) -> str:
        spot = self._is_spot[node]
        on_spot = sum(self._is_spot[name] for name in nodes)
        if plan.capacity in ("spot", "on-demand") and spot is not (plan.capacity == "spot"):
            return f"{plan.name} asks for {plan.capacity} capacity"
        if plan.one_kind and 0 < on_spot < len(nodes):
            return f"{plan.name} sits on both kinds of capacity"
        if spot and 0 <= plan.max_spot < on_spot:
            return f"{on_spot} members of {plan.name} sit on spot, {plan.max_spot} may"
        return ""
