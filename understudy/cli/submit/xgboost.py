"""`understudy submit xgboost`: flags into an XGBoostJob. One of its workers is the master."""

import argparse

from understudy.cli.submit import flags
from understudy.cli.submit.pods import labels_of, template, worker
from understudy.cli.submit.training import job, replicas, run_policy
from understudy.cli.submit.wish import Document, Wish
from understudy.objects.resources import XGBOOST_JOBS, Resource

NAMES = ("xgboost", "xgboostjob")
RESOURCES = (XGBOOST_JOBS,)


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "Running")


def document(wish: Wish, resource: Resource) -> Document:
    labels = labels_of(wish, resource.kind, wish.workers)
    pods = template(wish, worker(wish, "xgboost"), labels)
    roles = {"Master": replicas(wish, 1, pods)}
    if wish.workers > 1:
        roles["Worker"] = replicas(wish, wish.workers - 1, pods)
    return job(wish, resource, labels, {"runPolicy": run_policy(wish), "xgbReplicaSpecs": roles})
