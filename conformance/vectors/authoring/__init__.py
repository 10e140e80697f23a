"""Where vectors are thought up: each module makes those of one area."""
