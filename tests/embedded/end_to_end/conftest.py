"""What end-to-end tests share."""

from tests.embedded.shared_cluster import shared

__all__ = ["shared"]
