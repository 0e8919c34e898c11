"""What the notes say that is no mathematics: history, metaphor, headings, asides.

These are listed so that every place of the notes has an answer.  Where such a passage stands
beside something that can be proved, the reason names the claim that proves it.
"""

from __future__ import annotations

from derive.claim import Claim
from derive.claims import DERIVATIONS, INTERVIEW
from derive.result import Source, Verdict

ORDER = 90
TOPIC = "remarks"


def remark(name: str, title: str, document: str, place: str, says: str, reason: str) -> Claim:
    return Claim(
        id=f"remarks/{name}",
        title=title,
        source=Source(document, (place,), says),
        reason=reason,
        expected=Verdict.NOT_MATHEMATICAL,
    )


CLAIMS = (
    remark(
        "pre-norm-history", "Which models use Pre-LN", DERIVATIONS, "A35",
        "Pre-LN is called the standard of modern language models, used by nearly all of them since "
        "GPT-2.",
        "This is history. What Pre-LN does to gradients can be proved (`norm-placement/*`). GPT-2 "
        "itself has Pre-LN, and many later models have other norms, or norms in other places.",
    ),
    remark(
        "complete-derivations", "Headings that promise complete derivations", DERIVATIONS, "A36",
        "Two headings announce complete derivations, of multi-head attention and of the core "
        "components of the Transformer.",
        "A heading is no statement. The derivations are not complete: attention is used but never "
        "defined, with neither softmax nor mask nor the division by a root, and the uniqueness of "
        "position encodings is stated without proof (`positional-encoding/unique` has one).",
    ),
    remark(
        "disagreement", "How heads settle disagreement", INTERVIEW, "B09",
        "It is asked what each head attends to. The answer: the model decides by more context and "
        "by the joint opinion of the other heads, and takes the more common reading otherwise.",
        "A metaphor. There is no vote: the layer adds up a fixed linear map of each head "
        "(`multi-head/*`), with weights that do not depend on the input.",
    ),
    remark(
        "metaphors", "Parliament, science, brain", INTERVIEW, "B12",
        "Heads are compared to parties in a parliament, to competing hypotheses, and to areas of a "
        "brain.",
        "Metaphors.",
    ),
    remark(
        "angles", "Views from different angles", INTERVIEW, "B43",
        "Each head is said to look at the input from another angle.",
        "A metaphor. What stands behind it: the heads have matrices of their own, and nothing in "
        "the layer forces these to differ (`multi-head/*` says what follows if they do not).",
    ),
    remark(
        "digesting", "Digesting information", INTERVIEW, "B47",
        "The FFN is said to digest the context that attention has gathered into representations of "
        "a higher kind.",
        "A metaphor. What the FFN computes, position by position, is the subject of "
        "`feed-forward/*`.",
    ),
    remark(
        "missing-figure", "A figure that is not there", INTERVIEW, "B27",
        "A figure, in which $X$ is the original input, and the core formula of the FFN are "
        "referred to; the text has neither.",
        "There is no statement to check. If $X$ were the input of the whole block, that would not "
        "be what the FFN reads (`feed-forward/*`).",
    ),
    remark(
        "asides", "Links, questions and asides", INTERVIEW, "B46",
        "Links to other pages, questions in an interview, and remarks on how hard something is to "
        "understand.",
        "These claim nothing.",
    ),
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
