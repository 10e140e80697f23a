"""The folder that `ortsel exec` puts in front of a program's module path; no package to import."""
