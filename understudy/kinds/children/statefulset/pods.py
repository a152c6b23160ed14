"""The pods and claims of a StatefulSet: the number of a pod is part of the names of both."""

from collections.abc import Iterator

from understudy.kinds.children.actions import CreateChild, DeleteChild, Document, EventNote
from understudy.kinds.children.revisions import REVISION_HASH
from understudy.kinds.children.statefulset.spec import NumberedPods
from understudy.kinds.children.workload_pods import pod_metadata
from understudy.objects.resources import CLAIMS, PODS

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
CREATED = EventNote("SuccessfulCreate", "create Pod {name} in StatefulSet successful")
DELETED = EventNote("SuccessfulDelete", "delete Pod {name} in StatefulSet successful")


def created(case: NumberedPods, number: int) -> tuple[CreateChild, ...]:
    """The claims of the pod where they do not exist yet, and the pod."""
    spec, meta = case.stateful.spec, case.stateful.metadata
    name = f"{meta.name}-{number}"
    revision = _revision_for(case, number)
    template = case.history.template_of(revision) or case.document["spec"]["template"]
    labels = {POD_NAME: name, POD_INDEX: str(number), REVISION_HASH: revision}
    metadata = {"name": name, **pod_metadata(template, case.owner, meta.namespace, labels)}
    pod_spec = {**template["spec"], "hostname": name}
    if spec.service_name:
        pod_spec["subdomain"] = spec.service_name
    if spec.volume_claim_templates:
        pod_spec["volumes"] = _volumes(case, number, pod_spec)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec}
    return (*_claims(case, number), CreateChild(PODS, pod, CREATED))


def deleted(case: NumberedPods, number: int) -> DeleteChild:
    meta = case.pods[number].metadata
    return DeleteChild(PODS, meta.name, meta.uid, DELETED)


def unused_claims(case: NumberedPods, number: int) -> Iterator[DeleteChild]:
    """Of a pod that goes because the set shrinks."""
    if case.stateful.spec.persistent_volume_claim_retention_policy.when_scaled == "Delete":
        for template in case.stateful.spec.volume_claim_templates:
            yield DeleteChild(CLAIMS, _claim_name(case, template, number), "")


def _revision_for(case: NumberedPods, number: int) -> str:
    """A pod below the partition comes back as it was."""
    strategy = case.stateful.spec.update_strategy
    kept = strategy.type == "RollingUpdate" and number < case.wanted.start + strategy.rolling_update.partition
    return case.current_revision if kept else case.history.newest


def _claim_name(case: NumberedPods, template: Document, number: int) -> str:
    return f"{template['metadata']['name']}-{case.stateful.metadata.name}-{number}"


def _volumes(case: NumberedPods, number: int, spec: Document) -> list[Document]:
    claimed = [
        {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": _claim_name(case, each, number)}}
        for each in case.stateful.spec.volume_claim_templates
    ]
    names = {volume["name"] for volume in claimed}
    return [*claimed, *(volume for volume in spec.get("volumes") or () if volume["name"] not in names)]


def _claims(case: NumberedPods, number: int) -> Iterator[CreateChild]:
    spec = case.stateful.spec
    labels = dict(spec.selector.match_labels)
    goes_along = spec.persistent_volume_claim_retention_policy.when_deleted == "Delete"
    for template in spec.volume_claim_templates:
        given = template["metadata"]
        metadata = {
            **given,
            "name": _claim_name(case, template, number),
            "namespace": case.stateful.metadata.namespace,
            "labels": {**(given.get("labels") or {}), **labels},
        }
        if goes_along:
            metadata["ownerReferences"] = [case.owner]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
        yield CreateChild(CLAIMS, claim, if_absent=True)
