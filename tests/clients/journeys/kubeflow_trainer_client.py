"""What a user of Kubeflow's `TrainerClient` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step.

Left out: functions on the torch runtime. They are started by `torchrun`, and torch may not be installed; the torch
runtime is used with a command instead, whose nodes find each other by what the runtime tells them.
"""

import logging
import sys

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, CustomTrainerContainer, TrainerClient
from kubeflow.trainer.options import (
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    Name,
    PodSpecPatch,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainerCommand,
    TrainingRuntimeSpecPatch,
)
from kubernetes import client, config

NAMESPACE = sys.argv[1]
MEETING = """
import os, socket, time
rank, address = int(os.environ["PET_NODE_RANK"]), (os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"]))
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
    peer.sendall(b"node %d of %s" % (rank, os.environ["PET_NNODES"].encode()))
    print("met", peer.recv(100).decode())
"""


class LogRecorder(logging.Handler):
    """What the client grumbles about."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


def step(name):
    print("ok", name, flush=True)


def train(rate, steps):
    import os

    weight = 0.0
    for number in range(steps):
        weight += rate * (1.0 - weight)
        print("step", number, "loss", round(1.0 - weight, 3), flush=True)
    print("node", os.environ["JOB_COMPLETION_INDEX"], "is done with", os.environ["COLOUR"])


def stay():
    import time

    time.sleep(600)


def fail():
    raise SystemExit("no luck today")


def runtimes(trainer):
    found = {runtime.name: runtime for runtime in trainer.list_runtimes()}
    assert {"torch-distributed", "plain"} <= set(found), found
    assert found["torch-distributed"].trainer.framework == "torch"
    assert trainer.get_runtime("plain").trainer.num_nodes == 1
    step("runtimes")


def function(trainer):
    job = trainer.train(
        runtime=trainer.get_runtime("plain"),
        trainer=CustomTrainer(
            func=train,
            func_args={"rate": 0.5, "steps": 3},
            num_nodes=2,
            resources_per_node={"cpu": 1, "memory": "64Mi", "gpu": 1},
            env={"COLOUR": "blue"},
        ),
    )
    step("train")
    done = trainer.wait_for_job_status(job, timeout=60, polling_interval=1)
    assert done.status == "Complete"
    assert (done.num_nodes, done.runtime.name) == (2, "plain")
    assert sorted(one.name for one in done.steps) == ["node-0", "node-1"]
    assert {(one.status, one.device, one.device_count) for one in done.steps} == {("Succeeded", "gpu", "1")}, done.steps
    step("wait")
    lines = list(trainer.get_job_logs(job))
    assert lines == ["step 0 loss 0.5", "step 1 loss 0.25", "step 2 loss 0.125", "node 0 is done with blue"], lines
    assert list(trainer.get_job_logs(job, step="node-1"))[-1] == "node 1 is done with blue"
    assert "".join(trainer.get_job_logs(job, follow=True)).endswith("node 0 is done with blue")
    step("logs")
    told = {(one.involved_object_kind, one.reason) for one in trainer.get_job_events(job)}
    assert {("TrainJob", "SuccessfulCreate"), ("Pod", "Started")} <= told, told
    step("events")
    return job


def running(trainer):
    job = trainer.train(runtime="plain", trainer=CustomTrainer(func=stay), options=[Name(name="stays")])
    assert job == "stays"
    assert trainer.wait_for_job_status(job, status={"Running"}, timeout=60, polling_interval=1).status == "Running"
    step("running")
    return job


def torch(trainer):
    """Two nodes of the default runtime, on the nodes a patch asks for."""
    spec = PodSpecPatch(node_selector={"example.com/pool": "workers"})
    jobs = [ReplicatedJobPatch(name="node", template=JobTemplatePatch(spec=JobSpecPatch(PodTemplatePatch(spec=spec))))]
    template = JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=jobs))
    patch = RuntimePatch(training_runtime_spec=TrainingRuntimeSpecPatch(template=template))
    job = trainer.train(
        trainer=CustomTrainerContainer(image="any", num_nodes=2),
        options=[TrainerCommand(command=["python", "-u", "-c", MEETING]), Labels({"team": "blue"}), patch],
    )
    trainer.wait_for_job_status(job, timeout=60, polling_interval=1)
    assert list(trainer.get_job_logs(job)) == ["met node 1 of 2"]
    assert list(trainer.get_job_logs(job, step="node-1")) == ["met node 0 of 2"]
    step("torch")
    return job


def failure(trainer):
    job = trainer.train(runtime="one-try", trainer=CustomTrainer(func=fail), options=[Name(name="luckless")])
    assert trainer.wait_for_job_status(job, status={"Failed"}, timeout=60, polling_interval=1).status == "Failed"
    assert list(trainer.get_job_logs(job))[-1] == "no luck today"
    step("failure")
    return job


def one_try():
    """A runtime of the namespace, for jobs that are not to be tried again."""
    pods = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "any"}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"metadata": {"labels": labels}, "spec": {"backoffLimit": 0, "template": {"spec": pods}}}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}}
    meta = {"name": "one-try", "labels": {"trainer.kubeflow.org/framework": "plain"}}
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": meta,
        "spec": spec,
    }
    api = client.CustomObjectsApi()
    api.create_namespaced_custom_object("trainer.kubeflow.org", "v1alpha1", NAMESPACE, "trainingruntimes", body)


def main():
    config.load_kube_config()
    client.CoreV1Api().create_namespace({"metadata": {"name": NAMESPACE}})
    one_try()
    recorder = LogRecorder()
    logging.getLogger("kubeflow").addHandler(recorder)
    trainer = TrainerClient(KubernetesBackendConfig(namespace=NAMESPACE))
    assert not recorder.heard, recorder.heard
    runtimes(trainer)
    jobs = {function(trainer), running(trainer), torch(trainer), failure(trainer)}
    assert {job.name for job in trainer.list_jobs()} == jobs
    assert [job.name for job in trainer.list_jobs(trainer.get_runtime("one-try"))] == ["luckless"]
    step("list")
    for job in jobs:
        trainer.delete_job(job)
    assert trainer.list_jobs() == []
    client.CoreV1Api().delete_namespace(NAMESPACE)
    step("delete")


main()
