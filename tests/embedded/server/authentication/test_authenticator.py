"""Tokens as they lie in the cluster's folder."""

from pathlib import Path

import pytest

from understudy.embedded.schema.errors import ApiError
from understudy.embedded.server.authentication.authenticator import TokenFile, User


def test_tokens_are_read_from_lines(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("abc,admin,system:masters\n\nincomplete\n,nobody,none\n  def,agent,  \n")
    tokens = TokenFile.read(file)
    assert tokens.user(b"Bearer abc") == User("admin", ("system:masters",))
    assert tokens.user(b"bearer def").name == "agent"
    for wrong in (b"Bearer incomplete", b"Bearer ", b"Bearer abc,admin", b"", None):
        with pytest.raises(ApiError, match="Unauthorized"):
            tokens.user(wrong)


def test_a_file_without_tokens_lets_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("\n")
    with pytest.raises(ApiError):
        TokenFile.read(file).user(b"Bearer ")
