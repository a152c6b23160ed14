"""PaddleJob: workers whose rendezvous is the first worker, or trainers whose rendezvous is a parameter server, the
master."""

from collections.abc import Mapping

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.training.spec import (
    Replica,
    TrainingJob,
    TrainingKind,
    all_workers_done,
    fails_when_lacking,
)
from understudy.kinds.training_operator.training_kind import training_kind
from understudy.objects.jobs import ElasticPolicy, ReplicaSpec, RunPolicy, TrainingStatus, Workload
from understudy.objects.meta import Part
from understudy.objects.resources import Resource

PADDLE_JOBS = Resource("kubeflow.org", "v1", "paddlejobs", "PaddleJob")
MASTER, WORKER = "Master", "Worker"
OWN_ADDRESS: Document = {"fieldRef": {"fieldPath": "status.podIP"}}


def variables(job: TrainingJob, replica: Replica) -> dict[str, str | Document]:
    told: dict[str, str | Document] = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": job.metadata.name,
        "PADDLE_NNODES": str(job.total),
    }
    meeting = MASTER if job.leader is not None else WORKER
    port = job.port(meeting)
    if replica.role.name == meeting and replica.index == 0:  # the rendezvous itself listens on its own address
        told |= {"POD_IP_DUMMY": OWN_ADDRESS, "PADDLE_MASTER": f"$(POD_IP_DUMMY):{port}"}
    else:
        told |= {"PADDLE_MASTER": f"{job.replica_name(meeting, 0)}:{port}"}
    if job.leader is not None:
        told["PADDLE_SERVER_NUM" if replica.role.name == MASTER else "PADDLE_TRAINER_NUM"] = "1"
    return told


class PaddleJobSpec(Part, frozen=True, gc=False):
    replicas: Mapping[str, ReplicaSpec] = msgspec.field(name="paddleReplicaSpecs")
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None


class PaddleJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: PaddleJobSpec
    status: TrainingStatus = TrainingStatus()


def _min_members(job: PaddleJob) -> int | None:
    """An elastic policy sets the minimum of workers."""
    return job.spec.elastic_policy.min_replicas if job.spec.elastic_policy else None


RULES = TrainingKind(
    resource=PADDLE_JOBS,
    field="paddleReplicaSpecs",
    roles=(MASTER, WORKER),
    container="paddle",
    port=("master", 36543),
    restart_policy="OnFailure",
    variables=variables,
    enough=all_workers_done,
    failed=fails_when_lacking,
    leaders=(MASTER,),
)
KIND = training_kind(
    RULES,
    PaddleJob,
    names=("paddlejob", "paddle"),
    min_members=_min_members,
)
