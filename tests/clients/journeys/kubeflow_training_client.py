"""What a user of Kubeflow's `TrainingClient` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step.

Left out: PyTorchJobs from functions with more than one worker. They are started by `torchrun`, and torch may not be
installed; such a job is made from an object instead, and one from a function is a TFJob. Their pods find each other.
"""

import contextlib
import io
import sys
import time

from kubeflow.training import (
    KubeflowOrgV1PyTorchJob,
    KubeflowOrgV1PyTorchJobSpec,
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    TrainingClient,
)
from kubernetes import client, config

NAMESPACE = sys.argv[1]
MEETING = """
import os, socket, time
rank, address = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(address) as server:
        peer, _ = server.accept()
else:
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.05)
with peer:
    peer.sendall(b"rank %d of %s" % (rank, os.environ["WORLD_SIZE"].encode()))
    print("met", peer.recv(100).decode())
"""


def step(name):
    print("ok", name, flush=True)


def wait(what, seen):
    deadline = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.1)


def train(parameters):
    weight = 0.0
    for number in range(parameters["steps"]):
        weight += parameters["rate"] * (1.0 - weight)
        print("step", number, "loss", round(1.0 - weight, 3))


def introduce():
    import json
    import os

    told = json.loads(os.environ["TF_CONFIG"])
    print("number", told["task"]["index"], "of", len(told["cluster"]["worker"]))


def stay():
    import time

    time.sleep(600)


def function(training):
    training.create_job(
        name="function",
        train_func=train,
        parameters={"rate": 0.5, "steps": 3},
        num_workers=1,
        resources_per_worker={"cpu": 1, "memory": "64Mi", "gpu": 1},
        env_vars={"COLOUR": "blue"},
        labels={"team": "blue"},
    )
    step("create")
    seen = []
    training.wait_for_job_conditions(
        "function", wait_timeout=60, polling_interval=1, callback=lambda job: seen.append(job.metadata.name)
    )
    assert set(seen) == {"function"}
    assert training.is_job_succeeded("function")
    assert training.is_job_created("function")
    assert not training.is_job_running("function")
    types = [one.type for one in training.get_job_conditions("function")]
    assert (types[0], types[-1]) == ("Created", "Succeeded"), types  # the states in between may not have been observed
    step("wait")
    logs, _ = training.get_job_logs("function")
    assert logs == {"function-master-0": "step 0 loss 0.5\nstep 1 loss 0.25\nstep 2 loss 0.125\n"}, logs
    _, events = training.get_job_logs("function", verbose=True)
    assert any("Created pod: function-master-0" in line for line in events["pytorchjob/function"]), events
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        training.get_job_logs("function", follow=True)
    assert "[Pod function-master-0]: step 2 loss 0.125" in printed.getvalue()
    step("logs")


def tensorflow(training):
    training.create_job(name="flow", job_kind="TFJob", train_func=introduce, num_workers=2)
    training.wait_for_job_conditions("flow", job_kind="TFJob", wait_timeout=60, polling_interval=1)
    logs, _ = training.get_job_logs("flow", job_kind="TFJob", is_master=False)
    assert logs == {"flow-worker-0": "number 0 of 2\n", "flow-worker-1": "number 1 of 2\n"}, logs
    training.delete_job("flow", job_kind="TFJob")
    step("tensorflow")


def pod(*command):
    container = client.V1Container(name="pytorch", image="any", command=list(command))
    return client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[container]))


def two(name, **policy):
    """A master and a worker that meet."""
    replica = KubeflowOrgV1ReplicaSpec(replicas=1, restart_policy="Never", template=pod("python", "-u", "-c", MEETING))
    return KubeflowOrgV1PyTorchJob(
        api_version="kubeflow.org/v1",
        kind="PyTorchJob",
        metadata=client.V1ObjectMeta(name=name, namespace=NAMESPACE),
        spec=KubeflowOrgV1PyTorchJobSpec(
            run_policy=KubeflowOrgV1RunPolicy(**{"clean_pod_policy": "None", **policy}),
            pytorch_replica_specs={"Master": replica, "Worker": replica},
        ),
    )


def object_of_two(training):
    training.create_job(two("pair"))
    done = training.wait_for_job_conditions("pair", wait_timeout=60, polling_interval=1)
    assert done.status.replica_statuses["Master"].succeeded == 1, done.status
    step("object")
    assert sorted(training.get_job_pod_names("pair")) == ["pair-master-0", "pair-worker-0"]
    assert training.get_job_pod_names("pair", is_master=True) == ["pair-master-0"]
    [worker] = training.get_job_pods("pair", replica_type="worker", replica_index=0)
    assert worker.metadata.labels["training.kubeflow.org/job-name"] == "pair"
    step("pods")
    logs, _ = training.get_job_logs("pair", is_master=False)
    assert logs == {"pair-master-0": "met rank 1 of 2\n", "pair-worker-0": "met rank 0 of 2\n"}, logs
    step("meeting")


def spot_machines(training):
    """A TFJob whose worker is steered onto a spot machine, in the form that the SDK takes: a replica spec has a pod
    template, affinity and grace period belong to the spec of its pods, and clean_pod_policy to the run policy."""
    matches = client.V1NodeSelectorRequirement(key="a-custom-key.io/my-key", operator="In", values=["a-custom-value"])
    pool = client.V1NodeSelector(node_selector_terms=[client.V1NodeSelectorTerm(match_expressions=[matches])])
    near = client.V1NodeAffinity(required_during_scheduling_ignored_during_execution=pool)
    taint = {"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}
    container = client.V1Container(name="tensorflow", image="any", command=["sleep", "600"])
    worker = client.V1PodSpec(
        containers=[container],
        affinity=client.V1Affinity(node_affinity=near),
        tolerations=[client.V1Toleration(operator="Equal", **taint)],
        termination_grace_period_seconds=25,
    )
    roles = {"PS": client.V1PodSpec(containers=[container]), "Worker": worker}
    training.create_job(
        KubeflowOrgV1TFJob(
            api_version="kubeflow.org/v1",
            kind="TFJob",
            metadata=client.V1ObjectMeta(name="mnist", namespace=NAMESPACE),
            spec=KubeflowOrgV1TFJobSpec(
                run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"),
                tf_replica_specs={
                    role: KubeflowOrgV1ReplicaSpec(replicas=1, template=client.V1PodTemplateSpec(spec=spec))
                    for role, spec in roles.items()
                },
            ),
        )
    )
    training.wait_for_job_conditions(
        "mnist", job_kind="TFJob", expected_conditions={"Running"}, wait_timeout=60, polling_interval=1
    )
    pods = {pod.metadata.name: pod.spec for pod in training.get_job_pods("mnist")}
    assert pods["mnist-worker-0"].node_name == "spot-0", pods
    assert pods["mnist-worker-0"].termination_grace_period_seconds == 25
    assert pods["mnist-ps-0"].node_name.startswith("node-"), pods
    training.delete_job("mnist", job_kind="TFJob")
    step("spot")


def running(training):
    training.create_job(name="stays", train_func=stay, num_workers=1)
    training.wait_for_job_conditions("stays", expected_conditions={"Running"}, wait_timeout=60, polling_interval=1)
    assert training.is_job_running("stays")
    step("running")
    job = training.get_job("stays")
    job.spec.run_policy.suspend = True
    training.update_job(job, "stays")
    wait("its pods are gone", lambda: not training.get_job_pod_names("stays"))
    step("update")


def failure(training):
    broken = two("broken", backoff_limit=0)
    broken.spec.pytorch_replica_specs = {
        "Master": KubeflowOrgV1ReplicaSpec(replicas=1, restart_policy="Never", template=pod("sh", "-c", "exit 3"))
    }
    training.create_job(broken)
    training.wait_for_job_conditions("broken", expected_conditions={"Failed"}, wait_timeout=60, polling_interval=1)
    assert training.is_job_failed("broken")
    step("failure")


def removal(training):
    names = {"function", "pair", "stays", "broken"}
    assert {job.metadata.name for job in training.list_jobs()} == names
    assert training.get_job("function").metadata.labels["team"] == "blue"
    step("list")
    for name in names:
        training.delete_job(name)
    assert training.list_jobs() == []
    wait("no pods are left", lambda: not client.CoreV1Api().list_namespaced_pod(NAMESPACE).items)
    client.CoreV1Api().delete_namespace(NAMESPACE)
    step("delete")


def main():
    config.load_kube_config()
    client.CoreV1Api().create_namespace({"metadata": {"name": NAMESPACE}})
    training = TrainingClient(namespace=NAMESPACE)
    function(training)
    object_of_two(training)
    tensorflow(training)
    spot_machines(training)
    running(training)
    failure(training)
    removal(training)


main()
