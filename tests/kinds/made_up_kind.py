"""A job kind that the product does not know, registered with one value: prints what each part makes of it.

Run as a program, since the registry is read once in a process.
"""

import json
from typing import Any

import msgspec

from understudy.kinds import registered
from understudy.kinds.end_conditions import EndConditions
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobKind
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.roles import role_of
from understudy.objects.jobs import Workload
from understudy.objects.meta import Condition, ObjectMeta, Part
from understudy.objects.pods import Container, Pod, PodSpec, PodTemplate
from understudy.objects.resources import Resource

CHOIRS = Resource("music.example.org", "v1", "choirs", "MadeUpJob")


class ChoirSpec(Part, frozen=True, gc=False):
    singers: int
    template: PodTemplate
    silent: bool = False


class ChoirStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class MadeUpJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: ChoirSpec
    status: ChoirStatus = ChoirStatus()


def outline(choir: MadeUpJob, *_: Any) -> GangOutline:
    names = tuple(f"{choir.metadata.name}-{i}" for i in range(choir.spec.singers))
    role = RoleOutline(choir.metadata.name, names, choir.spec.template, "spec.template")
    return GangOutline((role,), choir.spec.silent)


KIND = JobKind(
    resource=CHOIRS,
    struct=MadeUpJob,
    outline=outline,
    names=("choir", "sing"),
    control=lambda _: JobControl(("spec", "silent")),
    suspend_path=("spec", "silent"),
    ends=EndConditions(succeeded="Sung", failed="OutOfTune"),
    operator="choir-operator",
    roles=lambda spec: [role_of("singer", spec["singers"], spec["template"])],
    pod_labels=("music.example.org/choir",),
)
DOCUMENT: dict[str, Any] = {
    "apiVersion": "music.example.org/v1",
    "kind": "MadeUpJob",
    "metadata": {"name": "c", "namespace": "default", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"singers": 3, "template": {"spec": {"containers": [{"name": "voice"}]}}},
}


def found() -> dict[str, Any]:
    registered.REGISTERED += (KIND,)
    from understudy.cli.doctor.workloads import OPERATORS
    from understudy.cli.job_types import kind_named
    from understudy.cli.queries.job_status import status_of
    from understudy.cli.queries.lists import pod_selectors
    from understudy.control.watch.reflector import WATCHED_RESOURCES
    from understudy.kinds.context import Context
    from understudy.kinds.decoding import decode, decode_json
    from understudy.kinds.gangs.job_gang import gang_of
    from understudy.kinds.job_control import suspend_patch
    from understudy.kinds.ownership import owner_of
    from understudy.kinds.registry import KINDS, control_of, is_ending, job_resource

    job = decode(DOCUMENT)
    assert isinstance(job, MadeUpJob)
    gang = gang_of(job, Context())
    assert gang is not None
    meta = ObjectMeta(name="c-0", namespace="default", labels={"music.example.org/choir": "c"})
    ended = (Condition("Sung", "True"),)
    sung = msgspec.structs.replace(job, status=ChoirStatus(ended))
    return {
        "decoded": type(decode_json(msgspec.json.encode(DOCUMENT))).__name__,
        "gang": [gang.key, gang.size],
        "followed": any(CHOIRS in source.versions and source.optional for source in WATCHED_RESOURCES),
        "seen by the loop": _seen_by_the_loop(),
        "suspended by": suspend_patch(control_of(job), True),
        "lives in": job_resource(job.api_version, job.kind).path("default", "c"),
        "ended": [is_ending(job), is_ending(sung)],
        "type": kind_named("sing"),
        "status": status_of("MadeUpJob", DOCUMENT, ended, ()),
        "pods listed by": pod_selectors("MadeUpJob", "c"),
        "pods belong to": owner_of(Pod("Pod", "v1", metadata=meta, spec=PodSpec((Container(),)))).key,
        "children": KINDS["MadeUpJob"].child_names("c", ["singer"]),
        "roles": [(role.name, role.count) for role in KINDS["MadeUpJob"].roles_in(DOCUMENT["spec"])],
        "operator": [one.plurals for one in OPERATORS if one.name == "choir-operator"],
    }


def _seen_by_the_loop() -> list[str]:
    from understudy.control.view.cluster_view import ClusterView
    from understudy.kinds.decoding import decode

    view = ClusterView()
    view.put(decode(DOCUMENT))
    return sorted(view.snapshot(0.0).gangs)


if __name__ == "__main__":
    print(json.dumps(found()))  # noqa: T201
