"""Fits a job to the cluster it goes to: on one that is not embedded, its pods have to ask for our scheduler."""

import argparse

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.submit.templates import templates
from understudy.cli.submit.wish import Document, Wish
from understudy.cli.target import config_of
from understudy.kube.settings import SCHEDULER_NAME


def goes_to_embedded(options: argparse.Namespace) -> bool:
    """As far as it can be told without asking the cluster. Where there is none, it is one that `up` would make."""
    try:
        return config_of(options).gang_binding
    except BadInput:
        if options.cluster or options.context or options.kubeconfig:
            raise
        return True


def fitted(wish: Wish, *, embedded: bool) -> Wish:
    _check_warm(wish.warm, embedded=embedded)
    return wish if embedded else msgspec.structs.replace(wish, scheduler=wish.scheduler or SCHEDULER_NAME)


def fit_manifest(document: Document, warm: int, *, embedded: bool) -> None:
    """A template that names its scheduler keeps it."""
    _check_warm(warm, embedded=embedded)
    if not embedded:
        for _, template in templates(document):
            template["spec"].setdefault("schedulerName", SCHEDULER_NAME)


def _check_warm(warm: int, *, embedded: bool) -> None:
    if warm and not embedded:
        raise BadInput(
            f"--warm {warm}: only embedded clusters hold understudies ready; leave it out, and label nodes "
            "understudy.dev/spare=true to have spares step in"
        )
