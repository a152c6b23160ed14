"""The folder in which client libraries look for their access to the API: token, authority and namespace of a pod."""

from collections.abc import Iterator
from pathlib import Path

from understudy.embedded.agent.credentials import Credentials, replace_file
from understudy.embedded.agent.pods import Pod, Projected, TokenFile
from understudy.embedded.shim.layout import PodFolder
from understudy.embedded.shim.mounting import SERVICE_ACCOUNT

SECONDS = 3607  # Kubernetes' own number for tokens that it mounts by itself
OWN = TokenFile("token", expiration_seconds=SECONDS)
_READABLE = 0o644


def is_wanted(pod: Pod) -> bool:
    return pod.spec.automount_service_account_token


def tokens_of(pod: Pod, folder: PodFolder) -> Iterator[tuple[TokenFile, Path]]:
    """All token files of a pod, with their places."""
    if is_wanted(pod):
        yield OWN, folder.account / OWN.path
    for volume in pod.spec.volumes:
        for file in token_files(volume.projected):
            yield file, folder.volumes / volume.name / file.path


def token_files(projected: Projected | None) -> Iterator[TokenFile]:
    for projection in projected.sources if projected else ():
        if projection.service_account_token:
            yield projection.service_account_token


def adopt(credentials: Credentials, pod: Pod, folder: PodFolder, authority: bytes) -> None:
    """What an agent before this one has given to the pod. The certificate of the API may be another one by now."""
    for wanted, path in tokens_of(pod, folder):
        credentials.adopt(pod, wanted, path)
    certificate = folder.account / "ca.crt"
    if certificate.exists() and certificate.read_bytes() != authority:
        replace_file(certificate, authority, _READABLE)


async def furnish(credentials: Credentials, pod: Pod, folder: PodFolder, authority: bytes) -> None:
    """Raises OSError, Refused and Unreachable."""
    place = folder.account
    place.mkdir(mode=0o755, parents=True, exist_ok=True)
    token = await credentials.obtain(pod, OWN, place / OWN.path)
    replace_file(place / OWN.path, token.encode(), 0o600)
    replace_file(place / "ca.crt", authority, _READABLE)
    replace_file(place / "namespace", pod.metadata.namespace.encode(), _READABLE)


__all__ = ["OWN", "SERVICE_ACCOUNT", "adopt", "furnish", "is_wanted", "token_files", "tokens_of"]
