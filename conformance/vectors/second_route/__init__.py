"""A second way to every figure: written apart from the reference model, and importing none of it.

Values are plain JSON here. What both ways say alike may still be wrong, but not by one slip.
"""
