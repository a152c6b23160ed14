"""Static tokens in the cluster's folder."""

from pathlib import Path

import pytest

from understudy.embedded.schema.errors import ApiError
from understudy.embedded.server.authentication.authenticator import Authenticator, TokenFile, User


def _authenticator(file: Path) -> Authenticator:
    return Authenticator(TokenFile.read(file), lambda _: None)


def test_tokens_are_read_from_lines(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("abc,admin,system:masters\n\nincomplete\n,nameless,none\n  def,agent,  \n")
    tokens = _authenticator(file)
    assert tokens.user(b"Bearer abc") == User("admin", ("system:masters",))
    assert tokens.user(b"bearer def").name == "agent"
    for wrong in (b"Bearer incomplete", b"Bearer ", b"Bearer abc,admin", b"", None):
        with pytest.raises(ApiError, match="Unauthorized"):
            tokens.user(wrong)


def test_without_tokens_in_the_file_every_request_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("\n")
    with pytest.raises(ApiError):
        _authenticator(file).user(b"Bearer ")
