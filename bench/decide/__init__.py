"""Times the deciding core: Kubernetes objects in, a plan out, at cluster sizes from a rack to a data centre."""
