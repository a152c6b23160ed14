"""What all requests share: the store, the served resources, authentication, authorization, watches, the clock."""

import asyncio
import time
from collections.abc import Callable

from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.schema.served_resource import Draft, ServedResource
from understudy.embedded.server.authentication.authenticator import Authenticator, TokenFile
from understudy.embedded.server.authentication.service_account_tokens import ServiceAccountTokens
from understudy.embedded.server.authentication.signing_key import SigningKey
from understudy.embedded.server.authorization.authorizer import Authorizer
from understudy.embedded.server.registry.quotas import QuotaAccounts
from understudy.embedded.server.watch.watch_stream import WatchServer
from understudy.embedded.store.records import Key, Record
from understudy.embedded.store.store import Store
from understudy.objects.resources import Resource


class ServerState:
    def __init__(
        self,
        store: Store,
        resources: ServedResources,
        tokens: TokenFile,
        folder: ClusterFolder,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.resources = resources
        self.folder = folder
        self.now = now
        self.signing_key = SigningKey(folder.signing_key)
        self.accounts = ServiceAccountTokens(store, self.signing_key, now)
        self.authenticator = Authenticator(tokens, self.accounts.user)
        self.authorizer = Authorizer(store, resources)
        self.quotas = QuotaAccounts(store, resources)
        self.closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.watches = WatchServer(store, now)
        self._second = 0
        self._stamp = ""

    def close(self) -> None:
        """Ends all watches and other streams."""
        if not self.closing.done():
            self.closing.set_result(None)

    def warm_up(self) -> None:
        """Loads the signing key in a thread, so that the first token need not wait for it. If the key cannot be read,
        the request that needs it says so."""
        warming = asyncio.get_running_loop().run_in_executor(None, self.signing_key.load)
        warming.add_done_callback(lambda done: done.cancelled() or done.exception())

    def timestamp(self) -> str:
        """Now, as Kubernetes writes it."""
        second = int(self.now())
        if second != self._second:
            self._second, self._stamp = second, rfc3339(second)
        return self._stamp

    def newest_of(self, resource: str, namespace: str) -> list[Record]:
        """As the next write finds them; objects that are new and not durable yet are left out."""
        found = (self.store.newest(record.key) for record in self.store.list(resource, namespace))
        return [record for record in found if record is not None]

    def lookup(self, resource: Resource, namespace: str, name: str) -> Draft | None:
        """The stored object. Without a name: the PriorityClass that is the default, if there is one."""
        if not name:
            name = self._global_default(resource)
        record = self.store.newest(Key(resource.key, namespace, name))
        served = self.resources.find(resource.group, resource.version, resource.plural)
        if record is None or served is None:
            return None
        return served.form.load(record.body)

    def _global_default(self, resource: Resource) -> str:
        """Updates of old classes can leave several defaults; the first by name counts."""
        marked = (record for record in self.newest_of(resource.key, "") if b'"globalDefault":true' in record.body)
        return next((record.key.name for record in marked), "")

    def served(self, resource: Resource) -> ServedResource:
        """A built-in resource."""
        found = self.resources.find(resource.group, resource.version, resource.plural)
        if found is None:
            raise LookupError(resource.key)
        return found


def rfc3339(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
