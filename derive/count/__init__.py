"""Totals of real models: an architecture as a list of weight tensors, and what follows from it.

The lists are written in the kernel's own terms, so that counting needs neither SymPy nor NumPy.
Every closed form is computed from a list and then proved by the kernel; nothing is typed in twice.
"""
