"""Tests find every proof anew, and leave the user's folder of kept proofs alone."""

import os

os.environ["DERIVE_STORE"] = "off"
