"""A symbolic derivation verifier for Transformer mathematics.

`derive.language` is the vocabulary for statements, `derive.claim` the form of a claim,
`derive.kernel` decides what is true.  This module itself imports nothing, so that the checker
starts without SymPy.
"""
