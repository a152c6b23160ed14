"""The kinds of job that can be submitted: each is a module that adds its flags and turns all of them into an object."""

import argparse
from typing import Protocol

from understudy.cli.submit.kinds import jax, job, jobset, mpi, paddle, pytorch, tf, xgboost
from understudy.cli.submit.request import Document, JobRequest
from understudy.objects.resources import Resource


class SubmitKind(Protocol):
    __doc__: str | None

    @property
    def NAMES(self) -> tuple[str, ...]:  # noqa: N802
        """The names of the type on the command line, the main one first."""

    @property
    def RESOURCES(self) -> tuple[Resource, ...]:  # noqa: N802
        """The resources in which the job can be created, the preferred version first."""

    def add_flags(self, parser: argparse.ArgumentParser) -> None: ...

    def document(self, request: JobRequest, resource: Resource) -> Document: ...


KINDS: tuple[SubmitKind, ...] = (mpi, pytorch, tf, xgboost, paddle, jax, jobset, job)
