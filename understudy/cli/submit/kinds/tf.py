"""`understudy submit tf`: flags into a TFJob: workers, and on request parameter servers, a chief, an evaluator."""

import argparse
from collections.abc import Iterator

import msgspec

from understudy.cli.submit import flag_values, flags
from understudy.cli.submit.kinds.training import job, replicas, run_policy
from understudy.cli.submit.pod_template import PodRole, labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.kinds.training_operator.tfjob import TF_JOBS
from understudy.objects.resources import Resource

NAMES = ("tf", "tfjob")
RESOURCES = (TF_JOBS,)
_ROLES = ("worker", "ps", "chief", "evaluator")
_LIKE_A_WORKER = ("worker", "chief")  # the others get GPUs, CPUs and memory only where their own flags say so


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "Running")
    add = parser.add_argument_group("the roles of a TFJob").add_argument
    add("--ps", metavar="N", type=flag_values.count, default=0, help="how many parameter servers (default: 0)")
    add("--ps-gpus", metavar="N", type=flag_values.count, default=0, help="GPUs of each parameter server (default: 0)")
    add("--chief", action="store_true", help="a chief beside the workers")
    add("--evaluator", action="store_true", help="an evaluator beside the workers")
    for role in _ROLES:
        add(f"--{role}-image", f"--{role}Image", metavar="IMAGE", help=f"image of the {role} (default: --image)")
        add(f"--{role}-cpu", f"--{role}Cpu", metavar="AMOUNT", type=flag_values.cpu, help=f"CPUs of the {role}")
        add(f"--{role}-cpu-limit", metavar="AMOUNT", type=flag_values.cpu, help=f"limit of the CPUs of the {role}")
        add(
            f"--{role}-memory",
            f"--{role}Memory",
            metavar="AMOUNT",
            type=flag_values.memory,
            help=f"memory of the {role}",
        )
        add(
            f"--{role}-memory-limit",
            metavar="AMOUNT",
            type=flag_values.memory,
            help=f"limit of its memory, the {role}'s",
        )
        add(
            f"--{role}-port",
            f"--{role}Port",
            metavar="N",
            type=flag_values.port,
            help=f"port of the {role} (default: 2222)",
        )
        add(f"--{role}-selector", metavar="K=V", type=flag_values.label, action="append", default=[],
            help=f"where the {role} runs, instead of --selector; may be repeated")  # fmt: skip
    add("--success-policy", choices=("ChiefWorker", "AllWorkers"), default="ChiefWorker",
        help="whose success is the job's (default: ChiefWorker)")  # fmt: skip
    add("--starting-timeout", metavar="TIME", type=flag_values.seconds,
        help="give it up when it waits longer, where the cluster's TFJob can")  # fmt: skip


def document(request: JobRequest, resource: Resource) -> Document:
    counts = {"PS": request.more["ps"], "Worker": request.workers}
    counts |= {"Chief": int(request.more["chief"]), "Evaluator": int(request.more["evaluator"])}
    labels = labels_of(request, resource.kind, sum(counts.values()))
    roles = {
        name: replicas(request, count, template(request, _role(request, name.lower()), labels))
        for name, count in counts.items()
        if count
    }
    spec: Document = {"runPolicy": run_policy(request), "tfReplicaSpecs": roles}
    if request.more["success_policy"] == "AllWorkers":
        spec["successPolicy"] = "AllWorkers"
    return job(request, resource, labels, spec)


def _role(request: JobRequest, name: str) -> PodRole:
    role = worker(request, "tensorflow") if name in _LIKE_A_WORKER else PodRole(container="tensorflow")
    if name == "ps":
        role = msgspec.structs.replace(role, gpus=request.more["ps_gpus"])
    asked = dict(_amounts(request, name))
    limits = {**asked, **{k: v for k in ("cpu", "memory") if (v := request.more[f"{name}_{k}_limit"])}}
    port = request.more[f"{name}_port"]
    return msgspec.structs.replace(
        role,
        image=request.more[f"{name}_image"],
        requests={**role.requests, **asked},
        limits={**role.limits, **limits},
        selector=tuple(request.more[f"{name}_selector"]),
        port=("tfjob-port", port) if port else None,
    )


def _amounts(request: JobRequest, role: str) -> Iterator[tuple[str, str]]:
    for resource in ("cpu", "memory"):
        if amount := request.more[f"{role}_{resource}"]:
            yield resource, amount
