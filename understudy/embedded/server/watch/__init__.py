"""Watch streams: stored events filtered, encoded and sent."""
