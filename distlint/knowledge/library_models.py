"""Libraries whose models are known by what they have, beside what every torch module has."""

from __future__ import annotations

from typing import Final

_TIMM: Final = """
    act1 as_sequential attn_pool avgpool backbone blocks bn1 bn2 classifier cls_token conv1 conv_head conv_stem
    default_cfg depth dist_token distilled_training drop drop_rate dynamic_img_size embed_dim fc fc_norm feature_info
    feature_dim features forward_features forward_head forward_intermediates forward_pre_logits get_classifier
    get_intermediate_layers get_stages global_pool grad_checkpointing group_matcher has_class_token head head_dist
    head_drop head_hidden_size img_size in_chans layer1 layer2 layer3 layer4 layers load_pretrained mask_token maxpool
    model name neck no_embed_class no_weight_decay norm norm_pre num_classes num_features num_heads num_prefix_tokens
    num_reg_tokens num_stages output_stride out_indices patch_embed patch_size pool pos_drop pos_embed pretrained_cfg
    prune_intermediate_layers reg_token reset_classifier rope s1 set_distilled_training set_grad_checkpointing
    set_input_size stage1 stage2 stage3 stage4 stages stem
"""
"""timm 1.0.9 models/vision_transformer.py, resnet.py, efficientnet.py, convnext.py, swin_transformer.py, hrnet.py."""

_TORCHVISION: Final = """
    AuxLogits Conv2d_1a_3x3 Mixed_7c anchor_generator avgpool aux_classifier aux_logits backbone bn1 class_token classifier
    compute_loss conv1 conv_proj depth_head dropout encoder fc features forward_features groups head heads hidden_dim
    image_size inplanes layer1 layer2 layer3 layer4 maxpool mlp norm num_classes patch_size postprocess_detections
    proposal_generator relu representation_size roi_heads rpn score_thresh seq_length stem transform transform_input
"""
"""torchvision 0.20 models/resnet.py, vision_transformer.py, inception.py, detection/generalized_rcnn.py."""

ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "timm.": frozenset(_TIMM.split()),
    "torchvision.models.": frozenset(_TORCHVISION.split()),
}
"""What models have, by how the names of the functions begin that make them."""


def model_attributes(made_by: str) -> frozenset[str] | None:
    """What the models have that a function of a library makes; None where it is no such function."""
    return next((has for prefix, has in ATTRIBUTES.items() if made_by.startswith(prefix)), None)
