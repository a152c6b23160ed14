"""Documents that `understudy submit --dry-run` prints, for tests of what flags become."""

from typing import Any

import yaml

from tests.cli.shell import Shell

Document = dict[str, Any]


def made(shell: Shell, kind: str, *flags: str, command: str = "true") -> list[Document]:
    """All that would be made for a job called j."""
    code, out, err = shell.run("submit", kind, "--name=j", "--dry-run", *flags, command)
    assert (code, err) == (0, "")
    return list(yaml.safe_load_all(out))


def job(shell: Shell, kind: str, *flags: str, command: str = "true") -> Document:
    return made(shell, kind, *flags, command=command)[0]


def pods(shell: Shell, *flags: str, command: str = "true") -> Document:
    """The pod template of a plain Job with these flags."""
    template: Document = job(shell, "job", *flags, command=command)["spec"]["template"]
    return template


def container(shell: Shell, *flags: str) -> Document:
    found: Document = pods(shell, *flags)["spec"]["containers"][0]
    return found
