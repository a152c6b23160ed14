"""The manifests of the node agent: off by default, as few rights as can be, and what its code asks for."""

import re

import yaml

from tests.deploy.manifests import CHART, KUSTOMIZE, Document, documents, the
from understudy import __version__
from understudy.cli.verbs.node_agent import LISTEN, agent_options
from understudy.cli.verbs.parser import root_parser
from understudy.kinds.annotations import NOTICE
from understudy.kinds.context import OPT_IN
from understudy.node_agent.gpus.gpu_conditions import CONDITIONS

NAME = "understudy-node-agent"
FOLDER = KUSTOMIZE / "node-agent"
POLICY = the("ValidatingAdmissionPolicy", NAME)["spec"]
POD: Document = the("DaemonSet", NAME)["spec"]["template"]
[CONTAINER] = POD["spec"]["containers"]


def test_it_is_installed_only_where_it_is_asked_for() -> None:
    [values] = documents(CHART / "values.yaml")
    assert values["nodeAgent"]["enabled"] is False
    [listed] = documents(KUSTOMIZE / "kustomization.yaml")
    assert "node-agent" not in listed["resources"]
    for path in (CHART / "templates").glob("nodeagent*.yaml"):
        assert path.read_text().startswith("{{- if .Values.nodeAgent.enabled }}\n")
        assert path.read_text().endswith("{{- end }}\n")


def test_every_file_of_the_kustomization_is_in_it() -> None:
    [listed] = documents(FOLDER / "kustomization.yaml")
    assert set(listed["resources"]) == {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert listed["images"][0]["newTag"] == __version__
    assert CONTAINER["image"] == f"understudy:{__version__}"


def test_its_role_is_to_read_and_patch_nodes() -> None:
    assert the("ClusterRole", NAME)["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]


def test_the_policy_holds_the_account_of_its_pods_and_every_write_of_the_role() -> None:
    [rule] = POLICY["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["nodes", "nodes/status"], ["UPDATE"])
    assert POLICY["failurePolicy"] == "Fail"
    [condition] = POLICY["matchConditions"]
    namespace = the("DaemonSet", NAME)["metadata"]["namespace"]
    account = f"system:serviceaccount:{namespace}:{POD['spec']['serviceAccountName']}"
    assert f"'{account}'" in condition["expression"]
    binding = the("ValidatingAdmissionPolicyBinding", NAME)["spec"]
    assert binding == {"policyName": NAME, "validationActions": ["Deny"]}


def test_the_policy_allows_what_the_code_writes() -> None:
    text = yaml.safe_dump(POLICY)
    assert set(re.findall(r"understudy\.dev/[\w-]+", text)) == {NOTICE}
    own = next(one["expression"] for one in POLICY["variables"] if one["name"] == "ownConditions")
    assert yaml.safe_load(own) == list(CONDITIONS)


def test_the_arguments_are_those_of_the_command() -> None:
    verb, *flags = CONTAINER["args"]
    found = agent_options(root_parser().parse_args([verb, *flags, "--node", "n"]))
    assert (found.node, found.cloud, found.gpus) == ("n", "auto", "none")
    assert f"--listen={LISTEN}" in flags
    assert {CONTAINER[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {9809}
    assert [one["name"] for one in CONTAINER["env"]] == ["NODE_NAME"]


def test_the_pod_has_no_more_of_the_machine_than_its_network() -> None:
    spec = POD["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["hostNetwork"] is True
    assert not {"hostPID", "hostIPC", "volumes"} & spec.keys()
    assert POD["metadata"]["labels"][OPT_IN] == "false"
    assert spec["tolerations"] == [{"operator": "Exists"}], "spot nodes and sick nodes are tainted"


def test_the_chart_has_the_same_policy_to_the_letter() -> None:
    def expressions(text: str) -> list[str]:
        return re.findall(r"^  variables:\n(?:.*\n)+?    message: .*but conditions$", text, re.MULTILINE)

    ours = (FOLDER / "policy.yaml").read_text()
    theirs = (CHART / "templates" / "nodeagent-policy.yaml").read_text()
    assert expressions(ours) == expressions(theirs) != []
