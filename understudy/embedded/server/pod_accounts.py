"""What a new pod owes to its service account: that the account exists, and whether the pod gets a token of it."""

from msgspec import UNSET

from understudy.embedded.api.errors import forbidden
from understudy.embedded.api.served import Draft
from understudy.embedded.schema.types.core import ServiceAccount
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.state import State
from understudy.objects.resources import PODS, SERVICE_ACCOUNTS


def admit(state: State, draft: Draft) -> None:
    """Raises a 403, as Kubernetes does. Pods that leave automountServiceAccountToken open have it decided now: what
    becomes of the account later is not the pod's concern."""
    if not isinstance(draft, Pod):
        return
    namespace, name = str(draft.metadata.namespace), str(draft.spec.service_account_name)
    account = state.lookup(SERVICE_ACCOUNTS, namespace, name)
    if not isinstance(account, ServiceAccount):
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS.plural, PODS.group, draft.metadata.name or "", why)
    if account.automount_service_account_token is False and draft.spec.automount_service_account_token is UNSET:
        draft.spec.automount_service_account_token = False
