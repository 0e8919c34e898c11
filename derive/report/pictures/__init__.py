"""The pictures of the report: what they show (`curves.py`, NumPy) and how it is drawn."""
