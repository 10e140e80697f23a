"""Trials: each side of a measurement lives in a child process of its own.

A plan that aborts, hangs or eats the memory costs its child and nothing else; two sessions never
share a process, so that the threads of one cannot disturb the timing of the other.
"""
