"""The trusted part: terms, normal form, rules, axioms and the replay of proof logs.

Nothing here imports SymPy, NumPy or the rest of the package; `tests/kernel/test_imports.py`
walks the imports and fails otherwise.
"""
