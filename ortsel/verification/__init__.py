"""Whether a plan's outputs are the reference's, decided on the CPU in float64."""
