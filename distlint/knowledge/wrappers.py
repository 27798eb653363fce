"""What wraps a model, what stays reachable through the wrapper, and what takes it off again."""

from typing import NamedTuple


class Wrapper(NamedTuple):
    """A class around a model."""

    kind: str
    """Short name, used by the other tables of this module."""
    title: str
    """What a message calls it."""
    classes: tuple[str, ...]
    """Qualified class names, for isinstance tests and constructors."""
    forwards: bool
    """Whether attributes that it does not have itself are read from the model."""
    in_place: bool
    """Whether the model itself changes its class, so that nothing has to be unwrapped."""
    inner: tuple[str, ...]
    """Attributes that hold the model."""
    own: frozenset[str]
    """Names that work on the wrapper itself, above those of torch.nn.Module."""
    forward_collective: bool
    """Whether calling it, or the backward of its result, is a collective."""
    sharded: bool
    """Whether parameters are sharded: then state_dict and generate are collectives too."""
    source: str
    """The lines that decide on `forwards` and `own`."""


class Wrap(NamedTuple):
    """A call that wraps."""

    name: str
    kind: str
    source: str
    model: int | str = 0
    """Position (or keyword) of the model; "each" where any positional argument may be one."""
    keyword: str = "module"
    """Keyword of the model."""
    result: str = "model"
    """"model": the wrapped model; "tuple": it is element `element`; "arguments": the arguments in
    their order, a single one bare; "function": a decorator or partial."""
    element: int = 0
    unless: str = ""
    """Keyword that, where it is true, leaves the model unwrapped."""
    trainable: bool = False
    """Whether DDP goes around a model only where one of its parameters requires grad."""


class Unwrap(NamedTuple):
    """A call that gives the model inside."""

    name: str
    source: str
    model: int = 0
    """Position of the wrapped model."""
    keyword: str = "model"
    context: bool = False
    """A context manager that binds the model inside."""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


MODULE_ATTRIBUTES: frozenset[str] = _names(
    """
    T_destination _apply _backward_hooks _backward_pre_hooks _buffers _call_impl
    _compiled_call_impl _forward_hooks _forward_hooks_always_called
    _forward_hooks_with_kwargs _forward_pre_hooks _forward_pre_hooks_with_kwargs
    _get_backward_hooks _get_backward_pre_hooks _get_name _is_full_backward_hook
    _load_from_state_dict _load_state_dict_post_hooks _load_state_dict_pre_hooks
    _maybe_warn_non_full_backward_hook _modules _named_members _non_persistent_buffers_set
    _parameters _register_load_state_dict_pre_hook _register_state_dict_hook
    _replicate_for_data_parallel _save_to_state_dict _slow_forward _state_dict_hooks
    _state_dict_pre_hooks _version _wrapped_call_impl add_module apply bfloat16 buffers
    call_super_init children compile cpu cuda double dump_patches eval extra_repr float
    forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict
    modules mtia named_buffers named_children named_modules named_parameters parameters
    register_backward_hook register_buffer register_forward_hook register_forward_pre_hook
    register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module
    register_parameter register_state_dict_post_hook register_state_dict_pre_hook
    requires_grad_ set_extra_state set_submodule share_memory state_dict to to_empty train
    training type xpu zero_grad
    """
)
"""torch.nn.Module's own names (dir() of the class and __dict__ of an instance, torch 2.13.0, without
dunders): they work on every wrapper."""

CONTAINERS: frozenset[str] = frozenset({
    "abc.ABC", "argparse.Namespace", "collections.OrderedDict", "collections.UserDict", "collections.defaultdict",
    "dict", "easydict.EasyDict", "list", "ml_collections.ConfigDict", "munch.Munch", "object",
    "omegaconf.DictConfig", "set", "tuple", "types.SimpleNamespace", "typing.Generic", "typing.NamedTuple",
    "typing.TypedDict",
})  # fmt: skip
"""Classes that are no `torch.nn.Module`, and of which a class may be that is none."""

_DDP = _names(
    """
    _accum_grad_hooks _active_ddp_module _assign_modules_buffers _authoritative_rank
    _bucket_config _build_debug_param_to_name_mapping _build_params_for_reducer
    _check_and_sync_module_buffers _check_comm_hook _check_default_group
    _check_global_requires_backward_grad_sync _check_reducer_finalized
    _check_sync_bufs_post_fwd _check_sync_bufs_pre_fwd _clear_grad_buffer _comm_hooks
    _ddp_init_helper _ddp_sink_clone _default_broadcast_coalesced
    _delay_all_reduce_all_params _delay_all_reduce_params _delay_grad_buffer
    _delay_grad_views _delayed_all_reduce_hook _distributed_broadcast_coalesced
    _distributed_rank _find_common_rank _fire_reducer_autograd_hook _get_active_ddp_module
    _get_data_parallel_params _get_ddp_logging_data _get_parameters _has_rebuilt_buckets
    _inside_ddp_forward _join_config _lazy_init _lazy_init_ran _log_and_throw
    _match_all_reduce_for_bwd_pass _match_unused_params_allreduce _module_parameters
    _module_wait_for_copy_hook _mp_stream _passing_sync_batchnorm_handle _post_forward
    _pre_forward _register_accum_grad_hook _register_buffer_comm_hook
    _register_builtin_comm_hook _register_delay_all_reduce_hook _register_fused_optim
    _remove_autograd_hooks _root_copy_hook _run_ddp_forward
    _set_ddp_runtime_logging_sample_rate _set_ddp_sink_clone
    _set_params_and_buffers_to_ignore_for_model _set_sparse_metadata _set_static_graph
    _setup_in_backward_optimizers _static_graph_delay_allreduce_enqueued _submodule_to_event
    _sync_buffers _sync_final_model _sync_module_buffers _update_process_group
    _use_python_reducer batched_grad_copy broadcast_bucket_size broadcast_buffers
    bucket_bytes_cap bucket_bytes_cap_default bucket_bytes_cap_list buffer_hook device
    device_ids device_mesh device_type dim find_unused_parameters forward_sync_buffers
    gather gradient_as_bucket_view is_multi_device_module join join_device join_hook
    join_process_group logger mixed_precision module modules_buffers named_module_buffers
    no_sync output_device parameters_to_ignore process_group reducer register_comm_hook
    require_backward_grad_sync require_forward_param_sync scatter
    skip_all_reduce_unused_params static_graph to_kwargs use_side_stream_for_tensor_copies
    will_sync_module_buffers
    """
)
_APEX = _names(
    """
    _backend _disable_allreduce _event_this_bucket _overflow_buf _stream_this_bucket active_i_buckets
    active_params allreduce_always_fp32 allreduce_bucket allreduce_communicators
    allreduce_different_streams allreduce_fallback allreduce_maybe_retain
    allreduce_trigger_params backend_enum_holder bucket_events bucket_pgs bucket_sizes
    bucket_streams buckets buckets_ready_size callback_queued comm_ready_buckets create_hooks
    custom_allreduce_triggers delay_allreduce disable_allreduce enable_allreduce grad_accs
    gradient_average gradient_predivide_factor main_stream message_size module
    multi_tensor_scale needs_refresh next_bucket num_allreduce_streams num_buckets
    param_id_to_active_i param_id_to_bucket param_type_to_tmp_i prof retain_allreduce_buffers
    sync_bucket_structure tmp_buckets tmp_numels warn_on_half world_size
    """
)
_DATA_PARALLEL = _names(
    """
    device_ids dim gather module output_device parallel_apply replicate scatter
    src_device_obj
    """
)
_FSDP1 = _names(
    """
    _assert_state _deregister_orig_params_ctx _device_mesh _flat_param _flat_param_handle
    _fsdp_wrapped_module _has_params _is_root _is_using_optim_input
    _low_precision_hook_enabled _mixed_precision_enabled_for_buffers _optim_state_dict_impl
    _optim_state_dict_to_load_impl _reset_lazy_init _unshard _unshard_event
    _use_training_state _wait_unshard_streams_on_current_stream
    _warn_legacy_optim_state_dict _warn_optim_input _zero_scalar check_is_root
    clip_grad_norm_ flatten_sharded_optim_state_dict fsdp_modules full_optim_state_dict
    get_state_dict_type module no_sync optim_state_dict optim_state_dict_to_load
    register_comm_hook rekey_optim_state_dict scatter_full_optim_state_dict
    set_state_dict_type shard_full_optim_state_dict sharded_optim_state_dict state_dict_type
    summon_full_params training_state
    """
)
_FSDP2 = _names(
    """
    _get_fsdp_state _orig_cls_mro_index _set_unshard_async_op reset_iter_state reshard
    set_all_reduce_hook set_allocate_memory_from_process_group_for_comm
    set_custom_all_gather set_custom_reduce_scatter set_force_sum_reduction_for_comms
    set_gradient_divide_factor set_is_last_backward set_modules_to_backward_prefetch
    set_modules_to_forward_prefetch set_post_optim_event set_reduce_scatter_divide_factor
    set_reduce_scatter_max_input_buffers set_reduce_scatter_unused_params
    set_requires_all_reduce set_requires_gradient_sync set_reshard_after_backward
    set_reshard_after_forward set_separate_reduce_scatter_group set_symm_mem_for_comm
    set_unshard_in_backward unshard
    """
)
_AVERAGED = _names(
    """
    avg_fn module multi_avg_fn n_averaged update_parameters use_buffers
    """
)
_COMPILED = _names(
    """
    _aot_compile _call_lazy_check _forward _initialize _load_aot_compiled_module
    _opt_mod_attributes _orig_mod _save_aot_compiled_module _super_module_initialized
    _torchdynamo_orig_callable dynamo_ctx get_compiler_config
    """
)
_FABRIC = _names(
    """
    _fabric_module_initialized _forward_methods _forward_module _original_module
    _redirection_through_forward _register_backward_hook _strategy
    _wrap_method_with_module_call_tracker mark_forward_method module
    """
)

_ENGINE = _names(
    """
    aio_config all_gather_scalar all_to_all_group allreduce_and_copy allreduce_bucket
    allreduce_gradients allreduce_no_retain autotp_size autotuning_enabled
    autotuning_end_profile_step autotuning_metric autotuning_metric_path
    autotuning_model_info autotuning_model_info_path autotuning_profile_model_info
    autotuning_start_profile_step backward basic_optimizer
    bf16_master_weights_and_gradients bf16_optimizer_states bfloat16_enabled
    buffered_allreduce_fallback checkpoint_engine checkpoint_mp_rank
    checkpoint_serialization_enabled checkpoint_tag_validation_enabled
    checkpoint_tag_validation_fail checkpoint_writer_enabled client_lr_scheduler
    client_optimizer clip_fp32_gradients coalesce_grad_reduction collate_fn
    collect_python_gc communication_data_type compile_autosp compile_autotp
    compile_zero_optimization_stage cpuadam_cores_perc curriculum_learning_config
    curriculum_learning_enabled data_efficiency_config data_efficiency_enabled
    data_parallel_group data_sampling_config data_sampling_enabled dataloader_drop_last
    deepspeed_io destroy device dist_backend dont_change_device dp_world_size dump_state
    dynamic_loss_scale dynamic_loss_scale_args empty_partition_cache
    enable_backward_allreduce engine_timers engine_timers_cache eval_batch
    expert_data_parallel_group expert_parallel_group first_dataloader_check flatten
    flops flops_profiler flops_profiler_detailed flops_profiler_enabled
    flops_profiler_module_depth flops_profiler_output_file flops_profiler_profile_step
    flops_profiler_recompute_fwd_factor flops_profiler_top_modules fp16_auto_cast
    fp16_enabled fp16_master_weights_and_gradients fwd_duration gate_modules
    get_additional_losses get_autosp_backend get_autotp_backend get_batch_info
    get_compile_time get_data_parallel_rank get_data_types get_deepcompile_backend
    get_deepspeed_compile_backend get_global_grad_norm get_lr get_model_parallel_rank
    get_mom get_optimizer_configuration get_pipeline_parallel_rank
    get_sequence_parallel_group get_tensor_parallel_rank get_type get_wall_clock_timers
    global_rank global_samples global_steps gradient_accumulation_steps gradient_average
    gradient_clipping gradient_predivide_factor has_moe_layers initial_dynamic_scale
    inside_no_sync_ctxt is_compiled is_deepcompile_active is_deepcompile_enabled
    is_first_stage is_first_weights_partition_group is_gradient_accumulation_boundary
    is_iterable_style_dataset is_last_stage is_map_style_dataset
    is_sanity_checks_enabled load_checkpoint load_module_state_dict load_moe_state_dict
    load_universal_checkpoint loaded_checkpoint_dp_world_size
    loaded_checkpoint_mp_world_size local_all_to_all_group local_rank log_for_device
    log_level loss_scale losses lr_scheduler managed_gradient_accumulation
    memory_breakdown mesh_device micro_steps module module_forward_post_hook
    module_forward_pre_hook module_state_dict moe_layers monitor mp_world_size mpu
    no_sync num_experts offload_states optimized_linear_base_weight_sharding
    optimized_linear_lora_enabled optimizer optimizer_legacy_fusion optimizer_name
    optimizer_params param_names pipeline_parallelism postscale_gradients
    print_forward_breakdown random_ltd_config random_ltd_enabled random_ltd_initialize
    random_ltd_scheduler register_compile_pass reload_states reset_activation_shape
    save_16bit_model save_checkpoint save_fp16_model save_non_zero_checkpoint
    save_zero_checkpoint scale scale_wrt_gas scheduler_name scheduler_params
    seq_data_parallel_group seq_dp_world_size seq_parallel_group sequence_parallel_size
    set_batch_fn set_custom_curriculum_learning_schedule set_data_post_process_func
    set_dataiterator set_dataloader set_gradient_accumulation_boundary
    set_has_attention_mask set_train_batch_size set_train_micro_batch_size skipped_steps
    sparse_all_gather sparse_allreduce sparse_allreduce_bucket
    sparse_allreduce_no_retain step steps_per_print summary_events super_offload
    swap_tensor_config tensor_parallel_config timers torch_autocast_dtype
    torch_autocast_enabled torch_autocast_lower_precision_safe_modules
    torch_autocast_z0_gradscaler tput_log tput_timer train_batch train_batch_size
    train_micro_batch_size_per_gpu training_data training_dataloader unflatten
    update_interval use_ds_comm use_node_local_storage uses_parallelization_pass_only
    wall_clock_breakdown warn_unscaled_loss was_step_applied world_size zenflow_config
    zero_allgather_bucket_size zero_allgather_partitions zero_allgather_sequential
    zero_allow_untested_optimizer zero_compute_grad_norm zero_contiguous_gradients
    zero_cpu_offload zero_elastic_checkpoint zero_force_ds_cpu_optimizer
    zero_gather_16bit_weights_on_model_save zero_hpz_partition_size
    zero_ignore_unused_parameters zero_legacy_stage1 zero_load_from_fp32_weights
    zero_log_trace_cache_warnings zero_max_live_parameters zero_max_reuse_distance
    zero_model_persistence_threshold zero_module_granularity_threshold
    zero_multi_rank_bucket_allreduce zero_nvme_offload_optimizer zero_offload_optimizer
    zero_offload_param zero_optimization zero_optimization_partition_gradients
    zero_optimization_partition_weights zero_optimization_stage zero_overlap_comm
    zero_param_persistence_threshold zero_parameter_alignment zero_partial_offload
    zero_prefetch_bucket_size zero_quantized_gradients
    zero_quantized_nontrainable_weights zero_quantized_weights zero_reduce_bucket_size
    zero_reduce_scatter zero_round_robin_gradients
    zero_save_muon_momentum_buffer_in_memory zero_sub_group_size zero_use_cpu_optimizer
    """
)

ENGINE_PLUGINS = frozenset({"deepspeed_plugin", "deepspeed_plugins", "fsdp_plugin"})
"""Arguments of an Accelerator that make each launch of several processes one of DeepSpeed or FSDP, and where its state
keeps them; that of a launch in DDP is None (accelerate 1.15.0 accelerate/accelerator.py:368, :397; state.py:1010)."""
ENGINE_ONLY: frozenset[str] = _names(
    """
    allreduce_gradients backward bfloat16_enabled eval_batch fp16_enabled get_global_grad_norm
    gradient_accumulation_steps is_gradient_accumulation_boundary load_checkpoint lr_scheduler
    no_sync optimizer random_ltd_enabled random_ltd_scheduler save_16bit_model save_checkpoint
    save_fp16_model set_gradient_accumulation_boundary step train_batch
    train_micro_batch_size_per_gpu was_step_applied zero_optimization
    zero_optimization_partition_weights zero_optimization_stage
    _consolidated_16bit_state_dict _load_zero_checkpoint _replace_module_consolidated_state_dict
    _save_zero_checkpoint _zero3_consolidated_16bit_state_dict load_module_state_dict module_state_dict
    """
) | {name for name in _ENGINE if name.startswith("zero_")}
"""Names of the DeepSpeed engine that models do not have: code which reads them has an engine there.

Source: deepspeed 0.19.8 deepspeed/runtime/engine.py, the private ones from line 4733 on.
"""

WRAPPERS: dict[str, Wrapper] = {
    row.kind: row
    for row in (
        Wrapper(
            "ddp",
            "DistributedDataParallel",
            ("torch.nn.parallel.DistributedDataParallel",),
            False,
            False,
            ("module",),
            _DDP,
            True,
            False,
            "torch 2.13.0 torch/nn/parallel/distributed.py:466",
            # defines no __getattr__
        ),
        Wrapper(
            "mm_ddp",
            "MMDistributedDataParallel",
            ("mmengine.model.MMDistributedDataParallel", "mmcv.parallel.MMDistributedDataParallel"),
            False,
            False,
            ("module",),
            _DDP | {"train_step", "val_step", "test_step", "detect_anomalous_params"},
            True,
            False,
            "mmengine 0.10.7 mmengine/model/wrappers/distributed.py:16",
        ),
        Wrapper(
            "apex_ddp",
            "DistributedDataParallel of apex",
            ("apex.parallel.DistributedDataParallel",),
            False,
            False,
            ("module",),
            _APEX,
            False,
            False,
            "apex 0.1 apex/parallel/distributed.py:129",
            # all-reduces in hooks of its backward; its forward broadcasts no buffers
        ),
        Wrapper(
            "dp",
            "DataParallel",
            ("torch.nn.parallel.DataParallel", "mmcv.parallel.MMDataParallel"),
            False,
            False,
            ("module",),
            _DATA_PARALLEL,
            False,
            False,
            "torch 2.13.0 torch/nn/parallel/data_parallel.py:54",
            # one process, several devices: no collective
        ),
        Wrapper(
            "fsdp1",
            "FullyShardedDataParallel",
            ("torch.distributed.fsdp.FullyShardedDataParallel",),
            True,
            False,
            ("module", "_fsdp_wrapped_module"),
            _FSDP1,
            True,
            True,
            "torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py:529",
            # setting an attribute sets it on the wrapper
        ),
        Wrapper(
            "fsdp2",
            "fully_shard",
            ("torch.distributed.fsdp.FSDPModule",),
            True,
            True,
            (),
            _FSDP2,
            True,
            True,
            "torch 2.13.0 torch/distributed/fsdp/_fully_shard/_fully_shard.py:318",
            # changes the class of the model in place
        ),
        Wrapper(
            "deepspeed",
            "DeepSpeedEngine",
            ("deepspeed.DeepSpeedEngine", "deepspeed.PipelineEngine"),
            True,
            False,
            ("module",),
            _ENGINE,
            True,
            True,
            "deepspeed 0.19.8 deepspeed/runtime/engine.py:1370",
            # `config` is the model's unless the engine has one of its own
        ),
        Wrapper(
            "compile",
            "torch.compile",
            ("torch._dynamo.OptimizedModule", "torch._dynamo.eval_frame.OptimizedModule"),
            True,
            False,
            ("_orig_mod",),
            _COMPILED,
            False,
            False,
            "torch 2.13.0 torch/_dynamo/eval_frame.py:597",
            # setting an attribute sets it on the model
        ),
        Wrapper(
            "fabric",
            "Fabric.setup",
            ("lightning.fabric.wrappers._FabricModule",),
            True,
            False,
            ("module",),
            _FABRIC,
            True,
            False,
            "pytorch-lightning 2.6.6 lightning_fabric/wrappers.py:244",
            # forwards to the model that was given to setup()
        ),
        Wrapper(
            "averaged",
            "AveragedModel",
            ("torch.optim.swa_utils.AveragedModel",),
            False,
            False,
            ("module",),
            _AVERAGED,
            False,
            False,
            "torch 2.13.0 torch/optim/swa_utils.py:165",
            # no __getattr__; an average of weights, not distributed
        ),
        Wrapper(
            "accelerate",
            "Accelerator.prepare",
            (),
            False,
            False,
            ("module",),
            _DDP,
            True,
            False,
            "accelerate 1.15.0 accelerate/accelerator.py:1770",
            # DDP, FSDP, DeepSpeed or the bare model, by launch configuration: only what DDP has
            # is safe
        ),
        Wrapper(
            "trainer",
            "Trainer's wrapped model",
            (),
            False,
            False,
            ("module",),
            _DDP,
            True,
            False,
            "transformers 5.23.0 transformers/trainer.py:1715",
            # DDP, FSDP, DeepSpeed or the bare model, by launch configuration
        ),
        Wrapper(
            "strategy",
            "Lightning's wrapped module",
            (),
            False,
            False,
            ("module",),
            _DDP,
            True,
            False,
            "pytorch-lightning 2.6.6 pytorch_lightning/strategies/ddp.py:195",
            # What the Trainer's strategy puts around its module: DDP, FSDP, an engine, or nothing on one device and
            # before `setup()`.
        ),
        Wrapper(
            "colossalai",
            "Booster.boost",
            ("colossalai.interface.ModelWrapper",),
            False,
            False,
            ("module",),
            frozenset({"module", "unwrap"}),
            True,
            True,
            "colossalai 0.5.0 colossalai/interface/model.py:102",
            # defines no __getattr__
        ),
        Wrapper(
            "megatron_ddp",
            "Megatron DistributedDataParallel",
            (
                "megatron.core.distributed.DistributedDataParallel",
                "megatron.core.distributed.TorchFullyShardedDataParallel",
            ),
            False,
            False,
            ("module",),
            frozenset(
                {
                    "module",
                    "config",
                    "ddp_config",
                    "no_sync",
                    "start_grad_sync",
                    "finish_grad_sync",
                    "zero_grad_buffer",
                    "broadcast_params",
                    "scale_gradients",
                }
            ),
            True,
            False,
            "megatron-core 0.19.2 megatron/core/distributed/data_parallel_base.py:11",
        ),
        Wrapper(
            "fairseq",
            "ModuleProxyWrapper",
            ("fairseq.distributed.ModuleProxyWrapper",),
            True,
            False,
            ("module",),
            frozenset(),
            True,
            False,
            "fairseq 0.12.2 fairseq/distributed/module_proxy_wrapper.py:34",
        ),
        Wrapper(
            "peft",
            "PeftModel",
            ("peft.PeftModel",),
            True,
            False,
            ("base_model",),
            frozenset(),
            False,
            False,
            "peft 0.21.2 peft/peft_model.py:979",
            # not distributed; `base_model.model` is the model
        ),
    )
}

SHARDED_BY_LAUNCH: frozenset[str] = frozenset({"accelerate", "trainer", "fabric"})
"""Kinds that stand for DDP or for a sharded model, as the launch configuration asks for."""

WRAPS: dict[str, Wrap] = {
    row.name: row
    for row in (
        Wrap(
            "torch.nn.parallel.DistributedDataParallel",
            "ddp",
            "torch 2.13.0 torch/nn/parallel/distributed.py:466",
        ),
        Wrap(
            "apex.parallel.DistributedDataParallel",
            "apex_ddp",
            "apex 0.1 apex/parallel/distributed.py:129",
        ),
        Wrap(
            "torch.nn.parallel.DataParallel",
            "dp",
            "torch 2.13.0 torch/nn/parallel/data_parallel.py:54",
        ),
        Wrap(
            "torch.distributed.fsdp.FullyShardedDataParallel",
            "fsdp1",
            "torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py:118",
        ),
        Wrap(
            "torch.distributed.fsdp.wrap.wrap",
            "fsdp1",
            "torch 2.13.0 torch/distributed/fsdp/wrap.py:436",
            # wraps only inside enable_wrap
        ),
        Wrap(
            "torch.distributed.fsdp.fully_shard",
            "fsdp2",
            "torch 2.13.0 torch/distributed/fsdp/_fully_shard/_fully_shard.py:98",
        ),
        Wrap(
            "torch.distributed._composable.replicate.replicate",
            "ddp",
            "torch 2.13.0 torch/distributed/_composable/replicate.py:182",
            # in place: attributes stay reachable
        ),
        Wrap(
            "torch.compile",
            "compile",
            "torch 2.13.0 torch/__init__.py:2609",
            keyword="model",
            # returns a function for a function
        ),
        Wrap(
            "torch.optim.swa_utils.AveragedModel",
            "averaged",
            "torch 2.13.0 torch/optim/swa_utils.py:165",
            keyword="model",
        ),
        Wrap(
            "accelerate.Accelerator.prepare",
            "accelerate",
            "accelerate 1.15.0 accelerate/accelerator.py:1415",
            model="each",
            keyword="",
            result="arguments",
            trainable=True,
            # asks for a parameter that requires grad at line 1888
        ),
        Wrap(
            "accelerate.Accelerator.prepare_model",
            "accelerate",
            "accelerate 1.15.0 accelerate/accelerator.py:1770",
            keyword="model",
            unless="evaluation_mode",
            trainable=True,
        ),
        Wrap(
            "deepspeed.initialize",
            "deepspeed",
            "deepspeed 0.19.8 deepspeed/__init__.py:433",
            model=1,
            keyword="model",
            result="tuple",
            element=0,
            # (engine, optimizer, data loader, scheduler)
        ),
        Wrap(
            "deepspeed.init_inference",
            "deepspeed",
            "deepspeed 0.19.8 deepspeed/__init__.py:671",
            keyword="model",
        ),
        Wrap(
            "lightning.fabric.Fabric.setup",
            "fabric",
            "pytorch-lightning 2.6.6 lightning_fabric/fabric.py:229",
            result="tuple",
            element=0,
            # bare where no optimizer is given
        ),
        Wrap(
            "lightning.fabric.Fabric.setup_module",
            "fabric",
            "pytorch-lightning 2.6.6 lightning_fabric/fabric.py:315",
        ),
        Wrap(
            "colossalai.booster.Booster.boost",
            "colossalai",
            "colossalai 0.5.0 colossalai/booster/booster.py:126",
            keyword="model",
            result="tuple",
            element=0,
            # (model, optimizer, criterion, data loader, scheduler)
        ),
        Wrap(
            "ignite.distributed.auto_model",
            "ddp",
            "pytorch-ignite 0.5.5 ignite/distributed/auto.py:144",
            keyword="model",
            # DDP, DataParallel or the bare model
        ),
        Wrap(
            "ray.train.torch.prepare_model",
            "ddp",
            "ray 2.60.0 ray/train/torch/train_loop_utils.py:159",
            keyword="model",
            # DDP or FSDP by parallel_strategy, the bare model with one worker
        ),
        Wrap(
            "mmengine.model.MMDistributedDataParallel",
            "mm_ddp",
            "mmengine 0.10.7 mmengine/model/wrappers/distributed.py:16",
        ),
        Wrap(
            "mmcv.parallel.MMDistributedDataParallel",
            "mm_ddp",
            "mmcv 1.7.2 mmcv/parallel/distributed.py:15",
        ),
        Wrap(
            "mmcv.parallel.MMDataParallel",
            "dp",
            "mmcv 1.7.2 mmcv/parallel/data_parallel.py:11",
        ),
        Wrap(
            "megatron.core.distributed.DistributedDataParallel",
            "megatron_ddp",
            "megatron-core 0.19.2 megatron/core/distributed/distributed_data_parallel.py:22",
            model=2,
        ),
        Wrap(
            "accelerate.utils.fsdp2_prepare_model",
            "fsdp2",
            "accelerate 1.15.0 accelerate/utils/fsdp_utils.py:751",
            model=1,
            keyword="model",
        ),
    )
}

WRAPPER_TESTS: dict[str, str] = {
    "mmcv.parallel.is_module_wrapper": "mmcv 1.7.2 mmcv/parallel/utils.py",
    "mmengine.model.is_model_wrapper": "mmengine 0.10.7 mmengine/model/wrappers/utils.py:7",
}
"""Calls that answer whether their first argument is a model in a wrapper, with their source."""

MODEL_ATTRIBUTES: dict[str, str] = {
    # transformers 5.23.0 trainer.py:1773 binds model_wrapped to what prepare() returned. self.model
    # stays bare under DDP and DeepSpeed; under FSDP it is the wrapped one too (1778), and FSDP1
    # forwards attributes: so self.model is not in this table.
    "transformers.Trainer.model_wrapped": "trainer",
    "transformers.Trainer.deepspeed": "deepspeed",
    "lightning.pytorch.strategies.DDPStrategy.model": "ddp",
    # pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1305: `self.strategy.model`, whichever that is.
    "lightning.pytorch.Trainer.model": "strategy",
}
"""Wrapper kind by attribute of a trainer that holds the wrapped model."""

MODEL_PARAMETERS: dict[str, tuple[str, str]] = {
    # transformers 5.23.0 trainer.py:2082 calls compute_loss(model, ...) with the wrapped model of the training loop.
    # prediction_step gets self.model, bare under DDP (evaluation_loop, trainer.py:2917), so it is
    # not in this table; compute_loss called from there gets the bare one.
    "transformers.Trainer.compute_loss": ("model", "trainer"),
    "transformers.Trainer.training_step": ("model", "trainer"),
}
"""By method that a subclass overrides: the parameter that receives a wrapped model, and its kind."""

UNWRAPS: dict[str, Unwrap] = {
    row.name: row
    for row in (
        Unwrap(
            "accelerate.Accelerator.unwrap_model",
            "accelerate 1.15.0 accelerate/accelerator.py:3254",
            # leaves DDP(compile(m)) wrapped, and rewrites compile(DDP(m))._orig_mod in place
        ),
        Unwrap(
            "accelerate.utils.extract_model_from_parallel",
            "accelerate 1.15.0 accelerate/utils/other.py:274",
        ),
        Unwrap(
            "transformers.modeling_utils.unwrap_model",
            "transformers 5.23.0 transformers/modeling_utils.py:5054",
        ),
        Unwrap(
            "transformers.trainer_utils.unwrap_peft_model",
            "transformers 5.23.0 transformers/trainer_utils.py:75",
            # takes off PEFT, not the distributed wrapper
        ),
        Unwrap(
            "trl.models.utils.unwrap_model_for_generation",
            "trl 1.16.0 trl/models/utils.py:202",
            context=True,
            # gathers under ZeRO-3
        ),
        Unwrap(
            "deepspeed.runtime.zero.unwrap_model_for_generation",
            "deepspeed 0.19.8 deepspeed/runtime/zero/stage3.py:95",
            context=True,
        ),
        Unwrap(
            "ultralytics.utils.torch_utils.unwrap_model",
            "ultralytics 8.4.190 ultralytics/utils/torch_utils.py:749",
            keyword="m",
        ),
        Unwrap("timm.utils.unwrap_model", "timm 1.0.31 timm/utils/model.py:15"),
        Unwrap(
            "megatron.core.utils.unwrap_model", "megatron-core 0.19.2 megatron/core/utils.py:2817"
        ),
        Unwrap(
            "verl.utils.megatron_utils.unwrap_model", "verl 0.9.1 verl/utils/megatron_utils.py:568"
        ),
        Unwrap(
            "nemo.utils.model_utils.unwrap_model",
            "nemo-toolkit 3.0.0 nemo/utils/model_utils.py:103",
        ),
        Unwrap(
            "open_clip_train.train.unwrap_model",
            "open-clip-torch 3.3.0 open_clip_train/train.py:50",
        ),
        Unwrap("distlint.runtime.unwrap", "distlint 0.1.0 distlint/runtime/wrapping.py"),
    )
}

ANY_UNWRAPS: frozenset[str] = frozenset(
    {
        "unwrap_model",
        "_unwrap_model",
        "unwrap",
        "de_parallel",
        "extract_model_from_parallel",
        "unwrap_ddp",
        "unwrap_module",
        "get_unwrapped_model",
        "unwrap_model_for_generation",
        "strip_ddp",
    }
)
"""Names of functions and methods that give the model inside, where they do not resolve."""

FROZEN_COPIES: dict[str, str] = {"ema_pytorch.EMA": "include_online_model"}
"""Modules that keep a copy of a model with detached parameters, and the model itself unless this argument is False
(ema-pytorch 03e75ca ema_pytorch/ema_pytorch.py: `detach_()` on each parameter of the copy). `prepare()` wraps no module
without a parameter that requires grad (accelerate 1.15.0 accelerate/accelerator.py:1888)."""

PREPARED_ATTRIBUTES: frozenset[str] = _names(
    """
    add_param_group base_lrs batch_sampler batch_size collate_fn dataset defaults drop_last
    generator get_last_lr get_lr last_epoch num_workers optimizer param_groups pin_memory sampler
    scheduler set_epoch state step total_batch_size total_dataset_length end_of_dataloader
    remainder dl_state_dict_state
    """
)
"""Names of data loaders, optimizers and schedulers, which `prepare()` takes and gives back too
(torch 2.13.0 torch/utils/data/dataloader.py, torch/optim/optimizer.py, torch/optim/lr_scheduler.py;
accelerate 1.15.0 accelerate/data_loader.py)."""

PARTS_OF_MODELS: frozenset[str] = _names("generator")
"""Names of them that a model's part may have as well, where only models are wrapped (CosyVoice
cosyvoice/utils/train_utils.py:148: `model.module.generator.parameters()`)."""

PARTED: frozenset[str] = _names("DistributedModelParallel DMPCollection")
"""What of torchrec keeps tables of embeddings in parts: `state_dict()` holds the `ShardedTensor`s of one rank (torchrec 1.2
torchrec/distributed/model_parallel.py)."""
OF_NO_MODEL: frozenset[str] = _names("load_state save_state")
"""Names of what `accelerate.Accelerator` does for a whole run, which no library's models have
(accelerate 1.15.0 accelerate/accelerator.py)."""

OF_ENGINES: frozenset[str] = _ENGINE - _names(
    """
    collate_fn destroy device flatten flops gate_modules get_type local_rank log_level losses module moe_layers monitor
    mpu num_experts param_names reset_activation_shape scale tensor_parallel_config timers training_data unflatten
    update_interval world_size
    """
)
"""Names of the DeepSpeed engine that no library's networks have: without those general enough for a network's own
(deepspeed 0.19.8 deepspeed/runtime/engine.py; no others are in transformers 5.23.0 or peft 0.21.2)."""

_NOT_TRAINING = (
    "add_", "delete_", "detokeniz", "disable_", "enable_", "from_", "generate", "get_", "gradient_checkpointing_",
    "init_", "is_", "load", "merge_", "num_", "prepare_inputs_for_generation", "print_", "push_", "reorder_cache",
    "resize_", "sample", "save", "set_", "tie_", "tokeniz", "unload", "unmerge_", "update_and_allocate",
    "update_model_kwargs_for_generation",
)  # fmt: skip

GETTERS: frozenset[str] = _names(
    """
    get_adapter_state_dict get_base_model get_buffer get_compiled_call get_correct_attn_implementation
    get_correct_experts_implementation get_decoder get_encoder get_expanded_tied_weights_keys get_experts_implementation
    get_extra_state get_init_context get_input_embeddings get_layer_status get_memory_footprint get_model_status
    get_nb_trainable_parameters get_output_embeddings get_parameter get_parameter_or_buffer get_position_embeddings
    get_prompt get_prompt_embedding_to_save get_submodule
    """
)
"""What libraries' models give without running (dir() of torch.nn.Module of torch 2.13.0, transformers.PreTrainedModel of
5.23.0 and peft.PeftModel of 0.21.2)."""


def trains_nothing(method: str) -> bool:
    """Whether a method's name says that no gradient flows through its result: `save_pretrained`,
    `generate`, `resize_token_embeddings`, `get_input_embeddings` (transformers 5.23.0
    transformers/modeling_utils.py, transformers/generation/utils.py; peft 0.21.2 peft/peft_model.py),
    `update_and_allocate`, which masks weights by gradients that are there (peft 0.21.2
    peft/tuners/adalora/model.py:328), and what every module has but `forward`."""
    of_module = method in MODULE_ATTRIBUTES and method != "forward"
    return of_module or method.lstrip("_").startswith(_NOT_TRAINING)


WITH_POOLER: frozenset[str] = frozenset(
    f"transformers.{name}"
    for name in (
        "AlbertModel", "BertModel", "BigBirdModel", "CamembertModel", "Data2VecTextModel", "ErnieModel",
        "IBertModel", "LayoutLMModel", "LongformerModel", "MPNetModel", "MegatronBertModel", "RemBertModel",
        "RobertaModel", "RobertaPreLayerNormModel", "XLMRobertaModel", "XLMRobertaXLModel", "XmodModel",
    )
)  # fmt: skip
"""Encoders with a layer behind the first token's state, which `add_pooling_layer=False` leaves out.

Source: transformers 5.23.0 models/*/modeling_*.py, `add_pooling_layer=True`."""
