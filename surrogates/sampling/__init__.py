"""Where samples are drawn: the sample space, designs of experiments, condyle coordinates."""
