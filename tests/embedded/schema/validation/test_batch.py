"""What a job gets from the cluster, what is refused, and what may change."""

from typing import Any

import pytest

from tests.embedded.schema.forms import UID, Refusal, changed, container, created, draft_of, job, refusal_of, updated


def test_a_job_gets_its_defaults() -> None:
    spec = created("Job", job())["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)
    assert (spec["completionMode"], spec["suspend"]) == ("NonIndexed", False)
    assert spec["podReplacementPolicy"] == "TerminatingOrFailed"


def test_given_parallelism_alone_the_number_of_completions_stays_open() -> None:
    assert "completions" not in created("Job", job(parallelism=3))["spec"]


def test_the_selector_is_made_for_the_job() -> None:
    made = created("Job", job())
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert labels == {
        "batch.kubernetes.io/controller-uid": UID,
        "batch.kubernetes.io/job-name": "train",
        "controller-uid": UID,
        "job-name": "train",
    }


def test_labels_of_the_template_become_labels_of_a_job_without_any() -> None:
    given = job()
    given["spec"]["template"]["metadata"] = {"labels": {"app": "a"}}
    assert created("Job", given)["metadata"]["labels"] == {"app": "a"}


def test_a_manual_selector_is_kept() -> None:
    given = job(manualSelector=True, selector={"matchLabels": {"mine": "yes"}})
    given["spec"]["template"]["metadata"] = {"labels": {"mine": "yes"}}
    assert created("Job", given)["spec"]["selector"] == {"matchLabels": {"mine": "yes"}}


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        job({"restartPolicy": "Always"}),
        'spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"',
    ),
    (job(parallelism=-1), "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
    (job(completionMode="Indexed", parallelism=1), "spec.completions: Required value: when completion mode is Indexed"),
    (
        job(backoffLimitPerIndex=1),
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
    ),
    (job(selector={"matchLabels": {"a": "b"}}), "spec.selector: Invalid value"),
    (job({"containers": [container(image="")]}), "spec.template.spec.containers[0].image: Required value"),
    (
        job({"restartPolicy": "OnFailure"}, podFailurePolicy={"rules": []}),
        'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported',
    ),
    (
        job(podFailurePolicy={"rules": [{"action": "Ignore"}]}),
        "spec.podFailurePolicy.rules[0]: Invalid value",
    ),
]


@pytest.mark.parametrize(("given", "cause"), WRONG, ids=[cause[:60] for _, cause in WRONG])
def test_what_is_wrong_is_named_with_its_field(given: dict[str, Any], cause: str) -> None:
    said = refusal_of("Job", given)
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


def test_a_job_may_be_suspended_and_resumed() -> None:
    old = draft_of("Job", job())
    after = updated("Job", old, changed(old, "spec", "suspend", to=True))
    assert after["spec"]["suspend"] is True
    assert after["metadata"]["generation"] == 2


def test_the_template_stays_as_it_was() -> None:
    old = draft_of("Job", job())
    document = changed(old, "spec", "template", "spec", "containers", 0, "command", to=["other"])
    with Refusal() as said:
        updated("Job", old, document)
    assert said.causes[0].startswith("spec.template: Invalid value")
    assert said.causes[0].endswith("field is immutable")


def test_while_suspended_the_pods_may_still_be_steered() -> None:
    old = draft_of("Job", job(suspend=True))
    document = changed(old, "spec", "template", "spec", "nodeSelector", to={"slice": "a"})
    document["spec"]["suspend"] = False
    assert updated("Job", old, document)["spec"]["template"]["spec"]["nodeSelector"] == {"slice": "a"}
    running = draft_of("Job", job())
    with Refusal() as said:
        updated("Job", running, changed(running, "spec", "template", "spec", "nodeSelector", to={"slice": "a"}))
    assert said.code == 422


def test_only_elastic_indexed_jobs_change_their_size() -> None:
    fixed = draft_of("Job", job(completions=2))
    with Refusal() as said:
        updated("Job", fixed, changed(fixed, "spec", "completions", to=3))
    assert said.causes == ["spec.completions: Invalid value: 3: field is immutable"]
    elastic = draft_of("Job", job(completionMode="Indexed", completions=2, parallelism=2))
    document = changed(elastic, "spec", "completions", to=3)
    document["spec"]["parallelism"] = 3
    assert updated("Job", elastic, document)["spec"]["completions"] == 3
    with Refusal() as said:
        updated("Job", elastic, changed(elastic, "spec", "completionMode", to="NonIndexed"))
    assert 'spec.completionMode: Invalid value: "NonIndexed": field is immutable' in said.causes
