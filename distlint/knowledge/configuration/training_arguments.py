"""The fields of transformers' TrainingArguments, of which its HfArgumentParser makes options.

Of transformers 3.5.1, 4.2.2, 4.10.3, 4.18.0, 4.25.1, 4.30.2, 4.36.2, 4.41.2, 4.46.3, 4.51.3, 4.57.3 and 5.23.0
(training_args.py, training_args_seq2seq.py): a project may have any of them. `model_parallel` is of 4.1.1 alone.
tests/launch/test_launch_commands.py compares with what is installed.
"""

from __future__ import annotations

_VALUES = """
    accelerator_config activation_checkpointing_kwargs adam_beta1 adam_beta2 adam_epsilon
    data_seed dataloader_multiprocessing_context dataloader_num_workers
    dataloader_prefetch_factor ddp_backend ddp_bucket_cap_mb ddp_timeout deepspeed
    eval_accumulation_steps eval_delay eval_steps eval_strategy evaluation_strategy fp16_backend
    fp16_opt_level fsdp_config fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap
    gradient_accumulation_steps gradient_checkpointing_kwargs half_precision_backend
    hub_model_id hub_revision hub_strategy hub_token label_smoothing_factor learning_rate
    length_column_name local_rank log_level log_level_replica logging_dir logging_steps
    logging_strategy lr_scheduler_kwargs lr_scheduler_type max_grad_norm max_steps
    metric_for_best_model mp_parameters neftune_noise_alpha num_train_epochs optim optim_args
    output_dir parallelism_config past_index per_device_eval_batch_size
    per_device_train_batch_size per_gpu_eval_batch_size per_gpu_train_batch_size project
    push_to_hub_model_id push_to_hub_organization push_to_hub_token ray_scope
    resume_from_checkpoint run_name save_steps save_strategy save_total_limit seed
    torch_compile_backend torch_compile_mode torch_empty_cache_steps torchdynamo tp_size
    tpu_num_cores trackio_bucket_id trackio_space_id trackio_static_space_id
    train_sampling_strategy warmup_ratio warmup_steps weight_decay xpu_backend
"""
"""One value in every version: an option without one is refused."""

_LOOSE = """
    _n_gpu activation_checkpointing adafactor auto_find_batch_size average_tokens_across_devices
    batch_eval_metrics bf16 bf16_full_eval dataloader_drop_last dataloader_in_order
    dataloader_persistent_workers dataloader_pin_memory ddp_broadcast_buffers
    ddp_find_unused_parameters ddp_static_graph debug disable_tqdm dispatch_batches do_eval
    do_predict do_train enable_jit_checkpoint eval_do_concat_batches eval_on_start
    eval_use_gather_object evaluate_during_training fp16 fp16_full_eval full_determinism
    gradient_checkpointing greater_is_better group_by_length hub_always_push hub_private_repo
    ignore_data_skip include_inputs_for_metrics include_num_input_tokens_seen
    include_tokens_per_second jit_mode_eval liger_kernel_config load_best_model_at_end
    log_on_each_node logging_first_step logging_nan_inf_filter model_parallel no_cuda overwrite_output_dir
    prediction_loss_only push_to_hub remove_unused_columns
    restore_callback_states_from_checkpoint save_on_each_node save_only_model save_safetensors
    sharded_ddp skip_memory_metrics split_batches tf32 torch_compile tpu_metrics_debug use_cache
    use_cpu use_ipex use_legacy_prediction_loop use_liger_kernel use_mps_device fsdp
    include_for_metrics label_names optim_target_modules report_to
"""
"""A value or none, or several, in some version."""

_SEQ2SEQ_VALUES = """
    generation_config generation_max_length generation_num_beams
"""
"""The same of those that Seq2SeqTrainingArguments adds."""

_SEQ2SEQ_LOOSE = """
    predict_with_generate sortish_sampler
"""
"""The same of those that Seq2SeqTrainingArguments adds."""

# class: (fields with one value, other fields)
FIELDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "transformers.TrainingArguments": (frozenset(_VALUES.split()), frozenset(_LOOSE.split())),
    "transformers.Seq2SeqTrainingArguments": (
        frozenset(f"{_VALUES} {_SEQ2SEQ_VALUES}".split()),
        frozenset(f"{_LOOSE} {_SEQ2SEQ_LOOSE}".split()),
    ),
}
"""By the class that a parser is given, or that one of the project derives from."""
