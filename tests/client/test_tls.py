"""Which servers are trusted: certificates of older clusters too, and nothing that is wrong in earnest."""

import asyncio
import datetime
import ssl

import pytest

from tests.client.plain_certificates import make_default_contexts_strict, plain_identity
from tests.client.scripted_server import Reply, Request, serving
from understudy.client import connect
from understudy.client.tls import context_for
from understudy.embedded.clusters.certificates import Identity
from understudy.ports import Unreachable

HOURS = datetime.timedelta(hours=1)


def answered(served: Identity, authority: bytes) -> bool:
    """Whether a client that trusts this authority gets an answer of a server that shows this certificate."""

    async def answer(_request: Request, reply: Reply) -> None:
        await reply.json({"kind": "Status"})

    async def run() -> bool:
        async with (
            serving(answer, own=served) as server,
            connect(server.config(authority=authority.decode())) as client,
        ):
            return b"Status" in await client.request("GET", "/readyz")

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def strict_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    make_default_contexts_strict(monkeypatch)


def test_a_certificate_without_key_identifiers_is_accepted() -> None:
    own = plain_identity()
    assert answered(own, own.authority)


@pytest.mark.parametrize(
    ("own", "complaint"),
    [
        pytest.param(plain_identity(("10.0.0.7", "api.example.org")), "IP address mismatch", id="another host"),
        pytest.param(plain_identity(ends_in=-HOURS), "certificate has expired", id="expired"),
    ],
)
def test_other_faults_of_a_certificate_are_not_forgiven(own: Identity, complaint: str) -> None:
    with pytest.raises(Unreachable, match=f"its certificate is not trusted: .*{complaint}"):
        answered(own, own.authority)


def test_a_certificate_of_another_authority_is_refused() -> None:
    with pytest.raises(Unreachable, match="its certificate is not trusted"):
        answered(plain_identity(), plain_identity().authority)


def test_where_no_authority_is_given_the_defaults_of_python_hold() -> None:
    assert context_for("").verify_flags & ssl.VERIFY_X509_STRICT
    own = plain_identity()
    assert not context_for(own.authority.decode()).verify_flags & ssl.VERIFY_X509_STRICT
