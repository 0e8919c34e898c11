"""The layers once more, as loops over scalars written down from their formulas.

Slow, and sharing no code with `numeric`: what the vectorised layers must agree with.
"""

import math

import numpy as np


def matrix_product(left, right):
    rows, inner, columns = len(left), len(right), len(right[0])
    return [
        [sum(left[t][a] * right[a][c] for a in range(inner)) for c in range(columns)]
        for t in range(rows)
    ]


def attention(queries, keys, values):
    n, m, d_k, d_v = len(queries), len(keys), len(queries[0]), len(values[0])
    output = np.zeros((n, d_v))
    for t in range(n):
        scores = [sum(queries[t][c] * keys[s][c] for c in range(d_k)) for s in range(m)]
        exponentials = [math.exp(score / math.sqrt(d_k)) for score in scores]
        for c in range(d_v):
            weighted = sum(exponentials[s] * values[s][c] for s in range(m))
            output[t, c] = weighted / sum(exponentials)
    return output


def affine(x, weight, bias):
    product = np.array(matrix_product(x, weight))
    return product if bias is None else product + np.array([bias] * len(x))


def multi_head(query_input, key_input, value_input, w):
    n, d_model = query_input.shape
    output = np.zeros((n, d_model))
    for i in range(w.h):
        biases = [None if b is None else b[i] for b in (w.b_q, w.b_k, w.b_v)]
        head = attention(
            affine(query_input, w.w_q[i], biases[0]),
            affine(key_input, w.w_k[i], biases[1]),
            affine(value_input, w.w_v[i], biases[2]),
        )
        for t in range(n):
            for a in range(d_model):
                for c in range(w.d_v):
                    output[t, a] += head[t, c] * w.w_o[i * w.d_v + c, a]
    return output if w.b_o is None else output + np.array([w.b_o] * n)


def feed_forward_token(x, w):
    """One token (d_model,), with absent biases read as 0."""
    b_1 = np.zeros(w.d_ff) if w.b_1 is None else w.b_1
    b_2 = np.zeros(w.d_model) if w.b_2 is None else w.b_2
    hidden = [
        max(0.0, sum(w.w_1[c, j] * x[c] for c in range(w.d_model)) + b_1[j]) for j in range(w.d_ff)
    ]
    return np.array(
        [sum(w.w_2[j, a] * hidden[j] for j in range(w.d_ff)) + b_2[a] for a in range(w.d_model)]
    )


def position_encoding(position, d_model):
    encoding = []
    for i in range(d_model // 2):
        angle = position / 10000 ** (2 * i / d_model)
        encoding += [math.sin(angle), math.cos(angle)]
    return np.array(encoding)
