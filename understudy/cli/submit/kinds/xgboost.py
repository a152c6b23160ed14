"""`understudy submit xgboost`: flags into an XGBoostJob. One of its workers is the master."""

import argparse

from understudy.cli.submit import flags
from understudy.cli.submit.kinds.training import job, replicas, run_policy
from understudy.cli.submit.pod_template import labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.kinds.training_operator.xgboostjob import XGBOOST_JOBS
from understudy.objects.resources import Resource

NAMES = ("xgboost", "xgboostjob")
RESOURCES = (XGBOOST_JOBS,)


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "Running")


def document(request: JobRequest, resource: Resource) -> Document:
    labels = labels_of(request, resource.kind, request.workers)
    pods = template(request, worker(request, "xgboost"), labels)
    roles = {"Master": replicas(request, 1, pods)}
    if request.workers > 1:
        roles["Worker"] = replicas(request, request.workers - 1, pods)
    return job(request, resource, labels, {"runPolicy": run_policy(request), "xgbReplicaSpecs": roles})
