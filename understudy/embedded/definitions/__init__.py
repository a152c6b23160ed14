"""Definitions of the custom resources the embedded cluster brings along, a file each."""
