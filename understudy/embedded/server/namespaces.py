"""What comes with a namespace, and how its last holders let go of it."""

from collections.abc import Sequence

import msgspec

from understudy.embedded.api.errors import bad_request
from understudy.embedded.schema.types.core import Namespace, ServiceAccount
from understudy.embedded.server.answers import Answer
from understudy.embedded.server.bodies import read_json
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.presenting import present
from understudy.embedded.server.stamping import stamp
from understudy.embedded.server.state import State
from understudy.embedded.server.updating import check_identity, find, settle
from understudy.embedded.server.writing import put
from understudy.embedded.store.records import Key, Put
from understudy.objects.resources import NAMESPACES, SERVICE_ACCOUNTS


def entailed(state: State, key: Key) -> Sequence[Put]:
    """A new namespace has an account for pods that name none, from its first moment on."""
    if key.resource != NAMESPACES.key:
        return ()
    account = Key(SERVICE_ACCOUNTS.key, key.name, "default")
    if state.store.newest(account) is not None:
        return ()
    draft = ServiceAccount()
    stamp(draft.metadata, account, state.timestamp())
    return (put(account, draft),)


async def finalize(state: State, call: Call, target: Target) -> Answer:
    """PUT namespaces/{name}/finalize: only spec.finalizers counts."""
    body = await read_json(call)
    given = target.served.form.read(body, call.strictness).draft
    record = find(state, target)
    draft = target.served.form.load(record.body)
    if not isinstance(given, Namespace) or not isinstance(draft, Namespace):
        raise bad_request("only a namespace can be finalized")
    check_identity(target, given.metadata, draft.metadata)
    draft.spec = msgspec.structs.replace(draft.spec, finalizers=given.spec.finalizers)
    return present(call, target, await settle(state, record, draft, dry_run=call.dry_run))
