"""The instance and the container that a verb means, and errors on the way to the kubelet."""

import contextlib
from collections.abc import Iterator

import msgspec

from understudy.cli.errors import BadInput, short_list, suggestion
from understudy.cli.queries.instances import EndedAttempt, Instance
from understudy.cli.queries.jobs import JobSummary
from understudy.ports import Refused


def choose_instance(job: JobSummary, wanted: str | None) -> Instance | None:
    """The first instance, or the one that -i names, in full or without the name of the job. None: the job has none."""
    if wanted is None:
        return job.instances[0] if job.instances else None
    for one in job.instances:  # the newest of those that took each other's place comes first
        if wanted in (one.name, one.place, one.place.removeprefix(f"{job.name}-")):
            return one
    if alike := [one for one in job.instances if one.role == wanted.lower()]:
        return alike[0]
    if not job.instances:
        return None
    hint = suggestion(wanted, [one.name for one in job.instances], f"{job.name} has")
    raise BadInput(f"--instance {wanted}: no such instance of {job.name}; {hint}")


def choose_ended(job: JobSummary, wanted: str | None) -> list[EndedAttempt]:
    """The attempts of an instance whose pods are gone, oldest first; of the first instance, or the one -i names."""
    if job.instances:
        chosen = choose_instance(job, wanted)
    else:
        chosen = choose_instance(msgspec.structs.replace(job, instances=job.last_instances), wanted)
    same = [one for one in job.history if chosen is not None and one.instance.place == chosen.place]
    return sorted(same, key=lambda one: one.number)


def previous_attempt(job: JobSummary, instance: Instance) -> Instance | None:
    """The pod whose place this one took, if that pod still exists."""
    older = [one for one in job.instances if one.place == instance.place and one.created < instance.created]
    others = [one for one in job.instances if one.place == instance.place and one.name != instance.name]
    return next(iter(older or others), None)


def choose_container(instance: Instance, wanted: str | None) -> str:
    if wanted is None:
        return instance.containers[0] if instance.containers else ""
    if wanted not in instance.containers and wanted not in instance.init_containers:
        known = short_list([*instance.containers, *instance.init_containers])
        raise BadInput(f"--container {wanted}: {instance.name} has no such container; it has {known}")
    return wanted


SERVER_ERROR = 500


@contextlib.contextmanager
def kubelet_errors(instance: Instance) -> Iterator[None]:
    """Adds the node to an error of a request that goes through its kubelet."""
    try:
        yield
    except Refused as error:
        if error.code < SERVER_ERROR:
            raise
        words = f"{instance.name}: the cluster cannot reach the kubelet of node {instance.node}: {error.message}"
        raise Refused(error.code, error.reason, words) from None
