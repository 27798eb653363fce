"""What tells a process its rank: functions, attributes, environment variables, decorators.

Kinds are the literals of `knowledge.schema.Kind`.
"""

from __future__ import annotations

from typing import Final

from distlint.knowledge.schema import Kind, RankFact

_FUNCTION_ROWS: tuple[RankFact, ...] = (
    RankFact(
        "mpi4py.MPI.COMM_WORLD.Get_rank",
        "rank",
        source="mpi4py 4.1.1 mpi4py/MPI.src/Comm.pyx:105",
    ),
    RankFact(
        "mpi4py.MPI.COMM_WORLD.Get_size",
        "world_size",
        source="mpi4py 4.1.1 mpi4py/MPI.src/Comm.pyx:92",
    ),
    RankFact("horovod.torch.rank", "rank", source="horovod 0.28.1 horovod/torch/mpi_ops.py:51"),
    RankFact(
        "horovod.torch.local_rank",
        "local_rank",
        source="horovod 0.28.1 horovod/torch/mpi_ops.py:52",
    ),
    RankFact(
        "horovod.torch.size", "world_size", source="horovod 0.28.1 horovod/torch/mpi_ops.py:48"
    ),
    RankFact(
        "torch.distributed.get_rank",
        "rank",
        group=0,
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:2552",
    ),
    RankFact(
        "torch.distributed.get_world_size",
        "world_size",
        group=0,
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:2579",
    ),
    RankFact(
        "torch.distributed.get_node_local_rank",
        "local_rank",
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:1563",
    ),
    RankFact(
        "torch.distributed.get_group_rank",
        "group_rank",
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:1111",
        # the place of the given global rank in a group
    ),
    RankFact(
        "torch.distributed.get_global_rank",
        "not_rank",
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:1139",
        # translates the given group rank; says nothing of the caller
    ),
    RankFact(
        "torch.distributed.is_initialized",
        "initialized",
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:1394",
    ),
    RankFact(
        "torch.distributed.is_available",
        "initialized",
        source="torch 2.13.0 torch/distributed/__init__.py:17",
    ),
    RankFact(
        "torch.distributed.is_torchelastic_launched",
        "initialized",
        source="torch 2.13.0 torch/distributed/distributed_c10d.py:1399",
    ),
    RankFact(
        "torch.distributed.device_mesh.DeviceMesh.get_rank",
        "rank",
        source="torch 2.13.0 torch/distributed/device_mesh.py:1163",
    ),
    RankFact(
        "torch.distributed.device_mesh.DeviceMesh.get_local_rank",
        "group_rank",
        source="torch 2.13.0 torch/distributed/device_mesh.py:1169",
        # the index in one dimension of the mesh, not the local rank of the machine
    ),
    RankFact(
        "torch.distributed.device_mesh.DeviceMesh.get_coordinate",
        "group_rank",
        source="torch 2.13.0 torch/distributed/device_mesh.py:1232",
    ),
    RankFact(
        "torch.distributed.device_mesh.DeviceMesh.size",
        "group_size",
        source="torch 2.13.0 torch/distributed/device_mesh.py:1150",
    ),
    RankFact(
        "torch.distributed.ProcessGroup.rank",
        "group_rank",
        source="torch 2.13.0 torch/_C/_distributed_c10d.pyi:342",
    ),
    RankFact(
        "torch.distributed.ProcessGroup.size",
        "group_size",
        source="torch 2.13.0 torch/_C/_distributed_c10d.pyi:343",
    ),
    RankFact(
        "accelerate.state.is_initialized",
        "not_rank",
        source="accelerate 1.15.0 accelerate/state.py:78",
        # whether an Accelerator exists, in one process too
    ),
    RankFact(
        "transformers.Trainer.is_world_process_zero",
        "is_main",
        source="transformers 5.23.0 transformers/trainer.py:4739",
    ),
    RankFact(
        "transformers.Trainer.is_local_process_zero",
        "is_local_main",
        source="transformers 5.23.0 transformers/trainer.py:4732",
    ),
    RankFact(
        "transformers.trainer_utils.is_main_process",
        "is_local_main",
        source="transformers 5.23.0 transformers/trainer_utils.py:504",
        # tests the local rank that it is given
    ),
    RankFact(
        "transformers.integrations.deepspeed.is_deepspeed_zero3_enabled",
        "zero3",
        source="transformers 5.23.0 transformers/integrations/deepspeed.py:284",
    ),
    RankFact(
        "transformers.distributed.fsdp.is_fsdp_enabled",
        "sharded_mode",
        source="transformers 5.23.0 transformers/distributed/fsdp.py:45",
    ),
    RankFact(
        "transformers.distributed.fsdp.is_fsdp_managed_module",
        "sharded_mode",
        source="transformers 5.23.0 transformers/distributed/fsdp.py:54",
    ),
    RankFact(
        "peft.utils.integrations.check_deepspeed_zero3_enabled",
        "zero3",
        source="peft 0.21.2 peft/utils/integrations.py:52",
    ),
    RankFact(
        "deepspeed.DeepSpeedEngine.zero_optimization_partition_weights",
        "zero3",
        source="deepspeed 0.19.8 deepspeed/runtime/engine.py:1618",
    ),
    RankFact(
        "deepspeed.comm.get_rank",
        "rank",
        group=0,
        source="deepspeed 0.19.8 deepspeed/comm/comm.py:761",
    ),
    RankFact(
        "deepspeed.comm.get_world_size",
        "world_size",
        group=0,
        source="deepspeed 0.19.8 deepspeed/comm/comm.py:744",
    ),
    RankFact(
        "deepspeed.comm.get_local_rank",
        "local_rank",
        source="deepspeed 0.19.8 deepspeed/comm/comm.py:781",
    ),
    RankFact(
        "deepspeed.comm.is_initialized",
        "initialized",
        source="deepspeed 0.19.8 deepspeed/comm/comm.py:179",
    ),
    RankFact(
        "deepspeed.comm.utils.get_local_rank_from_launcher",
        "local_rank",
        source="deepspeed 0.19.8 deepspeed/comm/utils.py:11",
    ),
    RankFact(
        "deepspeed.comm.utils.get_world_rank_from_launcher",
        "rank",
        source="deepspeed 0.19.8 deepspeed/comm/utils.py:26",
    ),
    RankFact(
        "deepspeed.comm.utils.get_world_size_from_launcher",
        "world_size",
        source="deepspeed 0.19.8 deepspeed/comm/utils.py:41",
    ),
    RankFact(
        "deepspeed.PipelineEngine.is_first_stage",
        "group_rank",
        source="deepspeed 0.19.8 deepspeed/runtime/pipe/engine.py:510",
    ),
    RankFact(
        "deepspeed.PipelineEngine.is_last_stage",
        "group_rank",
        source="deepspeed 0.19.8 deepspeed/runtime/pipe/engine.py:514",
    ),
    RankFact(
        "composer.utils.dist.get_global_rank",
        "rank",
        group=0,
        source="mosaicml 0.32.1 composer/utils/dist.py:226",
    ),
    RankFact(
        "composer.utils.dist.get_local_rank",
        "local_rank",
        source="mosaicml 0.32.1 composer/utils/dist.py:254",
    ),
    RankFact(
        "composer.utils.dist.get_node_rank",
        "node_rank",
        source="mosaicml 0.32.1 composer/utils/dist.py:263",
    ),
    RankFact(
        "composer.utils.dist.get_world_size",
        "world_size",
        source="mosaicml 0.32.1 composer/utils/dist.py:212",
    ),
    RankFact(
        "composer.utils.dist.get_local_world_size",
        "local_world_size",
        source="mosaicml 0.32.1 composer/utils/dist.py:245",
    ),
    RankFact(
        "composer.utils.dist.is_initialized",
        "initialized",
        source="mosaicml 0.32.1 composer/utils/dist.py:490",
    ),
    RankFact(
        "mmengine.dist.get_rank",
        "rank",
        group=0,
        source="mmengine 0.10.7 mmengine/dist/utils.py:317",
    ),
    RankFact(
        "mmengine.dist.get_world_size",
        "world_size",
        group=0,
        source="mmengine 0.10.7 mmengine/dist/utils.py:292",
    ),
    RankFact(
        "mmengine.dist.get_local_rank",
        "local_rank",
        source="mmengine 0.10.7 mmengine/dist/utils.py:363",
    ),
    RankFact(
        "mmengine.dist.get_local_size",
        "local_world_size",
        source="mmengine 0.10.7 mmengine/dist/utils.py:346",
    ),
    RankFact(
        "mmengine.dist.is_main_process",
        "is_main",
        group=0,
        source="mmengine 0.10.7 mmengine/dist/utils.py:400",
    ),
    RankFact(
        "mmengine.dist.is_distributed",
        "initialized",
        source="mmengine 0.10.7 mmengine/dist/utils.py:22",
    ),
    RankFact(
        "ignite.distributed.get_rank",
        "rank",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:152",
    ),
    RankFact(
        "ignite.distributed.get_local_rank",
        "local_rank",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:160",
    ),
    RankFact(
        "ignite.distributed.get_world_size",
        "world_size",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:144",
    ),
    RankFact(
        "ignite.distributed.get_nproc_per_node",
        "local_world_size",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:169",
    ),
    RankFact(
        "ignite.distributed.get_node_rank",
        "node_rank",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:189",
    ),
    RankFact(
        "torchtune.training.is_distributed",
        "initialized",
        source="torchtune 0.6.1 torchtune/training/_distributed.py:55",
    ),
    RankFact(
        "torchtune.utils._device._get_local_rank",
        "local_rank",
        source="torchtune 0.6.1 torchtune/utils/_device.py:50",
    ),
    RankFact(
        "ray.train.TrainContext.get_world_rank", "rank", source="ray 2.60.0 ray/train/context.py:51"
    ),
    RankFact(
        "ray.train.TrainContext.get_local_rank",
        "local_rank",
        source="ray 2.60.0 ray/train/context.py:55",
    ),
    RankFact(
        "ray.train.TrainContext.get_world_size",
        "world_size",
        source="ray 2.60.0 ray/train/context.py:47",
    ),
    RankFact(
        "ray.train.TrainContext.get_local_world_size",
        "local_world_size",
        source="ray 2.60.0 ray/train/context.py:59",
    ),
    RankFact(
        "ray.train.TrainContext.get_node_rank",
        "node_rank",
        source="ray 2.60.0 ray/train/context.py:63",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.is_master",
        "is_main",
        group=0,
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:69",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.is_node_master",
        "is_local_main",
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:82",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.is_last_process",
        "is_last",
        group=0,
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:92",
    ),
    RankFact("timm.utils.is_primary", "is_main", source="timm 1.0.31 timm/utils/distributed.py:45"),
    RankFact(
        "timm.utils.is_global_primary", "is_main", source="timm 1.0.31 timm/utils/distributed.py:37"
    ),
    RankFact(
        "timm.utils.is_local_primary",
        "is_local_main",
        source="timm 1.0.31 timm/utils/distributed.py:41",
    ),
    RankFact(
        "timm.utils.is_distributed_env",
        "initialized",
        source="timm 1.0.31 timm/utils/distributed.py:49",
    ),
    RankFact(
        "open_clip_train.distributed.is_master",
        "is_main",
        source="open-clip-torch 3.3.0 open_clip_train/distributed.py:22",
        # the local main process where local=True
    ),
    RankFact(
        "open_clip_train.distributed.is_global_master",
        "is_main",
        source="open-clip-torch 3.3.0 open_clip_train/distributed.py:14",
    ),
    RankFact(
        "open_clip_train.distributed.is_local_master",
        "is_local_main",
        source="open-clip-torch 3.3.0 open_clip_train/distributed.py:18",
    ),
    RankFact(
        "open_clip_train.distributed.is_using_distributed",
        "initialized",
        source="open-clip-torch 3.3.0 open_clip_train/distributed.py:65",
    ),
    RankFact(
        "speechbrain.utils.distributed.get_rank",
        "rank",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:40",
    ),
    RankFact(
        "speechbrain.utils.distributed.get_local_rank",
        "local_rank",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:62",
    ),
    RankFact(
        "speechbrain.utils.distributed.if_main_process",
        "is_main",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:255",
    ),
    RankFact(
        "speechbrain.utils.distributed.is_local_rank_zero",
        "is_local_main",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:260",
    ),
    RankFact(
        "speechbrain.utils.distributed.is_distributed_initialized",
        "initialized",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:245",
    ),
    RankFact(
        "fairseq.distributed.utils.is_master",
        "is_main",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:42",
    ),
    RankFact(
        "fairseq.distributed.utils.get_rank",
        "group_rank",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:399",
        # its group argument is required
    ),
    RankFact(
        "fairseq.distributed.utils.get_global_rank",
        "rank",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:432",
    ),
    RankFact(
        "fairseq.distributed.utils.get_global_world_size",
        "world_size",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:441",
    ),
    RankFact(
        "fairseq.distributed.utils.get_data_parallel_rank",
        "group_rank",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:461",
    ),
    RankFact(
        "fairseq.distributed.utils.get_data_parallel_world_size",
        "group_size",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:466",
    ),
    RankFact(
        "fairseq.distributed.utils.get_model_parallel_rank",
        "group_rank",
        source="fairseq 0.12.2 fairseq/distributed/utils.py:481",
    ),
    RankFact(
        "megatron.core._rank_utils.safe_get_rank",
        "rank",
        source="megatron-core 0.19.2 megatron/core/_rank_utils.py:15",
    ),
    RankFact(
        "megatron.core._rank_utils.safe_get_world_size",
        "world_size",
        source="megatron-core 0.19.2 megatron/core/_rank_utils.py:48",
    ),
    RankFact(
        "megatron.core.utils.get_pg_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/utils.py:616",
    ),
    RankFact(
        "megatron.training.utils.is_rank0",
        "is_main",
        source="megatron-core 0.19.2 megatron/training/utils/common_utils.py:457",
    ),
    RankFact(
        "megatron.training.utils.is_last_rank",
        "is_last",
        source="megatron-core 0.19.2 megatron/training/utils/common_utils.py:462",
    ),
    RankFact(
        "megatron.core.parallel_state.is_initialized",
        "initialized",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1681",
    ),
    RankFact(
        "megatron.core.parallel_state.model_parallel_is_initialized",
        "initialized",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1686",
    ),
    RankFact(
        "megatron.core.parallel_state.get_gtp_weight_remat_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1722",
    ),
    RankFact(
        "megatron.core.parallel_state.get_gtp_weight_remat_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1731",
    ),
    RankFact(
        "xfuser.core.distributed.is_pipeline_first_stage",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:105",
    ),
    RankFact(
        "xfuser.core.distributed.is_pipeline_last_stage",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:110",
    ),
    RankFact(
        "xfuser.core.distributed.is_dp_last_group",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:149",
        # the last rank in each dimension but the data parallel one
    ),
    RankFact(
        "xfuser.core.distributed.get_data_parallel_rank",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:144",
    ),
    RankFact(
        "xfuser.core.distributed.get_sequence_parallel_rank",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:68",
    ),
    RankFact(
        "xfuser.core.distributed.get_pipeline_parallel_rank",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:100",
    ),
    RankFact(
        "xfuser.core.distributed.get_classifier_free_guidance_rank",
        "group_rank",
        source="xfuser 0.4.1 xfuser/core/distributed/parallel_state.py:128",
    ),
    RankFact(
        "megatron.core.parallel_state.get_tensor_model_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1950",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1958",
    ),
    RankFact(
        "megatron.core.parallel_state.get_tensor_model_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1978",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1986",
    ),
    RankFact(
        "megatron.core.parallel_state.is_pipeline_first_stage",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:1994",
    ),
    RankFact(
        "megatron.core.parallel_state.is_pipeline_last_stage",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2004",
    ),
    RankFact(
        "megatron.core.parallel_state.is_rank_in_embedding_group",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2014",
    ),
    RankFact(
        "megatron.core.parallel_state.is_rank_in_position_embedding_group",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2032",
    ),
    RankFact(
        "megatron.core.parallel_state.get_virtual_pipeline_model_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2039",
    ),
    RankFact(
        "megatron.core.parallel_state.get_virtual_pipeline_model_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2056",
    ),
    RankFact(
        "megatron.core.parallel_state.get_tensor_model_parallel_src_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2062",
    ),
    RankFact(
        "megatron.core.parallel_state.get_model_parallel_src_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2071",
    ),
    RankFact(
        "megatron.core.parallel_state.get_data_parallel_src_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2078",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_first_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2091",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_last_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2097",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_next_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2104",
    ),
    RankFact(
        "megatron.core.parallel_state.get_pipeline_model_parallel_prev_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2112",
    ),
    RankFact(
        "megatron.core.parallel_state.get_data_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2120",
    ),
    RankFact(
        "megatron.core.parallel_state.get_data_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2147",
    ),
    RankFact(
        "megatron.core.parallel_state.get_context_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2168",
    ),
    RankFact(
        "megatron.core.parallel_state.get_context_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2176",
    ),
    RankFact(
        "megatron.core.parallel_state.get_tensor_and_context_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2184",
    ),
    RankFact(
        "megatron.core.parallel_state.get_tensor_and_context_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2192",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_gtp_weight_remat_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2210",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_gtp_weight_remat_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2219",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_model_parallel_src_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2246",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_model_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2255",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_model_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2271",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_tensor_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2296",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_tensor_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2314",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_tensor_and_model_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2341",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_tensor_and_model_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2350",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_data_parallel_rank",
        "group_rank",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2428",
    ),
    RankFact(
        "megatron.core.parallel_state.get_expert_data_parallel_world_size",
        "group_size",
        source="megatron-core 0.19.2 megatron/core/parallel_state.py:2438",
    ),
)

FUNCTIONS: dict[str, Kind] = {row.name: row.kind for row in _FUNCTION_ROWS}
"""Kind by qualified function or method name: what the call returns."""

_RANK_AND_SIZE: Final[tuple[Kind, Kind]] = ("rank", "world_size")

TUPLES: Final[dict[str, tuple[Kind, ...]]] = {
    "mmcv.runner.get_dist_info": _RANK_AND_SIZE,
    "mmcv.runner.dist_utils.get_dist_info": _RANK_AND_SIZE,
    "mmengine.dist.get_dist_info": _RANK_AND_SIZE,
    "mmengine.dist.utils.get_dist_info": _RANK_AND_SIZE,
    "basicsr.utils.dist_util.get_dist_info": _RANK_AND_SIZE,
}
"""Kinds of what a function returns, one after the other, by its qualified name.

mmcv 1.3.17 mmcv/runner/dist_utils.py:78, mmengine 0.10.7 mmengine/dist/utils.py:380, basicsr 1.4.2
basicsr/utils/dist_util.py:47. Groups are not asked for in any program that is known.
"""

GROUP_ARGUMENTS: dict[str, int] = {
    row.name: row.group for row in _FUNCTION_ROWS if row.group is not None
}
"""Position of the argument ("group" by keyword) that makes the answer one about a subgroup."""

_ATTRIBUTE_ROWS: tuple[RankFact, ...] = (
    RankFact(
        "mpi4py.MPI.COMM_WORLD.rank",
        "rank",
        source="mpi4py 4.1.1 mpi4py/MPI.src/Comm.pyx:113",
    ),
    RankFact(
        "mpi4py.MPI.COMM_WORLD.size",
        "world_size",
        source="mpi4py 4.1.1 mpi4py/MPI.src/Comm.pyx:100",
    ),
    RankFact(
        "accelerate.Accelerator.is_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/accelerator.py:734",
    ),
    RankFact(
        "accelerate.Accelerator.is_local_main_process",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/accelerator.py:739",
    ),
    RankFact(
        "accelerate.Accelerator.is_last_process",
        "is_last",
        source="accelerate 1.15.0 accelerate/accelerator.py:744",
    ),
    RankFact(
        "accelerate.Accelerator.process_index",
        "rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:680",
    ),
    RankFact(
        "accelerate.Accelerator.local_process_index",
        "local_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:684",
    ),
    RankFact(
        "accelerate.Accelerator.num_processes",
        "world_size",
        source="accelerate 1.15.0 accelerate/accelerator.py:676",
    ),
    RankFact(
        "accelerate.Accelerator.use_distributed",
        "initialized",
        source="accelerate 1.15.0 accelerate/accelerator.py:652",
    ),
    RankFact(
        "accelerate.Accelerator.multi_device",
        "initialized",
        source="accelerate 1.15.0 accelerate/accelerator.py:659",
    ),
    RankFact(
        "accelerate.Accelerator.is_fsdp2",
        "sharded_mode",
        source="accelerate 1.15.0 accelerate/accelerator.py:752",
    ),
    # `accelerator.distributed_type == DistributedType.DEEPSPEED` asks for the mode.
    RankFact(
        "accelerate.utils.DistributedType.DEEPSPEED",
        "sharded_mode",
        source="accelerate 1.15.0 accelerate/utils/dataclasses.py:633",
    ),
    RankFact(
        "accelerate.utils.DistributedType.FSDP",
        "sharded_mode",
        source="accelerate 1.15.0 accelerate/utils/dataclasses.py:634",
    ),
    RankFact(
        "accelerate.utils.DistributedType.MEGATRON_LM",
        "sharded_mode",
        source="accelerate 1.15.0 accelerate/utils/dataclasses.py:636",
    ),
    RankFact(
        "accelerate.Accelerator.should_save_model",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/accelerator.py:768",
        # true on all ranks where a parallelism_config is set
    ),
    RankFact(
        "accelerate.Accelerator.tensor_parallel_rank",
        "group_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:784",
    ),
    RankFact(
        "accelerate.Accelerator.data_parallel_rank",
        "group_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:810",
    ),
    RankFact(
        "accelerate.Accelerator.data_parallel_shard_rank",
        "group_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:822",
    ),
    RankFact(
        "accelerate.Accelerator.sync_gradients",
        "not_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:1240",
        # counts steps, the same on all ranks
    ),
    RankFact(
        "accelerate.Accelerator.device",
        "not_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:688",
        # differs per rank, but no predicate
    ),
    RankFact(
        "accelerate.PartialState.is_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/state.py:362",
    ),
    RankFact(
        "accelerate.PartialState.is_local_main_process",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/state.py:369",
    ),
    RankFact(
        "accelerate.PartialState.is_last_process",
        "is_last",
        source="accelerate 1.15.0 accelerate/state.py:357",
    ),
    RankFact(
        "accelerate.PartialState.process_index",
        "rank",
        source="accelerate 1.15.0 accelerate/state.py:291",
    ),
    RankFact(
        "accelerate.PartialState.local_process_index",
        "local_rank",
        source="accelerate 1.15.0 accelerate/state.py:292",
    ),
    RankFact(
        "accelerate.PartialState.num_processes",
        "world_size",
        source="accelerate 1.15.0 accelerate/state.py:290",
    ),
    RankFact(
        "accelerate.PartialState.use_distributed",
        "initialized",
        source="accelerate 1.15.0 accelerate/state.py:350",
    ),
    RankFact(
        "accelerate.PartialState.initialized",
        "not_rank",
        source="accelerate 1.15.0 accelerate/state.py:345",
    ),
    RankFact(
        "accelerate.state.AcceleratorState.is_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/state.py:1112",
    ),
    RankFact(
        "accelerate.state.AcceleratorState.is_local_main_process",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/state.py:1117",
    ),
    RankFact(
        "accelerate.state.AcceleratorState.is_last_process",
        "is_last",
        source="accelerate 1.15.0 accelerate/state.py:1107",
    ),
    RankFact(
        "accelerate.state.AcceleratorState.use_distributed",
        "initialized",
        source="accelerate 1.15.0 accelerate/state.py:1096",
    ),
    RankFact(
        "accelerate.state.AcceleratorState.is_fsdp2",
        "sharded_mode",
        source="accelerate 1.15.0 accelerate/state.py:1103",
    ),
    RankFact(
        "transformers.TrainingArguments.should_save",
        "is_main",
        source="transformers 5.23.0 transformers/training_args.py:2053",
        # the local main process where save_on_each_node
    ),
    RankFact(
        "transformers.TrainingArguments.should_log",
        "is_main",
        source="transformers 5.23.0 transformers/training_args.py:2040",
        # the local main process where log_on_each_node
    ),
    RankFact(
        "transformers.TrainingArguments.process_index",
        "rank",
        source="transformers 5.23.0 transformers/training_args.py:2015",
    ),
    RankFact(
        "transformers.TrainingArguments.local_process_index",
        "local_rank",
        source="transformers 5.23.0 transformers/training_args.py:2027",
    ),
    RankFact(
        "transformers.TrainingArguments.local_rank",
        "local_rank",
        source="transformers 5.23.0 transformers/training_args.py:1508",
    ),
    RankFact(
        "transformers.TrainingArguments.world_size",
        "world_size",
        source="transformers 5.23.0 transformers/training_args.py:2003",
    ),
    RankFact(
        "transformers.TrainingArguments.parallel_mode",
        "not_rank",
        source="transformers 5.23.0 transformers/training_args.py:1978",
    ),
    RankFact(
        "transformers.Trainer.is_deepspeed_enabled",
        "sharded_mode",
        source="transformers 5.23.0 transformers/trainer.py:874",
    ),
    RankFact(
        "transformers.Trainer.is_fsdp_enabled",
        "sharded_mode",
        source="transformers 5.23.0 transformers/trainer.py:875",
    ),
    RankFact(
        "transformers.TrainerState.is_world_process_zero",
        "is_main",
        source="transformers 5.23.0 transformers/trainer_callback.py:110",
    ),
    RankFact(
        "transformers.TrainerState.is_local_process_zero",
        "is_local_main",
        source="transformers 5.23.0 transformers/trainer_callback.py:109",
    ),
    RankFact(
        "transformers.TrainerControl.should_save",
        "not_rank",
        source="transformers 5.23.0 transformers/trainer_callback.py:264",
        # decided from the step count and gathered metrics on every rank alike
    ),
    RankFact(
        "transformers.TrainerControl.should_log",
        "not_rank",
        source="transformers 5.23.0 transformers/trainer_callback.py:266",
    ),
    RankFact(
        "transformers.TrainerControl.should_evaluate",
        "not_rank",
        source="transformers 5.23.0 transformers/trainer_callback.py:265",
    ),
    RankFact(
        "transformers.TrainerControl.should_training_stop",
        "not_rank",
        source="transformers 5.23.0 transformers/trainer_callback.py:262",
    ),
    RankFact(
        "transformers.TrainerControl.should_epoch_stop",
        "not_rank",
        source="transformers 5.23.0 transformers/trainer_callback.py:263",
    ),
    RankFact(
        "lightning.pytorch.Trainer.is_global_zero",
        "is_main",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1335",
    ),
    RankFact(
        "lightning.pytorch.Trainer.global_rank",
        "rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1227",
    ),
    RankFact(
        "lightning.pytorch.Trainer.local_rank",
        "local_rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1231",
    ),
    RankFact(
        "lightning.pytorch.Trainer.node_rank",
        "node_rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1236",
    ),
    RankFact(
        "lightning.pytorch.Trainer.world_size",
        "world_size",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1241",
    ),
    RankFact(
        "lightning.pytorch.LightningModule.global_rank",
        "rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/core/module.py:281",
    ),
    RankFact(
        "lightning.pytorch.LightningModule.local_rank",
        "local_rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/core/module.py:286",
    ),
    RankFact(
        "lightning.fabric.Fabric.is_global_zero",
        "is_main",
        source="pytorch-lightning 2.6.6 lightning_fabric/fabric.py:208",
    ),
    RankFact(
        "lightning.fabric.Fabric.global_rank",
        "rank",
        source="pytorch-lightning 2.6.6 lightning_fabric/fabric.py:188",
    ),
    RankFact(
        "lightning.fabric.Fabric.local_rank",
        "local_rank",
        source="pytorch-lightning 2.6.6 lightning_fabric/fabric.py:193",
    ),
    RankFact(
        "lightning.fabric.Fabric.node_rank",
        "node_rank",
        source="pytorch-lightning 2.6.6 lightning_fabric/fabric.py:198",
    ),
    RankFact(
        "lightning.fabric.Fabric.world_size",
        "world_size",
        source="pytorch-lightning 2.6.6 lightning_fabric/fabric.py:203",
    ),
    RankFact(
        "lightning.fabric.utilities.rank_zero.rank_zero_only.rank",
        "rank",
        source="pytorch-lightning 2.6.6 lightning_fabric/utilities/rank_zero.py:22",
        # a function attribute, None before a strategy sets it
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.rank",
        "rank",
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:50",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.local_rank",
        "local_rank",
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:58",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.world_size",
        "world_size",
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:54",
    ),
    RankFact(
        "deepspeed.DeepSpeedEngine.global_rank",
        "rank",
        source="deepspeed 0.19.8 deepspeed/runtime/engine.py:1946",
    ),
    RankFact(
        "deepspeed.DeepSpeedEngine.local_rank",
        "local_rank",
        source="deepspeed 0.19.8 deepspeed/runtime/engine.py:1966",
    ),
    RankFact(
        "deepspeed.DeepSpeedEngine.world_size",
        "world_size",
        source="deepspeed 0.19.8 deepspeed/runtime/engine.py:1945",
    ),
    RankFact(
        "fairseq.trainer.Trainer.data_parallel_rank",
        "group_rank",
        source="fairseq 0.12.2 fairseq/trainer.py:194",
    ),
    RankFact(
        "fairseq.trainer.Trainer.data_parallel_world_size",
        "group_size",
        source="fairseq 0.12.2 fairseq/trainer.py:184",
    ),
    RankFact(
        "fairseq.trainer.Trainer.is_data_parallel_master",
        "group_rank",
        source="fairseq 0.12.2 fairseq/trainer.py:200",
    ),
    RankFact(
        "ultralytics.utils.RANK",
        "rank",
        source="ultralytics 8.4.190 ultralytics/utils/__init__.py:66",
        # -1 where the world is one process
    ),
    RankFact(
        "ultralytics.utils.LOCAL_RANK",
        "local_rank",
        source="ultralytics 8.4.190 ultralytics/utils/__init__.py:67",
    ),
    RankFact(
        "ultralytics.utils.WORLD_SIZE",
        "world_size",
        source="ultralytics 8.4.190 ultralytics/utils/__init__.py:65",
    ),
)

ATTRIBUTES: dict[str, Kind] = {row.name: row.kind for row in _ATTRIBUTE_ROWS}
"""Kind by qualified attribute, property or module constant."""

_ANY_ATTRIBUTE_ROWS: tuple[RankFact, ...] = (
    RankFact("is_main_process", "is_main", source="accelerate 1.15.0 accelerate/state.py:362"),
    RankFact(
        "is_local_main_process", "is_local_main", source="accelerate 1.15.0 accelerate/state.py:369"
    ),
    RankFact("is_last_process", "is_last", source="accelerate 1.15.0 accelerate/state.py:357"),
    RankFact(
        "is_world_process_zero",
        "is_main",
        source="transformers 5.23.0 transformers/trainer_callback.py:110",
    ),
    RankFact(
        "is_local_process_zero",
        "is_local_main",
        source="transformers 5.23.0 transformers/trainer_callback.py:109",
    ),
    RankFact(
        "is_global_zero",
        "is_main",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1335",
    ),
    RankFact(
        "is_rank_zero",
        "is_main",
        source="torchtune 0.6.1 torchtune/training/checkpointing/_checkpoint_client.py:78",
    ),
    RankFact(
        "_is_rank_zero",
        "is_main",
        source="torchtune 0.6.1 recipes/lora_finetune_distributed.py:141",
    ),
    RankFact("process_index", "rank", source="accelerate 1.15.0 accelerate/accelerator.py:680"),
    RankFact(
        "local_process_index",
        "local_rank",
        source="accelerate 1.15.0 accelerate/accelerator.py:684",
    ),
    RankFact(
        "global_rank",
        "rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1227",
    ),
    RankFact(
        "local_rank",
        "local_rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1231",
    ),
    RankFact(
        "node_rank",
        "node_rank",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1236",
    ),
    RankFact("distributed_rank", "rank", source="fairseq 0.12.2 fairseq/dataclass/configs.py:269"),
    RankFact(
        "world_size",
        "world_size",
        source="pytorch-lightning 2.6.6 pytorch_lightning/trainer/trainer.py:1241",
    ),
    RankFact(
        "num_processes", "world_size", source="accelerate 1.15.0 accelerate/accelerator.py:676"
    ),
    RankFact(
        "is_deepspeed_enabled",
        "sharded_mode",
        source="transformers 5.23.0 transformers/trainer.py:874",
    ),
    RankFact(
        "is_fsdp_enabled", "sharded_mode", source="transformers 5.23.0 transformers/trainer.py:875"
    ),
    RankFact(
        "is_fsdp_xla_enabled",
        "sharded_mode",
        source="transformers 5.23.0 transformers/trainer.py:471",
    ),
    RankFact(
        "dp_rank", "group_rank", source="megatron-core 0.19.2 megatron/core/parallel_state.py:2147"
    ),
    RankFact(
        "tp_rank", "group_rank", source="megatron-core 0.19.2 megatron/core/parallel_state.py:1978"
    ),
    RankFact(
        "pp_rank", "group_rank", source="megatron-core 0.19.2 megatron/core/parallel_state.py:1986"
    ),
    RankFact(
        "cp_rank", "group_rank", source="megatron-core 0.19.2 megatron/core/parallel_state.py:2176"
    ),
    RankFact(
        "ep_rank", "group_rank", source="megatron-core 0.19.2 megatron/core/parallel_state.py:2271"
    ),
    RankFact("data_parallel_rank", "group_rank", source="fairseq 0.12.2 fairseq/trainer.py:194"),
    RankFact(
        "is_data_parallel_master", "group_rank", source="fairseq 0.12.2 fairseq/trainer.py:200"
    ),
)

ANY_ATTRIBUTES: dict[str, Kind] = {row.name: row.kind for row in _ANY_ATTRIBUTE_ROWS}
"""Kind by attribute name alone, whatever the receiver. `rank` is not here: in half of the packages
that use it, it is the rank of a LoRA matrix."""

ARGUMENT_NAMES = ("args", "training_args", "cfg", "config", "opt", "opts", "hparams", "FLAGS")
"""What the object with the command line's settings is called."""

ARGUMENT_ATTRIBUTES: dict[str, Kind] = {
    "local_rank": "local_rank",
    "gpu": "local_rank",
    "world_size": "world_size",
    "distributed": "initialized",
    "should_save": "is_main",
    "should_log": "is_main",
}
"""Kind by attribute of an object that has one of ARGUMENT_NAMES as its name (`self.args` too)."""

DEALT_TO: Final = frozenset({"lm_eval.api.model.LM", "lm_eval.api.model.TemplateLM"})
"""Classes to whose objects a library deals the work out by their attributes `rank` and `world_size` (lm_eval 0.4.9
lm_eval/evaluator.py: `task.build_all_requests(rank=lm.rank, world_size=lm.world_size)`). Not those of lmms_eval, whose
evaluator asks the environment and tells the objects."""

AMBIGUOUS_ARGUMENT_ATTRIBUTES: dict[str, Kind] = {"rank": "rank"}
"""As ARGUMENT_ATTRIBUTES, but only where the value is compared with 0 or -1: in the LoRA training
scripts of diffusers `args.rank` is the rank of a matrix."""


ZERO_STAGES = frozenset({"zero_stage", "zero_optimization_stage"})
"""Attributes and methods that give the stage of ZeRO: in DeepSpeed's configuration `stage` under `zero_optimization`.

Sources: deepspeed 0.19.8 deepspeed/runtime/engine.py:1584; accelerate 1.15.0 accelerate/utils/dataclasses.py:1173.
"""

ANY_METHODS: dict[str, Kind] = {
    # deepspeed 0.19.8 deepspeed/runtime/engine.py:1618: stage 3 partitions the weights.
    "zero_optimization_partition_weights": "zero3",
    "is_deepspeed_zero3_enabled": "zero3",
    "is_world_process_zero": "is_main",
    "is_local_process_zero": "is_local_main",
    "is_main_process": "is_main",
    "is_master": "is_main",
    "is_node_master": "is_local_main",
    "is_rank_zero": "is_main",
    "get_rank": "rank",
    "get_world_size": "world_size",
    "get_world_rank": "rank",
    "is_pipeline_first_stage": "group_rank",
    "is_pipeline_last_stage": "group_rank",
    "is_first_stage": "group_rank",
    "is_last_stage": "group_rank",
    "get_data_parallel_rank": "group_rank",
    "get_tensor_model_parallel_rank": "group_rank",
    "get_pipeline_model_parallel_rank": "group_rank",
    "get_model_parallel_rank": "group_rank",
}
"""Kind of the result by method name alone. `get_local_rank` is not here: of a device mesh it is the
place in one dimension; nor `get_global_rank`, which often translates a group rank."""

ENVIRONMENT: dict[str, Kind] = {
    # torchrun: torch.distributed.elastic.
    "RANK": "rank",
    "LOCAL_RANK": "local_rank",
    "WORLD_SIZE": "world_size",
    "LOCAL_WORLD_SIZE": "local_world_size",
    "GROUP_RANK": "node_rank",
    "ROLE_RANK": "rank",
    "ROLE_WORLD_SIZE": "world_size",
    "GROUP_WORLD_SIZE": "group_size",
    "TORCHELASTIC_RUN_ID": "initialized",
    # Lightning, Composer.
    "NODE_RANK": "node_rank",
    # Slurm.
    "SLURM_PROCID": "rank",
    "SLURM_LOCALID": "local_rank",
    "SLURM_NTASKS": "world_size",
    "SLURM_NPROCS": "world_size",
    "SLURM_NODEID": "node_rank",
    # MPI.
    "OMPI_COMM_WORLD_RANK": "rank",
    "OMPI_COMM_WORLD_LOCAL_RANK": "local_rank",
    "OMPI_COMM_WORLD_SIZE": "world_size",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "local_world_size",
    "OMPI_COMM_WORLD_NODE_RANK": "node_rank",
    "MV2_COMM_WORLD_RANK": "rank",
    "MV2_COMM_WORLD_LOCAL_RANK": "local_rank",
    "MV2_COMM_WORLD_SIZE": "world_size",
    "MPI_LOCALRANKID": "local_rank",
    "PMI_RANK": "rank",
    "PMI_SIZE": "world_size",
    "PALS_RANKID": "rank",
    "PALS_LOCAL_RANKID": "local_rank",
    # IBM LSF.
    "JSM_NAMESPACE_RANK": "rank",
    "JSM_NAMESPACE_LOCAL_RANK": "local_rank",
    "JSM_NAMESPACE_SIZE": "world_size",
    # accelerate and transformers: the launched mode, the same on all ranks.
    "ACCELERATE_USE_FSDP": "sharded_mode",
    "ACCELERATE_USE_DEEPSPEED": "sharded_mode",
    "SMDATAPARALLEL_LOCAL_RANK": "local_rank",
}
"""Kind by environment variable. The values are strings: "0" is true."""

LAUNCHED_WITH: Final = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})
"""Variables that torchrun, accelerate and deepspeed set for every process that they start."""


_DECORATOR_ROWS: tuple[RankFact, ...] = (
    RankFact(
        "lightning_utilities.core.rank_zero.rank_zero_only",
        "is_main",
        source="lightning-utilities 0.15.3 lightning_utilities/core/rank_zero.py:21",
    ),
    RankFact(
        "lightning.fabric.utilities.rank_zero.rank_zero_only",
        "is_main",
        source="pytorch-lightning 2.6.6 lightning_fabric/utilities/rank_zero.py:22",
    ),
    RankFact(
        "lightning.pytorch.utilities.rank_zero.rank_zero_only",
        "is_main",
        source="pytorch-lightning 2.6.6 pytorch_lightning/utilities/rank_zero.py:27",
    ),
    RankFact(
        "lightning.fabric.loggers.logger.rank_zero_experiment",
        "is_main",
        source="pytorch-lightning 2.6.6 lightning_fabric/loggers/logger.py:102",
        # the other ranks get a stand-in that does nothing
    ),
    RankFact(
        "accelerate.Accelerator.on_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/accelerator.py:875",
    ),
    RankFact(
        "accelerate.Accelerator.on_local_main_process",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/accelerator.py:914",
    ),
    RankFact(
        "accelerate.Accelerator.on_last_process",
        "is_last",
        source="accelerate 1.15.0 accelerate/accelerator.py:956",
    ),
    RankFact(
        "accelerate.Accelerator.on_process",
        "rank",
        rank="process_index",
        source="accelerate 1.15.0 accelerate/accelerator.py:995",
    ),
    RankFact(
        "accelerate.Accelerator.on_local_process",
        "local_rank",
        rank="local_process_index",
        source="accelerate 1.15.0 accelerate/accelerator.py:1040",
    ),
    RankFact(
        "accelerate.PartialState.on_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/state.py:555",
        # decides when it decorates, not when it is called
    ),
    RankFact(
        "accelerate.PartialState.on_local_main_process",
        "is_local_main",
        source="accelerate 1.15.0 accelerate/state.py:585",
    ),
    RankFact(
        "accelerate.PartialState.on_last_process",
        "is_last",
        source="accelerate 1.15.0 accelerate/state.py:616",
    ),
    RankFact(
        "accelerate.PartialState.on_process",
        "rank",
        rank="process_index",
        source="accelerate 1.15.0 accelerate/state.py:644",
    ),
    RankFact(
        "accelerate.PartialState.on_local_process",
        "local_rank",
        rank="local_process_index",
        source="accelerate 1.15.0 accelerate/state.py:677",
    ),
    RankFact(
        "accelerate.tracking.on_main_process",
        "is_main",
        source="accelerate 1.15.0 accelerate/tracking.py:79",
    ),
    RankFact(
        "mmengine.dist.master_only", "is_main", source="mmengine 0.10.7 mmengine/dist/utils.py:414"
    ),
    RankFact(
        "ignite.distributed.one_rank_only",
        "rank",
        rank="rank",
        source="pytorch-ignite 0.5.5 ignite/distributed/utils.py:660",
        # with_barrier=True adds a barrier on all ranks
    ),
    RankFact(
        "speechbrain.utils.distributed.main_process_only",
        "is_main",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:305",
        # collectives inside do nothing
    ),
    RankFact(
        "speechbrain.utils.distributed.once_per_node",
        "is_local_main",
        source="speechbrain 1.1.2 speechbrain/utils/distributed.py:326",
    ),
    RankFact(
        "colossalai.cluster.DistCoordinator.on_master_only",
        "is_main",
        source="colossalai 0.5.0 colossalai/cluster/dist_coordinator.py:177",
    ),
)

DECORATORS: dict[str, Kind] = {row.name: row.kind for row in _DECORATOR_ROWS}
"""Kind by qualified decorator: the function does nothing (returns None) on the other ranks."""

DECORATOR_RANKS: dict[str, str] = {
    name: row.rank
    for row in _DECORATOR_ROWS
    if row.rank
    for name in (row.name, row.name.rpartition(".")[2])
}
"""For decorators that take the rank: the keyword of that argument, by qualified and by last name."""

ANY_DECORATORS: dict[str, Kind] = {
    "rank_zero_only": "is_main",
    "rank_zero_experiment": "is_main",
    "on_main_process": "is_main",
    "on_local_main_process": "is_local_main",
    "on_last_process": "is_last",
    "on_process": "rank",
    "on_local_process": "local_rank",
    "master_only": "is_main",
    "main_process_only": "is_main",
    "on_master_only": "is_main",
}
"""Kind by the last name of a decorator, where it does not resolve."""

ONE_PROCESS_BEFORE_INIT: Final[dict[str, str]] = {
    "detectron2.utils.comm.get_rank": "detectron2 0.6 detectron2/utils/comm.py:27",
    "detectron2.utils.comm.get_world_size": "detectron2 0.6 detectron2/utils/comm.py:19",
    "detectron2.utils.comm.is_main_process": "detectron2 0.6 detectron2/utils/comm.py:63",
    "detectron2.data.build_detection_train_loader": "detectron2 0.6 detectron2/data/build.py:379",
    "detectron2.data.build.build_detection_train_loader": "detectron2 0.6 detectron2/data/build.py:379",
    "mmcv.runner.get_dist_info": "mmcv 1.3.17 mmcv/runner/dist_utils.py:78",
}
"""Functions that answer as for one process, or divide data so, where no process group exists yet; with their sources."""
