"""Public names of libraries: where a thing is defined, and what the tables call it."""

from __future__ import annotations

CANONICAL: dict[str, str] = {
    # torch 2.13.0: torch/distributed/__init__.py re-exports distributed_c10d; the rest as named.
    "torch.distributed.distributed_c10d": "torch.distributed",
    "torch._C._distributed_c10d.ProcessGroup": "torch.distributed.ProcessGroup",
    "torch._C._distributed_c10d.Work": "torch.distributed.Work",
    "torch.distributed.init_device_mesh": "torch.distributed.device_mesh.init_device_mesh",
    "torch.distributed.DeviceMesh": "torch.distributed.device_mesh.DeviceMesh",
    "torch.distributed.tensor.DeviceMesh": "torch.distributed.device_mesh.DeviceMesh",
    "torch.distributed.tensor.init_device_mesh": "torch.distributed.device_mesh.init_device_mesh",
    "torch.distributed._tensor": "torch.distributed.tensor",
    "torch.distributed.tensor._api": "torch.distributed.tensor",
    "torch.distributed.tensor.parallel.api": "torch.distributed.tensor.parallel",
    "torch.distributed.checkpoint.state_dict_saver": "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict_loader": "torch.distributed.checkpoint",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "torch.distributed.fsdp",
    "torch.distributed.fsdp._fully_shard": "torch.distributed.fsdp",
    "torch.distributed.fsdp._fully_shard._fully_shard": "torch.distributed.fsdp",
    "torch.distributed._composable.fsdp": "torch.distributed.fsdp",
    "torch.distributed._composable.fsdp.fully_shard": "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fully_shard": "torch.distributed.fsdp.fully_shard",
    "torch.distributed.nn.all_gather": "torch.distributed.nn.functional.all_gather",
    "torch.distributed.nn.all_reduce": "torch.distributed.nn.functional.all_reduce",
    "torch.distributed.nn.all_to_all": "torch.distributed.nn.functional.all_to_all",
    "torch.distributed.nn.broadcast": "torch.distributed.nn.functional.broadcast",
    "torch.distributed.nn.gather": "torch.distributed.nn.functional.gather",
    "torch.distributed.nn.reduce": "torch.distributed.nn.functional.reduce",
    "torch.distributed.nn.reduce_scatter": "torch.distributed.nn.functional.reduce_scatter",
    "torch.distributed.nn.scatter": "torch.distributed.nn.functional.scatter",
    "torch.distributed.optim.zero_redundancy_optimizer": "torch.distributed.optim",
    "torch.distributed.algorithms.Join": "torch.distributed.algorithms.join.Join",
    "torch.nn.parallel.distributed": "torch.nn.parallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.parallel.DataParallel",
    "torch.nn.DataParallel": "torch.nn.parallel.DataParallel",
    "torch.nn.modules.batchnorm": "torch.nn",
    "torch.nn.modules.module": "torch.nn",
    "torch.utils.data.distributed.DistributedSampler": "torch.utils.data.DistributedSampler",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.sampler": "torch.utils.data",
    "torch.random.manual_seed": "torch.manual_seed",
    "torch.serialization": "torch",
    # accelerate 1.15.0.
    "accelerate.accelerator": "accelerate",
    "accelerate.state.PartialState": "accelerate.PartialState",
    "accelerate.state.AcceleratorState": "accelerate.state.AcceleratorState",
    "accelerate.AcceleratorState": "accelerate.state.AcceleratorState",
    "accelerate.DistributedType": "accelerate.utils.DistributedType",
    "accelerate.state.DistributedType": "accelerate.utils.DistributedType",
    "accelerate.utils.dataclasses": "accelerate.utils",
    "accelerate.utils.operations": "accelerate.utils",
    "accelerate.utils.other": "accelerate.utils",
    "accelerate.utils.random": "accelerate.utils",
    "accelerate.utils.fsdp_utils": "accelerate.utils",
    "accelerate.utils.set_seed": "accelerate.utils.set_seed",
    # transformers 5.23.0.
    "transformers.trainer.Trainer": "transformers.Trainer",
    "transformers.trainer_seq2seq.Seq2SeqTrainer": "transformers.Seq2SeqTrainer",
    "transformers.training_args.TrainingArguments": "transformers.TrainingArguments",
    "transformers.training_args_seq2seq": "transformers",
    "transformers.trainer_callback": "transformers",
    "transformers.trainer_utils.set_seed": "transformers.set_seed",
    "transformers.trainer_utils.enable_full_determinism": "transformers.enable_full_determinism",
    "transformers.trainer.is_world_process_zero": "transformers.Trainer.is_world_process_zero",
    "transformers.models.auto.modeling_auto": "transformers",
    "transformers.models.auto": "transformers",
    "transformers.modeling_utils.PreTrainedModel": "transformers.PreTrainedModel",
    "transformers.generation.utils.GenerationMixin": "transformers.GenerationMixin",
    "transformers.generation.GenerationMixin": "transformers.GenerationMixin",
    "transformers.trainer.nested_gather": "transformers.trainer_pt_utils.nested_gather",
    "transformers.trainer.distributed_concat": "transformers.trainer_pt_utils.distributed_concat",
    "transformers.integrations.is_deepspeed_zero3_enabled": (
        "transformers.integrations.deepspeed.is_deepspeed_zero3_enabled"
    ),
    "transformers.deepspeed.is_deepspeed_zero3_enabled": (
        "transformers.integrations.deepspeed.is_deepspeed_zero3_enabled"
    ),
    "transformers.modeling_utils.is_deepspeed_zero3_enabled": (
        "transformers.integrations.deepspeed.is_deepspeed_zero3_enabled"
    ),
    "transformers.integrations.fsdp.is_fsdp_enabled": "transformers.distributed.fsdp.is_fsdp_enabled",
    "transformers.integrations.fsdp.is_fsdp_managed_module": (
        "transformers.distributed.fsdp.is_fsdp_managed_module"
    ),
    # trl 1.16.0 and 0.20.0, sentence-transformers 6.2.0: modules of `knowledge.bases`.
    "sentence_transformers.cross_encoder.trainer": "sentence_transformers.cross_encoder",
    "sentence_transformers.multi_vector_encoder.trainer": "sentence_transformers.multi_vector_encoder",
    "sentence_transformers.sentence_transformer.trainer": "sentence_transformers",
    "sentence_transformers.sparse_encoder.trainer": "sentence_transformers.sparse_encoder",
    "transformers.integrations.integration_utils": "transformers.integrations",
    "trl.experimental.a2po.a2po_config": "trl.experimental.a2po",
    "trl.experimental.a2po.a2po_trainer": "trl.experimental.a2po",
    "trl.experimental.async_distillation.async_distillation_config": "trl.experimental.async_distillation",
    "trl.experimental.async_distillation.async_distillation_trainer": "trl.experimental.async_distillation",
    "trl.experimental.async_grpo.async_grpo_config": "trl.experimental.async_grpo",
    "trl.experimental.async_grpo.async_grpo_trainer": "trl.experimental.async_grpo",
    "trl.experimental.cpo.cpo_config": "trl.experimental.cpo",
    "trl.experimental.cpo.cpo_trainer": "trl.experimental.cpo",
    "trl.experimental.gkd.gkd_config": "trl.experimental.gkd",
    "trl.experimental.gkd.gkd_trainer": "trl.experimental.gkd",
    "trl.experimental.gmpo.gmpo_config": "trl.experimental.gmpo",
    "trl.experimental.gmpo.gmpo_trainer": "trl.experimental.gmpo",
    "trl.experimental.gold.gold_config": "trl.experimental.gold",
    "trl.experimental.gold.gold_trainer": "trl.experimental.gold",
    "trl.experimental.iw_opd.iw_opd_config": "trl.experimental.iw_opd",
    "trl.experimental.iw_opd.iw_opd_trainer": "trl.experimental.iw_opd",
    "trl.experimental.online_dpo.online_dpo_config": "trl.experimental.online_dpo",
    "trl.experimental.online_dpo.online_dpo_trainer": "trl.experimental.online_dpo",
    "trl.experimental.orpo.orpo_config": "trl.experimental.orpo",
    "trl.experimental.orpo.orpo_trainer": "trl.experimental.orpo",
    "trl.experimental.sdft.sdft_config": "trl.experimental.sdft",
    "trl.experimental.sdft.sdft_trainer": "trl.experimental.sdft",
    "trl.experimental.sdpo.sdpo_config": "trl.experimental.sdpo",
    "trl.experimental.sdpo.sdpo_trainer": "trl.experimental.sdpo",
    "trl.experimental.sdpo.teacher_sync": "trl.experimental.sdpo",
    "trl.experimental.server_distillation.server_distillation_config": "trl.experimental.server_distillation",
    "trl.experimental.server_distillation.server_distillation_trainer": "trl.experimental.server_distillation",
    "trl.experimental.tpo.tpo_config": "trl.experimental.tpo",
    "trl.experimental.tpo.tpo_trainer": "trl.experimental.tpo",
    "trl.trainer.bco_config": "trl",
    "trl.trainer.bco_trainer": "trl",
    "trl.trainer.callbacks": "trl",
    "trl.trainer.cpo_config": "trl",
    "trl.trainer.cpo_trainer": "trl",
    "trl.trainer.distillation_config": "trl",
    "trl.trainer.distillation_trainer": "trl",
    "trl.trainer.dpo_config": "trl",
    "trl.trainer.dpo_trainer": "trl",
    "trl.trainer.gkd_config": "trl",
    "trl.trainer.gkd_trainer": "trl",
    "trl.trainer.grpo_config": "trl",
    "trl.trainer.grpo_trainer": "trl",
    "trl.trainer.iterative_sft_config": "trl",
    "trl.trainer.iterative_sft_trainer": "trl",
    "trl.trainer.kto_config": "trl",
    "trl.trainer.kto_trainer": "trl",
    "trl.trainer.nash_md_config": "trl",
    "trl.trainer.nash_md_trainer": "trl",
    "trl.trainer.online_dpo_config": "trl",
    "trl.trainer.online_dpo_trainer": "trl",
    "trl.trainer.orpo_config": "trl",
    "trl.trainer.orpo_trainer": "trl",
    "trl.trainer.ppo_config": "trl",
    "trl.trainer.ppo_trainer": "trl",
    "trl.trainer.prm_config": "trl",
    "trl.trainer.prm_trainer": "trl",
    "trl.trainer.reward_config": "trl",
    "trl.trainer.reward_trainer": "trl",
    "trl.trainer.rloo_config": "trl",
    "trl.trainer.rloo_trainer": "trl",
    "trl.trainer.sft_config": "trl",
    "trl.trainer.sft_trainer": "trl",
    "trl.trainer.xpo_config": "trl",
    "trl.trainer.xpo_trainer": "trl",
    # peft 0.21.2.
    "peft.peft_model": "peft",
    # deepspeed 0.19.8.
    "deepspeed.runtime.engine.DeepSpeedEngine": "deepspeed.DeepSpeedEngine",
    "deepspeed.runtime.pipe.engine.PipelineEngine": "deepspeed.PipelineEngine",
    "deepspeed.comm.comm": "deepspeed.comm",
    "deepspeed.init_distributed": "deepspeed.comm.init_distributed",
    "deepspeed.runtime.zero.partition_parameters": "deepspeed.zero",
    "deepspeed.runtime.zero.Init": "deepspeed.zero.Init",
    "deepspeed.runtime.zero.GatheredParameters": "deepspeed.zero.GatheredParameters",
    "deepspeed.zero.unwrap_model_for_generation": (
        "deepspeed.runtime.zero.unwrap_model_for_generation"
    ),
    "deepspeed.utils.tensor_fragment": "deepspeed.utils",
    "deepspeed.dist": "deepspeed.comm",
    # lightning 2.6.6: three packages with the same classes.
    "pytorch_lightning": "lightning.pytorch",
    "lightning_fabric": "lightning.fabric",
    "lightning.Trainer": "lightning.pytorch.Trainer",
    "lightning.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.LightningDataModule": "lightning.pytorch.LightningDataModule",
    "lightning.Callback": "lightning.pytorch.Callback",
    "lightning.seed_everything": "lightning.fabric.seed_everything",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "lightning.fabric.fabric": "lightning.fabric",
    "lightning.fabric.utilities.seed": "lightning.fabric",
    "lightning.pytorch.seed_everything": "lightning.fabric.seed_everything",
    "lightning.pytorch.utilities.seed.isolate_rng": "lightning.pytorch.utilities.seed.isolate_rng",
    "lightning.pytorch.trainer.Trainer": "lightning.pytorch.Trainer",
    "lightning.pytorch.trainer.trainer": "lightning.pytorch",
    "lightning.pytorch.core.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.pytorch.core.module": "lightning.pytorch",
    "lightning.pytorch.core.lightning": "lightning.pytorch",
    "lightning.pytorch.callbacks.Callback": "lightning.pytorch.Callback",
    "lightning.pytorch.callbacks.callback": "lightning.pytorch",
    "lightning.pytorch.utilities.distributed.rank_zero_only": (
        "lightning.pytorch.utilities.rank_zero.rank_zero_only"
    ),
    "lightning.pytorch.utilities.rank_zero_only": (
        "lightning.pytorch.utilities.rank_zero.rank_zero_only"
    ),
    # mosaicml 0.32.1, mmengine 0.10.7, pytorch-ignite 0.5.5, torchtune 0.6.1, ray 2.60.0.
    "composer.utils.get_global_rank": "composer.utils.dist.get_global_rank",
    "mmcv.fileio.dump": "mmcv.dump",
    "mmcv.image.imwrite": "mmcv.imwrite",
    "imageio.v2.get_writer": "imageio.get_writer",
    "mmcv.runner.dist_utils": "mmcv.runner",
    "clip.clip.load": "clip.load",
    "mmengine.dump": "mmengine.fileio.dump",
    "mmengine.fileio.io": "mmengine.fileio",
    "mmengine.dist.dist": "mmengine.dist",
    "mmengine.dist.utils": "mmengine.dist",
    "mmengine.hooks.hook": "mmengine.hooks",
    "mmengine.runner.base_loop": "mmengine.runner",
    "mmengine.runner.loops": "mmengine.runner",
    "mmengine.evaluator.metric": "mmengine.evaluator",
    "mmcv.runner.hooks": "mmcv.runner",
    "mmcv.runner.hooks.hook": "mmcv.runner",
    "ignite.distributed.utils": "ignite.distributed",
    "torchtune.training._distributed": "torchtune.training",
    "ray.train.context": "ray.train",
    "ray.train.collective.collectives": "ray.train.collective",
    # megatron-core 0.19.2, colossalai 0.5.0, timm 1.0.31.
    "megatron.core.mpu": "megatron.core.parallel_state",
    "megatron.training.utils.common_utils": "megatron.training.utils",
    "colossalai.cluster.dist_coordinator": "colossalai.cluster",
    "torchpack.distributed.context": "torchpack.distributed",
    "timm.utils.distributed": "timm.utils",
    # fairseq 0.12.2 fairseq/__init__.py:24: the old place of the module, under which most projects import it.
    "fairseq.distributed_utils": "fairseq.distributed.utils",
}
"""Public name by defining name, for modules, classes and functions; applies to what is below too."""

_HEADS = frozenset(name.partition(".")[0] for name in CANONICAL)


def canonical_name(name: str) -> str:
    """The name by which the tables know `name`.

    Args:
        name: a dotted name as imports resolve it, for instance
            ``pytorch_lightning.trainer.trainer.Trainer.fit``.

    Returns:
        The public name, here ``lightning.pytorch.Trainer.fit``; `name` itself where none is known.
    """
    if name.partition(".")[0] not in _HEADS:
        return name
    while True:
        prefix = name
        while prefix and CANONICAL.get(prefix, prefix) == prefix:
            # A name that stands for itself shields what is below from a shorter prefix.
            if prefix in CANONICAL:
                return name
            prefix = prefix.rpartition(".")[0]
        if not prefix:
            return name
        name = CANONICAL[prefix] + name[len(prefix) :]
