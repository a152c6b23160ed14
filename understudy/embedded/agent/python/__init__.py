"""The Python of pods: an interpreter of the user, with a layer of packages that pods may change."""
