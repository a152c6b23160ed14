"""Admission of new objects: the namespace is open, the service account exists, no built-in name is taken."""

from collections.abc import Sequence
from http import HTTPStatus

from msgspec import UNSET

from understudy.embedded.api.partial_objects import decode_partial
from understudy.embedded.api.reviews import REVIEWS
from understudy.embedded.api.usage_metrics import METRICS
from understudy.embedded.schema.errors import (
    ApiError,
    Cause,
    Details,
    forbidden,
    invalid,
    not_found,
)
from understudy.embedded.schema.served_resource import Draft, ServedResource
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition
from understudy.embedded.schema.types.core import ServiceAccount
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put, stamp
from understudy.embedded.store.records import Key, Put
from understudy.objects.resources import DEFINITIONS, NAMESPACES, PODS, SERVICE_ACCOUNTS


def default_account_writes(state: ServerState, key: Key) -> Sequence[Put]:
    """The service account `default` of a new namespace, stored together with it."""
    if key.resource != NAMESPACES.key:
        return ()
    account = Key(SERVICE_ACCOUNTS.key, key.name, "default")
    if state.store.newest(account) is not None:
        return ()
    draft = ServiceAccount()
    stamp(draft.metadata, account, state.timestamp())
    return (put(account, draft),)


def admit_service_account(state: ServerState, draft: Draft) -> None:
    """Raises a 403 where the service account of a pod is missing. A pod without automountServiceAccountToken gets the
    value of its account now; later changes of the account do not affect the pod."""
    if not isinstance(draft, Pod):
        return
    namespace, name = str(draft.metadata.namespace), str(draft.spec.service_account_name)
    account = state.lookup(SERVICE_ACCOUNTS, namespace, name)
    if not isinstance(account, ServiceAccount):
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS.plural, PODS.group, draft.metadata.name or "", why)
    if account.automount_service_account_token is False and draft.spec.automount_service_account_token is UNSET:
        draft.spec.automount_service_account_token = False


CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def admit_definition(state: ServerState, draft: Draft) -> None:
    """A definition may not take the name of a built-in resource. Its finalizer holds it until its objects are
    deleted."""
    if not isinstance(draft, CustomResourceDefinition):
        return
    key = f"{draft.spec.names.plural}.{draft.spec.group}"
    if not state.resources.may_define(key) or any(key == one.key for one in (*REVIEWS, *METRICS)):
        cause = Cause("FieldValueInvalid", f'Invalid value: "{key}": is a built-in resource', "spec.names.plural")
        raise invalid(DEFINITIONS.kind, DEFINITIONS.group, str(draft.metadata.name), [cause])
    finalizers = draft.metadata.finalizers or []
    draft.metadata.finalizers = finalizers if CLEANUP in finalizers else [*finalizers, CLEANUP]


def check_definition_open(state: ServerState, served: ServedResource) -> None:
    """Raises a 405 for a new object of a kind whose definition is being deleted."""
    if not state.resources.is_custom(served):
        return
    record = state.store.newest(Key(DEFINITIONS.key, "", served.resource.key))
    if record is not None and decode_partial(record.body).metadata.deletion_timestamp:
        said = "create not allowed while custom resource definition is terminating"
        raise ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", said)


def check_namespace(state: ServerState, target: Target, name: str) -> None:
    """Raises where the namespace of a new object is missing or being deleted."""
    namespace = target.namespace
    if not namespace:
        return
    record = state.store.newest(Key(NAMESPACES.key, "", namespace))
    if record is None:
        raise not_found(NAMESPACES.plural, "", namespace)
    if decode_partial(record.body).metadata.deletion_timestamp:
        resource = target.served.resource
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        where = f'{resource.key} "{name}"'
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        details = Details(name, resource.group, resource.plural, causes=(cause,))
        raise ApiError(HTTPStatus.FORBIDDEN, "Forbidden", f"{where} is forbidden: {why}", details)
