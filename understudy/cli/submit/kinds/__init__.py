"""The kinds of job that can be submitted, one file each: the flags of the kind, and the object made of them."""
