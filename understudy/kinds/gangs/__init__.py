"""Forms the gang of a job from its outline and its observed pods."""
