"""The NumPy side: Transformer layers forward and backward, and what is needed to check them.

Pure functions in row convention (one token per row). `f_vjp` takes the arguments of `f` and a
cotangent of the output, and returns the gradients of the arguments. float64 unless given float32;
float16 is computed, and comes back, in float32.
"""

from numeric.activations import leaky_relu, leaky_relu_vjp, relu, relu_vjp
from numeric.attention import (
    attention_weights,
    grouped_query_attention,
    grouped_query_attention_vjp,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    scaled_scores,
    scaled_scores_vjp,
)
from numeric.feed_forward import feed_forward, feed_forward_vjp
from numeric.gradcheck import central_difference_error, complex_step_error, directional_error
from numeric.layer_weights import (
    DecoderLayerWeights,
    DecoderWeights,
    EncoderDecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    LayerNormWeights,
    RMSNormWeights,
)
from numeric.linear import linear, linear_vjp
from numeric.masks import apply_mask, boolean_mask, causal_mask, combine_masks, padding_mask
from numeric.moments import (
    ExactMoments,
    Moments,
    SampleMoments,
    exact_dot_moments,
    independent_dot_moments,
    rademacher_dot_moments,
    sample_dot_products,
    sample_moments,
)
from numeric.multi_head import (
    attention_heads,
    concat_heads,
    multi_head_attention,
    multi_head_attention_vjp,
    self_attention,
    self_attention_vjp,
    split_heads,
)
from numeric.normalization import (
    batch_norm,
    batch_norm_vjp,
    layer_norm,
    layer_norm_outside,
    layer_norm_outside_vjp,
    layer_norm_vjp,
    rms_norm,
    rms_norm_vjp,
)
from numeric.operations import count_attention, count_feed_forward
from numeric.optimizers import AdamState, adam_step, sgd_step
from numeric.positional import frequencies, position_encoding, position_encoding_vjp, shift_matrix
from numeric.residual import (
    Sublayer,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    residual,
    residual_stack,
    residual_stack_vjp,
    residual_vjp,
)
from numeric.softmax import (
    log_softmax,
    log_softmax_vjp,
    softmax,
    softmax_pullback,
    softmax_vjp,
)
from numeric.torch_weights import (
    decoder_from_torch,
    decoder_layer_from_torch,
    encoder_from_torch,
    encoder_layer_from_torch,
    layer_norm_from_torch,
    multi_head_from_torch,
    torch_state_dict,
    transformer_from_torch,
)
from numeric.trees import leaves, map_leaves
from numeric.weights import FeedForwardWeights, MultiHeadWeights, head_width

__all__ = [
    "AdamState",
    "DecoderLayerWeights",
    "DecoderWeights",
    "EncoderDecoderWeights",
    "EncoderLayerWeights",
    "EncoderWeights",
    "ExactMoments",
    "FeedForwardWeights",
    "LayerNormWeights",
    "Moments",
    "MultiHeadWeights",
    "RMSNormWeights",
    "SampleMoments",
    "Sublayer",
    "adam_step",
    "apply_mask",
    "attention_heads",
    "attention_weights",
    "batch_norm",
    "batch_norm_vjp",
    "boolean_mask",
    "causal_mask",
    "central_difference_error",
    "combine_masks",
    "complex_step_error",
    "concat_heads",
    "count_attention",
    "count_feed_forward",
    "decoder_from_torch",
    "decoder_layer_from_torch",
    "directional_error",
    "encoder_from_torch",
    "encoder_layer_from_torch",
    "exact_dot_moments",
    "feed_forward",
    "feed_forward_vjp",
    "frequencies",
    "grouped_query_attention",
    "grouped_query_attention_vjp",
    "head_width",
    "independent_dot_moments",
    "layer_norm",
    "layer_norm_from_torch",
    "layer_norm_outside",
    "layer_norm_outside_vjp",
    "layer_norm_vjp",
    "leaky_relu",
    "leaky_relu_vjp",
    "leaves",
    "linear",
    "linear_vjp",
    "log_softmax",
    "log_softmax_vjp",
    "map_leaves",
    "multi_head_attention",
    "multi_head_attention_vjp",
    "multi_head_from_torch",
    "padding_mask",
    "position_encoding",
    "position_encoding_vjp",
    "post_norm",
    "post_norm_vjp",
    "pre_norm",
    "pre_norm_vjp",
    "rademacher_dot_moments",
    "relu",
    "relu_vjp",
    "residual",
    "residual_stack",
    "residual_stack_vjp",
    "residual_vjp",
    "rms_norm",
    "rms_norm_vjp",
    "sample_dot_products",
    "sample_moments",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_vjp",
    "scaled_scores",
    "scaled_scores_vjp",
    "self_attention",
    "self_attention_vjp",
    "sgd_step",
    "shift_matrix",
    "softmax",
    "softmax_pullback",
    "softmax_vjp",
    "split_heads",
    "torch_state_dict",
    "transformer_from_torch",
]
