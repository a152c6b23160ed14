"""WORLD 3: the scheduling loops on a simulated cluster and a virtual clock; a seed decides the order of everything."""
