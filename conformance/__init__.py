"""The conformance suite: rules of the reference model as tests for any implementation."""
