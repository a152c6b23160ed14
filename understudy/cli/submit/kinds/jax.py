"""`understudy submit jax`: flags into a JAXJob, whose workers are all alike."""

import argparse

from understudy.cli.submit import flags
from understudy.cli.submit.kinds.training import job, replicas, run_policy
from understudy.cli.submit.pod_template import labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.kinds.training_operator.jaxjob import JAX_JOBS
from understudy.objects.resources import Resource

NAMES = ("jax", "jaxjob")
RESOURCES = (JAX_JOBS,)


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "Running")


def document(request: JobRequest, resource: Resource) -> Document:
    labels = labels_of(request, resource.kind, request.workers)
    pods = template(request, worker(request, "jax"), labels)
    roles = {"Worker": replicas(request, request.workers, pods)}
    return job(request, resource, labels, {"runPolicy": run_policy(request), "jaxReplicaSpecs": roles})
