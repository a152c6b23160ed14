"""Benchmarks: each package times one part of Understudy on clusters it makes up itself."""
