"""HTTP: request targets, bodies, responses, WebSockets, and limits on connections."""
