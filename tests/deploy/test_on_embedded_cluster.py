"""What deploy/ ships can be applied on an embedded cluster, where it is stored and what has no effect says so."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.deploy.manifests import CHART, Document, plain
from tests.embedded.server.in_process_server import Server, server
from tests.kube.chart.helm import ran

NAMESPACE = "understudy-system"
WITHOUT_EFFECT = {
    "NetworkPolicy",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def test_every_document_of_the_kustomization(tmp_path: Path) -> None:
    documents = sorted(plain(), key=lambda one: one["kind"] != "Namespace")  # as kubectl apply -k orders them
    assert {"Deployment", "CustomResourceDefinition", *WITHOUT_EFFECT} <= {one["kind"] for one in documents}
    asyncio.run(_applied(tmp_path, documents))


def test_every_document_of_the_chart(tmp_path: Path) -> None:
    policy = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"  # which the chart looks for
    versions = ("--kube-version", "1.33.0", "--api-versions", policy)
    rendered = ran(tmp_path, ["template", "understudy", str(CHART), "--namespace", NAMESPACE, *versions])
    assert rendered.returncode == 0, rendered.stderr
    documents = [one for one in yaml.safe_load_all(rendered.stdout) if one]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    asyncio.run(_applied(tmp_path, [namespace, *documents]))


async def _applied(folder: Path, documents: Sequence[Document]) -> None:
    async with server(folder / "server") as ask:
        for document in documents:
            place = _place(ask, document)
            reply = await ask("POST", f"{place}?fieldValidation=Strict", document)
            assert reply.code == 201, (document["kind"], reply.body)
            warned = any("has no effect on an embedded cluster" in warning for warning in reply.warnings)
            assert warned is (document["kind"] in WITHOUT_EFFECT), reply.warnings


def _place(ask: Server, document: Document) -> str:
    """Where kubectl posts it: to the resource that discovery names."""
    [resource] = [
        served.resource
        for served in ask.state.resources.all
        if (served.resource.api_version, served.resource.kind) == (document["apiVersion"], document["kind"])
    ]
    return resource.path(document["metadata"].get("namespace", NAMESPACE) if resource.namespaced else "")
