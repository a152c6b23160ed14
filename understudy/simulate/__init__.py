"""WORLD 3: the loops of both other worlds on a simulated cluster and a virtual clock, all ordered by one seed."""
