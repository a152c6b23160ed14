"""The chart as Helm renders it: sound, the same as the kustomization, and right for older clusters."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clients.kubectls import found
from tests.deploy.manifests import CHART, KUSTOMIZE
from tests.kube.chart.helm import ran

Document = dict[str, Any]
Key = tuple[str, str, str]

NEW = ("--kube-version", "1.37.1", "--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
OLD = ("--kube-version", "1.34.0")
_OF_HELM = {"app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}


def rendered(home: Path, *arguments: str) -> list[Document]:
    told = ran(home, ["template", "understudy", str(CHART), "--namespace", "understudy-system", *arguments])
    assert told.returncode == 0, told.stderr
    return [document for document in yaml.safe_load_all(told.stdout) if document]


def kustomized(folder: Path = KUSTOMIZE) -> list[Document]:
    installed = found()
    if not installed:
        pytest.skip("kubectl is not installed")
    command = [installed[-1].path, "kustomize", str(folder)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [document for document in yaml.safe_load_all(text) if document]


def by_name(documents: list[Document]) -> dict[Key, Document]:
    return {_key(one): one for one in map(_bare, documents)}


def _key(one: Document) -> Key:
    return (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])


def _bare(document: Document) -> Document:
    """The document without what Helm and kustomize add."""
    meta, settings = document["metadata"], re.compile(r"^(understudy-settings)-[a-z0-9]{10}$")
    meta["labels"] = {key: value for key, value in meta.get("labels", {}).items() if key not in _OF_HELM}
    meta.pop("annotations", None)
    meta["name"] = settings.sub(r"\1", meta["name"])
    if document["kind"] == "ConfigMap":
        document["data"] = {key: yaml.safe_load(text) for key, text in document["data"].items()}
    if document["kind"] == "CustomResourceDefinition":
        meta.pop("labels")
    if document["kind"] == "Deployment":
        template = document["spec"]["template"]
        template["metadata"].pop("annotations", None)
        config = template["spec"]["volumes"][0]["configMap"]
        config["name"] = settings.sub(r"\1", config["name"])
    return document


def test_the_chart_and_the_kustomization_say_the_same(tmp_path: Path) -> None:
    chart, plain = by_name(rendered(tmp_path, *NEW)), by_name(kustomized())
    assert plain.pop(("Namespace", "", "understudy-system"))  # Helm makes it by --create-namespace
    assert chart.keys() == plain.keys()
    for key, document in chart.items():
        assert document == plain[key], key


def test_the_node_agent_is_the_same_in_both(tmp_path: Path) -> None:
    given = ("--set", "nodeAgent.enabled=true", "--set", "nodeAgent.namespace=understudy-node-agent")
    without, chart = by_name(rendered(tmp_path, *NEW)), by_name(rendered(tmp_path, *NEW, *given))
    plain = by_name(kustomized(KUSTOMIZE / "node-agent"))
    assert plain.pop(("Namespace", "", "understudy-node-agent"))
    assert {key: chart[key] for key in chart.keys() - without.keys()} == plain


def test_a_node_agent_that_looks_at_gpus_is_given_what_it_needs(tmp_path: Path) -> None:
    gpus = {"enabled": "true", "runtimeClassName": "nvidia", "kernelLog": "true"}
    given = ["--set", "nodeAgent.enabled=true", "--set", "nodeAgent.hostNetwork=false"]
    given += [part for key, value in gpus.items() for part in ("--set", f"nodeAgent.gpus.{key}={value}")]
    [agent] = [one for one in rendered(tmp_path, *NEW, *given) if one["kind"] == "DaemonSet"]
    assert agent["metadata"]["namespace"] == "understudy-system"
    pod = agent["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert (pod["runtimeClassName"], pod["hostNetwork"]) == ("nvidia", False)
    assert {"--gpus=auto", "--listen=0.0.0.0:9809"} <= set(container["args"])
    assert container["securityContext"]["privileged"] is True
    assert "host" not in container["livenessProbe"]["httpGet"]
    assert [volume["hostPath"]["path"] for volume in pod["volumes"]] == ["/dev/kmsg"]


def test_helm_finds_no_fault(tmp_path: Path) -> None:
    told = ran(tmp_path, ["lint", "--strict", str(CHART)])
    assert told.returncode == 0, told.stdout


def test_an_unknown_value_is_refused(tmp_path: Path) -> None:
    for given in ("replica=1", "schedulerName=default-scheduler", "replicas=0", "admissionPolicy.failurePolicy=Maybe"):
        told = ran(tmp_path, ["template", "understudy", str(CHART), *NEW, "--set", given])
        assert told.returncode != 0, given
        assert given.partition("=")[0].split(".")[-1] in told.stderr


def test_the_policy_is_written_for_the_cluster_at_hand(tmp_path: Path) -> None:
    def policies(*arguments: str) -> set[str]:
        return {one["apiVersion"] for one in rendered(tmp_path, *arguments) if one["kind"].startswith("Mutating")}

    group = "admissionregistration.k8s.io"
    assert policies(*NEW) == {f"{group}/v1"}
    assert policies(*OLD, "--set", "admissionPolicy.apiVersion=v1beta1") == {f"{group}/v1beta1"}
    assert policies(*NEW, "--set", "admissionPolicy.enabled=false") == set()


def test_everything_can_be_had_otherwise(tmp_path: Path) -> None:
    given = {
        "schedulerName": "second",
        "serviceAccount.create": "false",
        "serviceAccount.name": "theirs",
        "crds.install": "false",
        "rbac.create": "false",
        "networkPolicy.enabled": "false",
        "podDisruptionBudget.enabled": "false",
        "criticalPodsQuota.enabled": "false",
        "metrics.serviceMonitor.enabled": "true",
        "metrics.port": "9090",
        "settings.policy.minRuntime": "300",
        "fullnameOverride": "second-understudy",
    }
    sets = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
    found = by_name(rendered(tmp_path, *NEW, *sets))
    policy = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    assert {kind for kind, _, _ in found} == {"ConfigMap", "Deployment", "Service", "ServiceMonitor"} | policy
    assert {name.partition("-settings")[0].partition("-metrics")[0] for _, _, name in found} == {"second-understudy"}
    [deployment] = [one for (kind, _, _), one in found.items() if kind == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "theirs"
    assert {"--listen=0.0.0.0:9090", "--scheduler-name=second"} <= set(pod["containers"][0]["args"])
    [settings] = [one for (kind, _, _), one in found.items() if kind == "ConfigMap"]
    assert settings["data"]["understudy.yaml"]["policy"] == {"minRuntime": 300}


def test_other_settings_roll_the_deployment(tmp_path: Path) -> None:
    def checksum(*arguments: str) -> str:
        [one] = [one for one in rendered(tmp_path, *NEW, *arguments) if one["kind"] == "Deployment"]
        return str(one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"])

    assert checksum() == checksum() != checksum("--set", "settings.policy.minRuntime=300")
