"""Synthetic results: one of each verdict, with the long formulas that real derivations have."""

from __future__ import annotations

from derive.result import (
    AxiomView,
    CounterexampleView,
    HypothesisView,
    Origin,
    Result,
    Source,
    StepView,
    TwinStatus,
    TwinView,
    Verdict,
)

D = r"d_{\text{model}}"
NOTE = "000_935e8c08fa86bec0.txt"
AGREES = TwinView(TwinStatus.AGREES, trials=200, max_error=3.6e-13, tolerance=1e-12)

RESIDUAL = Result(
    id="residual/gradient-plus-one",
    title="The residual connection adds $1$ to the gradient: $g(I + J)$",
    topic="residual_and_normalisation",
    source=Source(
        NOTE,
        ("A29", "A30"),
        "The derivative of $y = x + F(x)$ is said to be $1 + F'(x)$, so that “the gradient never "
        "vanishes”. In index form the upstream gradient $g_a$ is contracted with "
        r"$\delta_{ac} + J_{ac}$ where $J_{ac} = \partial F_a / \partial x_c$.",
    ),
    statement=(
        rf"\frac{{\partial L}}{{\partial x_c}} = \sum_{{a=0}}^{{{D}-1}} g_a \left(\delta_{{a c}} "
        rf"+ J_{{a c}}\right) = g_c + \sum_{{a=0}}^{{{D}-1}} g_a J_{{a c}}"
        r"\qquad \text{for all } 0 \le c < " + D
    ),
    verdict=Verdict.PROVED,
    expected=Verdict.PROVED,
    hypotheses=(
        HypothesisView(
            r"F \text{ is differentiable at } x", Origin.SOURCE, True, "holds off the ReLU's kinks"
        ),
        HypothesisView(rf"{D} \ge 1", Origin.SOURCE, False),
    ),
    steps=(
        StepView(
            rf"\frac{{\partial L}}{{\partial x_c}} = \sum_{{a=0}}^{{{D}-1}} "
            r"\frac{\partial L}{\partial y_a} \frac{\partial y_a}{\partial x_c}",
            "chain-rule",
            "Every output $y_a$ depends on $x_c$.",
        ),
        StepView(
            rf"\sum_{{a=0}}^{{{D}-1}} g_a \left(\delta_{{a c}} + J_{{a c}}\right) = "
            rf"\sum_{{a=0}}^{{{D}-1}} g_a \delta_{{a c}} + \sum_{{a=0}}^{{{D}-1}} g_a J_{{a c}}",
            "sum.linear",
            "A finite sum distributes over $+$; both bounds stay as they are.",
        ),
        StepView(
            rf"\sum_{{a=0}}^{{{D}-1}} g_a \delta_{{a c}} = g_c",
            "sum.delta_contraction_of_a_bound_index",
            rf"$0 \le c < {D}$, so exactly one term survives.",
        ),
        StepView(
            rf"\sum_{{a=0}}^{{{D}-1}} g_a \left(\delta_{{a c}} + J_{{a c}}\right) = "
            rf"g_c + \sum_{{a=0}}^{{{D}-1}} g_a J_{{a c}}",
            "transitivity",
            "From the two lines above.",
        ),
        StepView(
            r"\left(\frac{\partial L}{\partial x^{(0)}}\right)_c = \sum_{a_1=0}^{d-1} "
            r"\sum_{a_2=0}^{d-1} \cdots \sum_{a_L=0}^{d-1} g_{a_L} \left(\delta_{a_L a_{L-1}} + "
            r"J^{(L)}_{a_L a_{L-1}}\right) \left(\delta_{a_{L-1} a_{L-2}} + "
            r"J^{(L-1)}_{a_{L-1} a_{L-2}}\right) \cdots \left(\delta_{a_1 c} + "
            r"J^{(1)}_{a_1 c}\right)",
            "induction",
            "Over the number of layers $L$.",
        ),
        StepView(
            r"\sigma^2 = \frac{1}{d} \sum_{c=0}^{d-1} \left(x_c - \frac{1}{d} \sum_{b=0}^{d-1} x_b"
            r"\right)^{2} = \frac{1}{d} \sum_{c=0}^{d-1} x_c^{2} - \frac{2}{d^{2}} \sum_{c=0}^{d-1}"
            r" x_c \sum_{b=0}^{d-1} x_b + \frac{1}{d^{2}} \left(\sum_{b=0}^{d-1} x_b\right)^{2}"
            r" = \frac{1}{d} \sum_{c=0}^{d-1} x_c^{2} - \left(\frac{1}{d} \sum_{c=0}^{d-1} x_c"
            r"\right)^{2}",
            "ring",
            "Expand the square; $\\sum_b x_b$ does not depend on $c$.",
        ),
        StepView(
            r"\frac{\partial \hat{x}_a}{\partial x_c} = \frac{1}{\sqrt{\sigma^{2} + \varepsilon}} "
            r"\left(\delta_{a c} - \frac{1}{d} - \frac{\left(x_a - \mu\right) \left(x_c - "
            r"\mu\right)}{d \left(\sigma^{2} + \varepsilon\right)}\right)",
            "derivative.quotient",
            r"$\sigma^2 + \varepsilon > 0$, so the root is differentiable, and "
            r"$\partial \sigma^2 / \partial x_c = 2 (x_c - \mu) / d$ by the line above.",
        ),
        StepView(
            r"\operatorname{head}_i = \operatorname{softmax}\left(\frac{Q W_i^Q \left(K W_i^K"
            r"\right)^{\top}}{\sqrt{d_k}}\right) V W_i^V \in \mathbb{R}^{n \times d_v}",
            "shape",
            "The product of an $n \\times m$ and an $m \\times d_v$ matrix.",
        ),
        StepView(
            r"\left(x_{1} + x_{2} + x_{3} + x_{4} + x_{5} + x_{6} + x_{7} + x_{8} + x_{9} + x_{10}"
            r" + x_{11} + x_{12} + x_{13} + x_{14}\right)^{2} \ge 0",
            "order.square",
            "A square is not negative.",
        ),
        StepView(
            r"\frac{g_{0} J_{0 0} + g_{1} J_{1 0} + g_{2} J_{2 0} + g_{3} J_{3 0} + g_{4} J_{4 0} "
            r"+ g_{5} J_{5 0} + g_{6} J_{6 0} + g_{7} J_{7 0} + g_{8} J_{8 0} + g_{9} J_{9 0}}"
            r"{1 + \sigma^{2}} = 0",
            "rational",
            "A fraction too wide for its column takes the whole line.",
        ),
    ),
    axioms=(
        AxiomView(
            "chain-rule",
            "Rudin, Principles of Mathematical Analysis, theorem 9.15",
            r"\left(f \circ g\right)'(x) = f'\left(g(x)\right) g'(x)",
        ),
        AxiomView("derivative-table", "Any textbook of analysis; tested at $0$ and at $±1$"),
    ),
    replayed=True,
    twin=AGREES,
    remark="“Never vanishes” is a separate claim and false: take $J = -I$.",
    seconds_symbolic=0.41,
    seconds_numeric=0.07,
)

ROTATION = Result(
    id="positional-encoding/rotation",
    title=r"The shift by $k$ is a rotation that does not depend on the position",
    topic="positional_encoding",
    source=Source(NOTE, ("A19",), "$PE(p + k)$ is a linear function of $PE(p)$, for fixed $k$."),
    statement=(
        r"\begin{pmatrix} \sin \omega (p+k) \\ \cos \omega (p+k) \end{pmatrix} = "
        r"\begin{pmatrix} \cos \omega k & \sin \omega k \\ -\sin \omega k & \cos \omega k "
        r"\end{pmatrix} \begin{pmatrix} \sin \omega p \\ \cos \omega p \end{pmatrix}"
    ),
    verdict=Verdict.PROVED,
    expected=Verdict.PROVED,
    steps=(
        StepView(
            r"\sin{\left(\frac{p + k}{10000^{\frac{2 i}{d_{model}}}} \right)} = "
            r"\sin{\left(\frac{p}{10000^{\frac{2 i}{d_{model}}}} \right)} "
            r"\cos{\left(\frac{k}{10000^{\frac{2 i}{d_{model}}}} \right)} + "
            r"\cos{\left(\frac{p}{10000^{\frac{2 i}{d_{model}}}} \right)} "
            r"\sin{\left(\frac{k}{10000^{\frac{2 i}{d_{model}}}} \right)}",
            "trig.addition",
            "With the angle split as $ω p + ω k$.",
        ),
    ),
    axioms=(AxiomView("sin-addition", "DLMF 4.21.2"),),
    replayed=True,
    twin=AGREES,
)

HEADS = Result(
    id="multi-head/concat-width",
    title=rf"Concatenated heads have width ${D}$",
    topic="multi_head_attention",
    source=Source(
        "002_a5704eef18f0c1f0.txt", ("A01", "B08"), r"$h \cdot d_v = d$ because $d_v = ⌊d/h⌋$."
    ),
    statement=rf"h \left\lfloor \frac{{{D}}}{{h}} \right\rfloor = {D}",
    verdict=Verdict.CONDITIONAL,
    expected=Verdict.CONDITIONAL,
    hypotheses=(
        HypothesisView(r"h \ge 1", Origin.SOURCE, True),
        HypothesisView(rf"h \mid {D}", Origin.ADDED, True, "The source leaves it out."),
    ),
    steps=(
        StepView(rf"{D} = h q", "divides.unfold", "$h$ divides the width."),
        StepView(
            rf"h \left\lfloor \frac{{{D}}}{{h}} \right\rfloor = h \left\lfloor \frac{{h q}}{{h}} "
            rf"\right\rfloor = h \lfloor q \rfloor = h q = {D}",
            "ring",
            "$q$ is an integer.",
        ),
    ),
    counterexamples=(
        CounterexampleView(
            {"d_model": "10", "h": "3"},
            r"3 \left\lfloor \frac{10}{3} \right\rfloor = 9 \neq 10",
            breaks=rf"h \mid {D}",
        ),
    ),
    witness={"d_model": "12", "h": "4", "q": "3"},
    replayed=True,
    twin=TwinView(TwinStatus.AGREES, 40, 0.0, 0.0, "Integers, compared exactly."),
)

VANISHING = Result(
    id="residual/never-vanishes",
    title="With a residual connection the gradient never vanishes",
    topic="residual_and_normalisation",
    source=Source(NOTE, ("A31",), "Thanks to the “+1” the gradient cannot be 100% lost & never 0."),
    statement=r"g \neq 0 \implies g \left(I + J\right) \neq 0",
    verdict=Verdict.REFUTED,
    expected=Verdict.REFUTED,
    hypotheses=(HypothesisView(r"g \in \mathbb{R}^{1 \times d}", Origin.SOURCE, True),),
    counterexamples=(
        CounterexampleView(
            {"d": "2", "g": "[1, 1/2]", "J": "[[-1, 0], [0, -1]]", "F": "the map x ↦ −x"},
            r"g \left(I + J\right) = \left(1, \tfrac{1}{2}\right) \begin{pmatrix} 0 & 0 \\ 0 & 0 "
            r"\end{pmatrix} = \left(0, 0\right)",
        ),
    ),
    correction=(
        r"\lVert J \rVert < 1 \implies \lVert g \left(I + J\right) \rVert \ge \left(1 - "
        r"\lVert J \rVert\right) \lVert g \rVert"
    ),
    correction_steps=(
        StepView(
            r"\lVert g \left(I + J\right) \rVert = \lVert g + g J \rVert \ge \lVert g \rVert - "
            r"\lVert g J \rVert \ge \lVert g \rVert - \lVert g \rVert \lVert J \rVert",
            "order.triangle",
            "The reverse triangle inequality, then submultiplicativity.",
        ),
    ),
    replayed=True,
    twin=AGREES,
)

UNDECIDED = Result(
    id="attention/entropy",
    title="Attention entropy grows with $d_k$",
    topic="Scaled dot-product attention",
    source=Source("notes/b.txt", ("B12",), "Larger $d_k$ is said to give flatter weights."),
    statement=r"H\left(A_{t}\right) \text{ increases with } d_k",
    verdict=Verdict.UNDECIDED,
    expected=Verdict.PROVED,
    reason="The search ran over its time limit of 60 seconds.",
    twin=TwinView(TwinStatus.DISAGREES, 7, 0.25, 1e-9, "Seen at trial 3."),
)

METAPHOR = Result(
    id="history/eight-experts",
    title="Heads are like eight experts who look at one text",
    topic="Scaled dot-product attention",
    source=Source("notes/b.txt", ("B40", "B41"), "A comparison, naïve but helpful."),
    statement=r"\text{Each head attends to a different aspect of the text, as an expert would, "
    r"and together the heads see everything that matters for the next layer of the network}",
    verdict=Verdict.NOT_MATHEMATICAL,
    expected=Verdict.NOT_MATHEMATICAL,
    reason="A metaphor; nothing in it can be checked.",
    twin=TwinView(TwinStatus.NONE, reason="There is nothing to compute."),
)

ALL = (HEADS, ROTATION, RESIDUAL, VANISHING, UNDECIDED, METAPHOR)
SETTINGS = {"Command": "derive report", "Seed": "0", "Python": "3.11.7", "SymPy": "1.14.0"}
