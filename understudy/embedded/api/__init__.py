"""The API as data and pure functions: what is served, and how requests and objects turn into answers."""
