"""What a pod can do at the API with what it is given: real pods, real tokens, a real server."""

import sys

import pytest

from tests.embedded.cluster_monitor import ClusterMonitor
from tests.embedded.end_to_end.test_jobs import log_of
from tests.embedded.manifests import STAYS, Document, job, jobset, lone_pod
from tests.embedded.real_cluster import RealCluster, Setup, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.objects.resources import JOB_SETS, JOBS, PODS, SERVICE_ACCOUNTS
from understudy.ports import Ref, Refused
from understudy.train.job_client import LAST_CHECKPOINT

# As client libraries do it: the variables, and the folder at its usual place.
CLIENT = """
import json, os, ssl, sys, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
if not os.path.exists(folder + "/token"):
    sys.exit("no token")
server = "https://" + os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
trusted = ssl.create_default_context(cafile=folder + "/ca.crt")
def ask(method, path):
    request = urllib.request.Request(server + path, method=method)
    request.add_header("Authorization", "Bearer " + open(folder + "/token").read())
    try:
        return urllib.request.urlopen(request, context=trusted).status
    except urllib.error.HTTPError as refusal:
        return refusal.code
namespace = open(folder + "/namespace").read()
core, batch = f"/api/v1/namespaces/{namespace}", f"/apis/batch/v1/namespaces/{namespace}"
"""
TRIES = """
print(ask("GET", "/version"), ask("GET", core + "/secrets"), ask("DELETE", batch + "/jobs"),
      ask("GET", core + "/pods"), ask("GET", core + "/pods/" + os.environ["UNDERSTUDY_POD"]), flush=True)
"""
REPORTS = """
from understudy.train import job_client
job_client.Job().report("2026-01-01T00:00:00Z")
print("reported", flush=True)
"""


def python(name: str, program: str) -> Document:
    made = lone_pod(name)
    made["spec"]["containers"][0]["command"] = [sys.executable, "-c", program]
    made["spec"]["restartPolicy"] = "Never"
    return made


def ended(monitor: ClusterMonitor, name: str) -> Document | None:
    found = monitor.find(PODS, name)
    return found if found is not None and found["status"]["phase"] in ("Succeeded", "Failed") else None


async def output(cluster: RealCluster, name: str) -> str:
    pod = await cluster.monitor.until(f"{name} ends", lambda: ended(cluster.monitor, name))
    return await log_of(cluster, pod)


def test_a_pod_reads_itself_and_nothing_else(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("precious"), python("curious", CLIENT + TRIES))
        assert (await output(cluster, "curious")).strip() == "200 403 403 403 200"
        assert cluster.monitor.find(JOBS, "precious") is not None

    shared.play([node("one")], scenario)


def test_a_role_gives_a_pod_more(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        rbac, robot = "rbac.authorization.k8s.io", {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        await cluster.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
            {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": "looks"}, "rules": rules},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "looks"},
                "roleRef": {"kind": "Role", "name": "looks", "apiGroup": rbac},
                "subjects": [robot],
            },
        )
        named = python("named", CLIENT + TRIES)
        named["spec"]["serviceAccountName"] = "robot"
        await cluster.create(named)
        assert (await output(cluster, "named")).strip() == "200 403 403 200 200"

    shared.play([node("one")], scenario)


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_checkpoints_are_reported_on_the_job(shared: SharedClusters, kind: str) -> None:
    async def scenario(cluster: RealCluster) -> None:
        training = job("train", program=f"{sys.executable} -c '{REPORTS}'; {STAYS}")
        await cluster.create(training if kind == "Job" else jobset("train", 1, training))
        resource = JOBS if kind == "Job" else JOB_SETS

        def reported() -> bool:
            found = cluster.monitor.find(resource, "train") or {"metadata": {}}
            return LAST_CHECKPOINT in found["metadata"].get("annotations", {})

        await cluster.monitor.until("the checkpoint is known", reported)

    shared.play([node("one")], scenario)


def test_a_pod_that_wants_no_token_gets_none(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        shy = python("shy", CLIENT)
        shy["spec"]["automountServiceAccountToken"] = False
        await cluster.create(shy)
        assert (await output(cluster, "shy")).strip() == "no token"

    shared.play([node("one")], scenario)


def test_projected_tokens_are_for_whom_they_are_asked(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        program = (
            "import base64, json; words = open('/tokens/vault').read().split('.')[1]; "
            "told = json.loads(base64.urlsafe_b64decode(words + '==')); "
            "print(told['aud'], told['exp'] - told['iat'], told['kubernetes.io']['pod']['name'])"
        )
        asks = python("asks", program)
        source = {"serviceAccountToken": {"path": "vault", "audience": "vault", "expirationSeconds": 7200}}
        asks["spec"]["volumes"] = [{"name": "tokens", "projected": {"sources": [source]}}]
        asks["spec"]["containers"][0]["volumeMounts"] = [{"name": "tokens", "mountPath": "/tokens"}]
        await cluster.create(asks)
        assert (await output(cluster, "asks")).strip() == "['vault'] 7200 asks"

    shared.play([node("one")], scenario)


def test_the_account_of_all_pods_comes_back(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        before = (cluster.monitor.find(SERVICE_ACCOUNTS, "default") or {})["metadata"]["uid"]
        await cluster.delete(SERVICE_ACCOUNTS, "default")

        def again() -> bool:
            found = cluster.monitor.find(SERVICE_ACCOUNTS, "default")
            return found is not None and found["metadata"]["uid"] != before

        await cluster.monitor.until("it is there again", again)
        unknown = lone_pod("unknown")
        unknown["spec"]["serviceAccountName"] = "none"
        with pytest.raises(Refused, match="error looking up service account default/none"):
            await cluster.client.create(Ref(PODS, "default"), unknown)

    shared.play([node("one")], scenario, Setup(looks=(SERVICE_ACCOUNTS,)))
