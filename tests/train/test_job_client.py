"""From a pod to its job: by the service account's files or the kubeconfig it was given, and along its owners."""

import asyncio
import base64
import json
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from tests.client.plain_certificates import make_default_contexts_strict, plain_identity
from tests.client.scripted_server import Reply, Request, serving
from understudy.embedded.clusters.certificates import Identity
from understudy.train import job_client, job_environment
from understudy.train.job_client import Access, access, job_of

WAY = Access("https://api:443", "token", "", "team", "train-0")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        job_environment.POD,
        job_environment.NAMESPACE,
        job_environment.ACCESS,
        job_environment.ACCOUNT,
        "HOSTNAME",
        "KUBERNETES_SERVICE_HOST",
    ):
        monkeypatch.delenv(name, raising=False)


def account(path: Path) -> Path:
    for name, content in (("token", "secret\n"), ("ca.crt", "PEM"), ("namespace", "team\n")):
        (path / name).write_text(content)
    return path


def test_in_kubernetes_the_service_account_is_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert access(account(tmp_path)) is None, "this is no cluster"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.setenv("HOSTNAME", "train-0")
    assert access(tmp_path) == Access("https://10.0.0.1:6443", "secret", "PEM", "team", "train-0")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv(job_environment.POD, "train-0-x7k2p")
    assert access(tmp_path) == Access("https://[fd00::1]:6443", "secret", "PEM", "team", "train-0-x7k2p")
    assert access(tmp_path / "not mounted") is None


def test_the_service_account_may_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in pods of an embedded cluster, where mounts cannot be private."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv(job_environment.ACCOUNT, str(account(tmp_path)))
    found = access()
    assert found is not None
    assert (found.token, found.namespace) == ("secret", "team")


def test_the_shared_access_of_pods_is_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = base64.b64encode(b"PEM").decode()
    document = {
        "clusters": [{"cluster": {"server": "https://here:1", "certificate-authority-data": authority}}],
        "users": [{"user": {"token": "secret"}}],
    }
    (tmp_path / "pods").write_text(json.dumps(document))
    for name, value in (
        (job_environment.ACCESS, str(tmp_path / "pods")),
        (job_environment.POD, "train-0"),
        (job_environment.NAMESPACE, "team"),
    ):
        monkeypatch.setenv(name, value)
    assert access() == Access("https://here:1", "secret", "PEM", "team", "train-0")


def owned(kind: str, version: str, name: str, **more: Any) -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": name, "controller": True, **more}
    return {"metadata": {"ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("documents", "job"),
    [
        pytest.param([{"metadata": {}}], "/api/v1/namespaces/team/pods/train-0", id="lone pod"),
        pytest.param(
            [
                owned("Job", "batch/v1", "train-job-0"),
                owned("JobSet", "jobset.x-k8s.io/v1alpha2", "train"),
                owned("TrainJob", "trainer.kubeflow.org/v1alpha1", "train"),
                {},
            ],
            "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train",
            id="the topmost",
        ),
        pytest.param(
            [owned("PyTorchJob", "kubeflow.org/v1", "train"), owned("Workflow", "argoproj.io/v1alpha1", "all")],
            "/apis/kubeflow.org/v1/namespaces/team/pytorchjobs/train",
            id="not what made the job",
        ),
        pytest.param(
            [owned("Job", "batch/v1", "other", controller=False)],
            "/api/v1/namespaces/team/pods/train-0",
            id="not an owner that does not control it",
        ),
    ],
)
def test_the_job_is_found_along_the_owners(
    monkeypatch: pytest.MonkeyPatch, documents: list[dict[str, Any]], job: str
) -> None:
    answers = iter(documents)
    monkeypatch.setattr(job_client, "_ask", lambda *_: next(answers))
    assert job_of(WAY) == job
    assert not list(answers)


def job_found(served: Identity, trusted: Identity) -> str:
    """The path of the job, by a server that shows one certificate and a pod that trusts another one's authority."""

    async def lone_pod(_request: Request, reply: Reply) -> None:
        await reply.json({"metadata": {}})

    async def run() -> str:
        async with serving(lone_pod, own=served) as server:
            way = WAY._replace(server=f"https://127.0.0.1:{server.port}", authority=trusted.authority.decode())
            return await asyncio.to_thread(job_of, way)

    return asyncio.run(run())


def test_a_server_whose_certificate_has_no_key_identifier_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    make_default_contexts_strict(monkeypatch)
    own = plain_identity()
    assert job_found(own, own) == "/api/v1/namespaces/team/pods/train-0"


def test_a_server_that_another_authority_vouches_for_is_not() -> None:
    with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
        job_found(plain_identity(), plain_identity())


def test_a_server_of_another_name_is_not() -> None:
    own = plain_identity(("api.example.org",))
    with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
        job_found(own, own)
