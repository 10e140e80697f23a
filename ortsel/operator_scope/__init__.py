"""Deciding about attention by itself, so that a whole model need not be run for each way of it.

Attention is cut out of the model with the values that enter it, and its variants are raced as
those of a model are: the same engine, the same trials, the same suspicion. What lost there is not
tried on the whole model.
"""
