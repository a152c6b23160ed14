"""The claims of a JobSet's volumeClaimPolicies, which its Jobs share, and the volumes by which pods mount them."""

from collections.abc import Iterator
from typing import Any

from understudy.kinds.children.actions import CreateChild, Document, owner_reference
from understudy.kinds.children.jobset.spec import JobSetObject
from understudy.kinds.pod_labels import JOBSET_NAME
from understudy.objects.resources import CLAIMS, JOB_SETS


def claims(jobset: JobSetObject, document: Document) -> list[CreateChild]:
    """With the policy Delete, the default, they are deleted together with the JobSet."""
    found = []
    for policy in _policies(document):
        kept = (policy.get("retentionPolicy") or {}).get("whenDeleted") == "Retain"
        owners = [] if kept else [owner_reference(JOB_SETS.api_version, JOB_SETS.kind, jobset.metadata)]
        found += [_claim(jobset, template, owners) for template in policy.get("templates") or ()]
    return found


def _claim(jobset: JobSetObject, template: Document, owners: list[Document]) -> CreateChild:
    given: Document = template.get("metadata") or {}
    metadata: Document = {
        "name": _claim_name(jobset.metadata.name, template),
        "namespace": jobset.metadata.namespace,
        "labels": {**(given.get("labels") or {}), JOBSET_NAME: jobset.metadata.name},
        "annotations": given.get("annotations") or {},
        **({"ownerReferences": owners} if owners else {}),
    }
    claim = {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": metadata, "spec": template["spec"]}
    return CreateChild(CLAIMS, claim, if_absent=True)


def volumes(jobset: str, document: Document, pods: Document) -> list[Document]:
    """Those of the claims that a container of these pods mounts."""
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": _claim_name(jobset, template)}}
        for policy in _policies(document)
        for template in policy.get("templates") or ()
        if _mounts(pods, name := _name(template))
    ]


def problem_of(document: Document) -> str:
    """What is wrong with the policies and no schema sees; '' where nothing is."""
    return next(_problems(document), "")


def _problems(document: Document) -> Iterator[str]:
    seen: set[str] = set()
    for number, policy in enumerate(_policies(document)):
        for position, template in enumerate(policy.get("templates") or ()):
            where, claim = f"spec.volumeClaimPolicies[{number}].templates[{position}]", _name(template)
            specs = [_pods(group) for group in document["spec"].get("replicatedJobs") or ()]
            if not claim:
                yield f"{where}.metadata.name is missing: containers mount the claim by it"
            elif claim in seen:
                yield f"{where}.metadata.name {claim!r} is given twice: give each template a name of its own"
            elif not any(_mounts(pods, claim) for pods in specs):
                yield f"{where}: no container mounts {claim!r}: give one a volumeMount of this name"
            elif any(volume.get("name") == claim for pods in specs for volume in pods.get("volumes") or ()):
                yield f"{where}: a replicated job has a volume {claim!r} already: rename one of them"
            seen.add(claim)


def _mounts(pods: Document, claim: str) -> bool:
    containers = [*(pods.get("containers") or ()), *(pods.get("initContainers") or ())]
    return any(mount.get("name") == claim for one in containers for mount in one.get("volumeMounts") or ())


def _pods(group: Document) -> Document:
    job: Document = (group.get("template") or {}).get("spec") or {}
    pods: Document = (job.get("template") or {}).get("spec") or {}
    return pods


def _policies(document: Document) -> list[Any]:
    found: list[Any] = document["spec"].get("volumeClaimPolicies") or []
    return found


def _name(template: Document) -> str:
    return str((template.get("metadata") or {}).get("name") or "")


def _claim_name(jobset: str, template: Document) -> str:
    return f"{_name(template)}-{jobset}"
