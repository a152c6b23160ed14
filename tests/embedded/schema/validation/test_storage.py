"""Claims and volumes."""

from typing import Any

from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated


def claim(**spec: Any) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": "data"}, "spec": {**asked, **spec}}


def volume(**spec: Any) -> dict[str, Any]:
    given = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return {"metadata": {"name": "disk"}, "spec": {**given, **spec}}


def test_claims_and_volumes_begin_pending() -> None:
    assert created("PersistentVolumeClaim", claim())["status"] == {"phase": "Pending"}
    assert created("PersistentVolume", volume())["status"] == {"phase": "Pending"}


def test_a_claim_says_how_much_and_how() -> None:
    said = refusal_of("PersistentVolumeClaim", claim(accessModes=[], resources={}))
    assert said.causes == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_a_claim_is_bound_once_and_may_grow() -> None:
    old = draft_of("PersistentVolumeClaim", claim())
    document = changed(old, "spec", "volumeName", to="disk")
    document["spec"]["resources"]["requests"]["storage"] = "2Gi"
    assert updated("PersistentVolumeClaim", old, document)["spec"]["volumeName"] == "disk"
    bound = draft_of("PersistentVolumeClaim", claim(volumeName="disk"))
    with Refusal() as said:
        updated("PersistentVolumeClaim", bound, changed(bound, "spec", "volumeName", to="other"))
    assert said.causes[0].startswith("spec: Forbidden: spec is immutable after creation")


def test_a_volume_has_exactly_one_source() -> None:
    said = refusal_of("PersistentVolume", volume(hostPath=None))
    assert said.causes == ["spec: Required value: must specify a volume type"]
    said = refusal_of("PersistentVolume", volume(nfs={"path": "/", "server": "a"}))
    assert said.causes == ["spec: Forbidden: may not specify more than 1 volume type"]


def test_the_source_of_a_volume_stays() -> None:
    old = draft_of("PersistentVolume", volume())
    with Refusal() as said:
        updated("PersistentVolume", old, changed(old, "spec", "hostPath", "path", to="/other"))
    assert said.causes[0].startswith("spec.persistentvolumesource: Forbidden")
