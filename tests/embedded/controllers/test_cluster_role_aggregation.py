"""ClusterRoles that consist of others follow them."""

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, metadata
from understudy.embedded.controllers.cluster_role_aggregation import ClusterRoleAggregator
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.objects.resources import CLUSTER_ROLES

GET, LIST = ({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]} for verb in ("get", "list"))


def aggregation(parts: ControllerParts) -> Controller:
    return ClusterRoleAggregator(parts.cluster, parts.clock)


def role(name: str, *rules: Document, label: str = "", sums: str = "") -> Document:
    meta = {**metadata(name), "namespace": "", "labels": {label: "true"} if label else {}}
    selectors = {"clusterRoleSelectors": [{"matchLabels": {sums: "true"}}]}
    more = {"aggregationRule": selectors} if sums else {}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": meta,
        "rules": rules,
        **more,
    }


def test_rules_come_and_go_with_the_roles_they_are_from() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, aggregation):
            api.put(CLUSTER_ROLES, role("all", sums="to-all"))
            api.put(CLUSTER_ROLES, role("some", sums="to-some", label="to-all"))
            api.put(CLUSTER_ROLES, role("a", GET, label="to-some"))
            api.put(CLUSTER_ROLES, role("b", GET, LIST, label="to-all"))
            api.put(CLUSTER_ROLES, role("stranger", LIST))
            await quiet()
            assert api.read(CLUSTER_ROLES, "some", "")["rules"] == [GET]
            assert api.read(CLUSTER_ROLES, "all", "")["rules"] == [GET, LIST]
            api.remove(CLUSTER_ROLES, "b", "")
            await quiet()
            assert api.read(CLUSTER_ROLES, "all", "")["rules"] == [GET]

    run_scenario(scenario)
