"""What is put together while claims are settled, as templates: a result holds it as plain text.

The report finds the template that a text was made from, and says it in another language.  What a
field holds, such as the message of an exception, is looked up in turn or stays as it is.
"""

from __future__ import annotations

from typing import Final

from derive.messages import mark

TEMPLATES: Final = (
    # derive/runner.py
    mark("the proof script {why}"),
    mark("the numeric twin {why}"),
    mark("the twin {why}"),
    mark("ran over the claim's time limit of {limit} s"),
    mark("ended its process with status {status}"),
    mark("raised {error}"),
    mark("its proof log does not replay: there is no {kind} in it"),
    mark("its proof log does not replay: {why}"),
    mark("it shows a {kind}, not a {other}"),
    mark("it is the {kind} of another goal"),
    mark("it uses the axiom {name}, which is not listed"),
    # derive/verify.py
    mark("{name} and {other} are both printed as {form}"),
    mark("this notation is more than a definition: {formula}"),
    mark("the proof script proves {formula}, which is not the statement {statement}"),
    mark("the proof assumes {formulas}"),
    mark("not shown to be defined: {error}"),
    mark("the example proves {formula}, not {goal}"),
    # derive/search.py
    mark("no proof found of {formula}; left over: {rest}"),
    # derive/twin.py
    mark("{what}: error {error} > {limit} standard errors"),
    mark("{what}: error {error} > {limit}"),
    mark("{what}: shapes {shape} and {other}"),
    # derive/certify/coverage.py
    mark("a step of its {kind} is not accepted in Coq"),
    # derive/certify/deep.py, encode.py
    mark("there is no {part} on the Coq side"),
    mark("the rule {name} has no counterpart in Coq yet"),
    mark("the axiom {name} is not proved in Coq"),
    mark("a gradient by a tensor with {number} indices"),
)

#: The same without a field.
SENTENCES: Final = (
    mark("the twin made no comparison"),
    mark("not finished within the time limit"),
    mark("its proof logs, goals and kinds do not belong together"),
    mark("the letter stands for such numbers only"),
    mark("suppose this"),
    mark("only the numbers are mistaken"),
    mark("the checker ran over the time limit"),
    mark("there is no proof log to certify"),
    mark("a function of matrices"),
    mark("a function of several vectors"),
    mark("a random function of vectors"),
    mark("differentiability in one of several vectors"),
)
