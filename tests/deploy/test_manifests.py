"""The plain manifests: what must stay true of them after every change."""

import tomllib

from tests.deploy.manifests import CHART, DEPLOY, KUSTOMIZE, documents, plain, the
from understudy import __version__
from understudy.cli.input.settings import Settings, read
from understudy.kinds.context import OPT_IN

ROOT = DEPLOY.parent
DEFINITION = "incidents.understudy.dev.yaml"


def test_the_definition_of_incidents_is_the_embedded_cluster_s() -> None:
    ours = (ROOT / "understudy" / "embedded" / "manifests" / "definitions" / DEFINITION).read_bytes()
    assert (KUSTOMIZE / "base" / DEFINITION).read_bytes() == ours
    assert (CHART / "files" / DEFINITION).read_bytes() == ours


def test_every_file_of_the_kustomization_is_in_it() -> None:
    for folder in ("base", "admission"):
        [listed] = documents(KUSTOMIZE / folder / "kustomization.yaml")
        there = {path.name for path in (KUSTOMIZE / folder).glob("*.yaml")} - {"kustomization.yaml", "understudy.yaml"}
        assert set(listed["resources"]) == there


def test_the_pods_are_as_restricted_as_pods_can_be() -> None:
    pod = the("Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
    assert container["resources"].keys() == {"requests", "limits"}
    assert (
        the("Namespace", "understudy-system")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        == "restricted"
    )


def test_understudy_never_depends_on_itself() -> None:
    deployment = the("Deployment")["spec"]
    pod = deployment["template"]
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["metadata"]["labels"][OPT_IN] == "false"  # even where its own namespace is opted in
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    assert deployment["replicas"] == 2
    assert the("PodDisruptionBudget")["spec"]["minAvailable"] == 1


def test_everything_selects_the_pods_of_the_deployment() -> None:
    labels = the("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        the("Deployment")["spec"]["selector"]["matchLabels"],
        the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        the("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        the("Service", "understudy-metrics")["spec"]["selector"],
    ]
    assert all(selector and selector.items() <= labels for selector in selectors)


def test_the_port_is_one() -> None:
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    [port] = container["ports"]
    assert f"--listen=0.0.0.0:{port['containerPort']}" in container["args"]
    assert the("NetworkPolicy")["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": port["containerPort"]}]
    assert the("Service", "understudy-metrics")["spec"]["ports"][0]["targetPort"] == port["name"]
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {port["name"]}


def test_the_policy_gives_pods_to_the_scheduler_that_runs() -> None:
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    policy = the("MutatingAdmissionPolicy")["spec"]
    [mutation] = policy["mutations"]
    assert "--scheduler-name=understudy" in container["args"]
    assert "'understudy'" in mutation["applyConfiguration"]["expression"]
    assert policy["matchConstraints"]["namespaceSelector"] == {"matchLabels": {OPT_IN: "true"}}
    assert the("MutatingAdmissionPolicyBinding")["spec"]["policyName"] == "understudy"


def test_the_settings_can_be_read() -> None:
    assert read(str(KUSTOMIZE / "base" / "understudy.yaml"), {}) == Settings()


def test_versions_are_those_of_the_package() -> None:
    [chart] = documents(CHART / "Chart.yaml")
    [kustomization] = documents(KUSTOMIZE / "base" / "kustomization.yaml")
    [image] = kustomization["images"]
    assert (chart["version"], chart["appVersion"], image["newTag"]) == (__version__,) * 3
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"understudy:{__version__}"


def test_everything_says_whose_it_is() -> None:
    unnamed = [one["metadata"]["name"] for one in plain() if one["kind"] != "CustomResourceDefinition"]
    assert len(unnamed) == len(
        [one for one in plain() if "app.kubernetes.io/name" in one["metadata"].get("labels", {})]
    )


def test_the_image_is_made_of_what_there_is_and_of_no_root() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    copied = [
        part for line in lines if line.startswith("COPY ") and "--from" not in line for part in line.split()[1:-1]
    ]
    assert copied
    assert all((ROOT / part).exists() for part in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml", "understudy"} <= set(copied)
    assert {f"!{part}" for part in copied} <= set((DEPLOY / "Containerfile.dockerignore").read_text().splitlines())
    user = the("Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in lines
