"""Code into pods: --sync-mode and --sync-source into a container that fetches it before the others start.

It fetches with the plain tools, so that it works in any image that has them and as a process of this machine as well.
What the git-sync image reads from its environment, this reads too.
"""

from pathlib import PurePosixPath

from understudy.cli.complaint import BadInput
from understudy.cli.submit.wish import Document, Wish

VOLUME = "code-sync"
PLACE = "/code"  # where the volume is while it is filled
IMAGES = {"git": "docker.io/alpine/git:2.45.2", "rsync": "docker.io/instrumentisto/rsync-ssh:alpine3.20"}

# A second try finds what the first one left behind. The password is asked for only by servers that want one.
_CLONE = """\
set -e
place="${GIT_SYNC_ROOT:?}/${GIT_SYNC_DEST:?}"
rm -rf "$place"
exec git \
${GIT_SYNC_PASSWORD:+-c 'credential.helper=!f() { \
echo "username=$GIT_SYNC_USERNAME"; echo "password=$GIT_SYNC_PASSWORD"; }; f'} \
clone ${GIT_SYNC_BRANCH:+--branch "$GIT_SYNC_BRANCH"} -- "$GIT_SYNC_REPO" "$place"
"""


def checked(wish: Wish) -> None:
    if wish.sync_mode and not wish.sync_source:
        raise BadInput(f"--sync-mode {wish.sync_mode}: says how, not from where; add --sync-source")
    if wish.sync_source and not wish.sync_mode:
        raise BadInput(f"--sync-source {wish.sync_source}: says where, not how; add --sync-mode git or rsync")
    if wish.sync_mode == "git" and not project(wish.sync_source or ""):
        raise BadInput(f"--sync-source {wish.sync_source}: has no name of a repository in it")


def project(source: str) -> str:
    """`https://example.com/team/mnist.git` and `git@example.com:mnist.git` are `mnist`."""
    last = source.rstrip("/").rpartition("/")[2].rpartition(":")[2]
    name = last.removesuffix(".git")
    return "" if name in (".", "..") else name


def fetching(wish: Wish, env: list[Document]) -> Document:
    """The container. `env` is what the command itself will have: credentials and branches come that way."""
    assert wish.sync_mode
    assert wish.sync_source
    git = wish.sync_mode == "git"
    return {
        "name": "init-code",
        "image": wish.sync_image or IMAGES[wish.sync_mode],
        "imagePullPolicy": wish.image_pull_policy,
        "command": ["sh", "-c", _CLONE] if git else ["rsync", "-avP", wish.sync_source, PLACE],
        "env": [*env, *_told(wish.sync_source)] if git else env,
        "volumeMounts": [{"name": VOLUME, "mountPath": PLACE}],
    }


def _told(source: str) -> list[Document]:
    told = {
        "GIT_SYNC_REPO": source,
        "GIT_SYNC_DEST": project(source),
        "GIT_SYNC_ROOT": PLACE,
        "GIT_SYNC_ONE_TIME": "true",
        "GIT_TERMINAL_PROMPT": "0",  # nobody is there to answer
    }
    return [{"name": name, "value": value} for name, value in told.items()]


def mounted(wish: Wish) -> Document:
    """Where the command sees it: /root/code/mnist, unless another working folder is asked for."""
    return {"name": VOLUME, "mountPath": str(PurePosixPath(wish.working_dir) / "code")}
