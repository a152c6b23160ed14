"""Manifests of jobs: read from a file, changed by flags, and searched for their pod templates."""

import argparse
from collections.abc import Iterator
from typing import Any

from understudy.cli.errors import BadInput, short_list, suggestion
from understudy.cli.input import documents
from understudy.cli.submit import field_paths
from understudy.cli.submit.flag_values import Pair
from understudy.cli.submit.pod_template import OWN, on_pods
from understudy.cli.submit.request import Document
from understudy.kinds.registry import JOB_RESOURCES, KINDS, job_resource
from understudy.objects.resources import Resource


def templates(value: Any, path: str = "") -> Iterator[tuple[str, Document]]:
    """Every pod template in the document, with where it stands."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if path.endswith("template") and isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield path, value
            return
        for key, inner in value.items():
            yield from templates(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from templates(inner, f"{path}[{number}]")


def priority_classes(document: Document) -> list[str]:
    """The priority classes that the templates name, each once."""
    named = (template["spec"].get("priorityClassName") for _, template in templates(document))
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name))


def claims(document: Document) -> list[str]:
    found: dict[str, None] = {}
    for _, template in templates(document):
        volumes = template["spec"].get("volumes")
        for volume in volumes if isinstance(volumes, list) else ():
            claim = volume.get("persistentVolumeClaim") if isinstance(volume, dict) else None
            if isinstance(claim, dict) and isinstance(claim.get("claimName"), str):
                found[claim["claimName"]] = None
    return list(found)


def images(document: Document) -> set[Any]:
    return {
        container.get("image")
        for _, template in templates(document)
        for container in template["spec"]["containers"]
        if isinstance(container, dict)
    }


_ON_TOP = {
    "name", "priority", "on_preemption", "warm", "label", "annotation", "env", "selector", "toleration", "exclusive",
    "scheduler", "image", "image_pull_secret",
}  # fmt: skip
_NOT_ABOUT_THE_JOB = {
    "file", "set", "dry_run", "yes", "wait", "watch", "namespace", "cluster", "context", "kubeconfig",
}  # fmt: skip


def read_manifest(name: str) -> Document:
    found = documents.read([name])
    if len(found) > 1:
        raise BadInput(f"-f {name}: has {len(found)} objects; submit takes one job, `understudy apply -f` takes any")
    try:
        document: Document = field_paths.copy_document(found[0].value)
    except RecursionError:
        raise BadInput(f"-f {name}: {documents.TOO_DEEP}") from None
    kind = document.get("kind")
    kinds = [resource.kind for resource in JOB_RESOURCES]
    if kind not in kinds:
        raise BadInput(f"-f {name}: kind: {kind!r} is no job kind; {suggestion(str(kind), kinds, 'there are')}")
    return document


def resource_of(document: Document, name: str) -> Resource:
    resource = job_resource(str(document.get("apiVersion")), document["kind"])
    if document.get("apiVersion") != resource.api_version:
        raise BadInput(f"-f {name}: apiVersion: a {resource.kind} has one like {resource.api_version}")
    return resource


def apply_flags(document: Document, options: argparse.Namespace) -> None:
    given = options.given - _NOT_ABOUT_THE_JOB
    if wrong := sorted(given - _ON_TOP):
        flags = short_list("a command" if flag == "command" else f"--{flag.replace('_', '-')}" for flag in wrong)
        raise BadInput(f"{flags}: does not go with -f; change the field itself with --set PATH=VALUE")
    _change_job(document, options)
    found = [template for _, template in templates(document)]
    if given & {"priority", "env", "selector", "toleration", "scheduler", "image"} and not found:
        raise BadInput(
            f"-f: a {document['kind']} without pod templates takes no flags about pods; its runtime has them"
        )
    for template in found:
        _change_pods(template, options)


def _change_job(document: Document, options: argparse.Namespace) -> None:
    metadata = document["metadata"] = dict(document.get("metadata") or {})
    if options.name:
        metadata["name"] = options.name
    if not metadata.get("name"):
        raise BadInput("--name: missing, and the manifest has no metadata.name either")
    _merge(metadata, "labels", options.label)
    _merge(metadata, "annotations", [*options.annotation, *_own(document, options)])


def _own(document: Document, options: argparse.Namespace) -> Iterator[Pair]:
    if options.exclusive:
        yield KINDS[document["kind"]].exclusive_annotation, options.exclusive
    if options.on_preemption:
        yield f"{OWN}on-preemption", options.on_preemption
    if options.warm:
        yield f"{OWN}warm", str(options.warm)


def _change_pods(template: Document, options: argparse.Namespace) -> None:
    metadata = template["metadata"] = dict(template.get("metadata") or {})
    _merge(metadata, "labels", options.label)
    _merge(metadata, "annotations", on_pods(options.annotation))
    spec = template["spec"]
    for field, value in (("priorityClassName", options.priority), ("schedulerName", options.scheduler)):
        if value:
            spec[field] = value
    _merge(spec, "nodeSelector", options.selector)
    _extend(spec, "tolerations", options.toleration)
    _extend(spec, "imagePullSecrets", [{"name": name} for name in options.image_pull_secret])
    containers = [container for container in spec["containers"] if isinstance(container, dict)]
    if options.image and containers:
        containers[0]["image"] = options.image
    for container in containers:
        given = dict(options.env)
        kept = [entry for entry in container.get("env") or [] if entry.get("name") not in given]
        if given:
            container["env"] = [*kept, *({"name": name, "value": value} for name, value in given.items())]


def _merge(holder: Document, field: str, pairs: list[Pair]) -> None:
    if pairs:
        holder[field] = {**(holder.get(field) or {}), **dict(pairs)}


def _extend(holder: Document, field: str, more: list[Document]) -> None:
    if more:
        holder[field] = [*(holder.get(field) or []), *more]
