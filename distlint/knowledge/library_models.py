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

_TRANSFORMERS: Final = """
    active_adapter active_adapters add_adapter add_model_tags add_weighted_adapter base_model base_model_prefix
    can_generate compute_transition_scores config decoder delete_adapter device device_map disable_adapter
    disable_adapters disable_input_require_grads dtype embeddings enable_adapters enable_input_require_grads encoder
    estimate_tokens floating_point_ops freeze_feature_encoder freeze_feature_extractor from_pretrained generate
    generation_config get_audio_features get_base_model get_decoder get_encoder get_image_features
    get_input_embeddings get_memory_footprint get_nb_trainable_parameters get_output_embeddings
    get_position_embeddings get_text_features gradient_checkpointing gradient_checkpointing_disable
    gradient_checkpointing_enable hf_device_map is_gradient_checkpointing is_loaded_in_4bit is_loaded_in_8bit
    is_parallelizable is_quantized language_model lm_head load_adapter logit_scale main_input_name merge_adapter
    merge_and_unload model_parallel modules_to_save name_or_path num_parameters peft_config peft_type
    post_init prepare_decoder_input_ids_from_labels prepare_inputs_for_generation pretrained_model
    print_trainable_parameters prune_heads push_to_hub resize_position_embeddings resize_token_embeddings
    save_pretrained set_adapter set_input_embeddings set_output_embeddings supports_gradient_checkpointing
    text_model text_projection tie_weights unload unmerge_adapter v_head vision_model visual_projection
    vision_tower warnings_issued
"""
"""transformers 5.23.0 modeling_utils.py, generation/utils.py, integrations/peft.py, models/clip/modeling_clip.py; peft
0.21.2 peft_model.py; trl 0.7.7 models/modeling_base.py."""

_DIFFUSERS: Final = """
    _set_gradient_checkpointing add_embedding attn_processors config conv_in device disable_gradient_checkpointing
    disable_xformers_memory_efficient_attention dtype enable_forward_chunking enable_gradient_checkpointing
    enable_slicing enable_tiling enable_xformers_memory_efficient_attention fuse_qkv_projections is_gradient_checkpointing
    num_parameters register_to_config save_config set_attention_slice set_attn_processor set_default_attn_processor
    set_use_memory_efficient_attention_xformers time_embedding
"""
"""diffusers 0.42.1 models/modeling_utils.py, models/unets/unet_2d_condition.py, configuration_utils.py."""

COMMON: Final = frozenset((_TRANSFORMERS + _DIFFUSERS).split())
"""What the models of transformers, diffusers, peft and trl have, by names that a program uses for no other object."""

ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "timm.": frozenset(_TIMM.split()),
    "torchvision.models.": frozenset(_TORCHVISION.split()),
}
"""What models have, by how the names of the functions begin that make them."""


def model_attributes(made_by: str) -> frozenset[str] | None:
    """What the models have that a function of a library makes; None where it is no such function."""
    return next((has for prefix, has in ATTRIBUTES.items() if made_by.startswith(prefix)), None)
