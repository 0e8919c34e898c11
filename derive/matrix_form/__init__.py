"""Index sums in matrix form: ``Sum_s A[t, s] V[s, c]`` as ``A V``.

`recognising` reads a term as a network of entries and contracts it, `formulas` does so on both
sides of a relation or gradient, and takes a form only if its entries, written out again by `forms`,
have the normal form of the term that it stands for.
"""

from derive.matrix_form.formulas import matrix_latex

__all__ = ["matrix_latex"]
