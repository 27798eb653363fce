"""Classes of libraries by the class whose rows apply to them: trainers, their arguments, callbacks."""

_ROWS: tuple[tuple[str, str, str], ...] = (
    # (class, base, source)
    (
        "trl.trainer.base_trainer._BaseTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/trainer/base_trainer.py:64",
    ),
    (
        "trl.DistillationTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/trainer/distillation_trainer.py:216",
    ),
    ("trl.DPOTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/dpo_trainer.py:404"),
    ("trl.GRPOTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/grpo_trainer.py:140"),
    ("trl.KTOTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/kto_trainer.py:459"),
    ("trl.RewardTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/reward_trainer.py:232"),
    ("trl.RLOOTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/rloo_trainer.py:111"),
    ("trl.SFTTrainer", "transformers.Trainer", "trl 1.16.0 trl/trainer/sft_trainer.py:515"),
    (
        "trl.experimental.server_distillation.ServerDistillationTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/server_distillation/server_distillation_trainer.py:130",
    ),
    (
        "trl.experimental.sdpo.SDPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/sdpo/sdpo_trainer.py:322",
    ),
    (
        "trl.experimental.a2po.A2POTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/a2po/a2po_trainer.py:48",
    ),
    (
        "trl.experimental.gold.GOLDTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/gold/gold_trainer.py:770",
    ),
    (
        "trl.experimental.online_dpo.OnlineDPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/online_dpo/online_dpo_trainer.py:103",
    ),
    (
        "trl.experimental.async_distillation.AsyncDistillationTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/async_distillation/async_distillation_trainer.py:1125",
    ),
    (
        "trl.experimental.tpo.TPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/tpo/tpo_trainer.py:216",
    ),
    (
        "trl.experimental.gkd.GKDTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/gkd/gkd_trainer.py:54",
    ),
    (
        "trl.experimental.gmpo.GMPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/gmpo/gmpo_trainer.py:22",
    ),
    (
        "trl.experimental.orpo.ORPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/orpo/orpo_trainer.py:94",
    ),
    (
        "trl.experimental.iw_opd.IWOPDTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/iw_opd/iw_opd_trainer.py:349",
    ),
    (
        "trl.experimental.sdft.SDFTTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/sdft/sdft_trainer.py:206",
    ),
    (
        "trl.experimental.cpo.CPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/cpo/cpo_trainer.py:82",
    ),
    (
        "trl.experimental.async_grpo.AsyncGRPOTrainer",
        "transformers.Trainer",
        "trl 1.16.0 trl/experimental/async_grpo/async_grpo_trainer.py:910",
    ),
    (
        "trl.trainer.base_config._BaseConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/trainer/base_config.py:21",
    ),
    (
        "trl.DistillationConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/trainer/distillation_config.py:22",
    ),
    ("trl.DPOConfig", "transformers.TrainingArguments", "trl 1.16.0 trl/trainer/dpo_config.py:23"),
    (
        "trl.GRPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/trainer/grpo_config.py:23",
    ),
    ("trl.KTOConfig", "transformers.TrainingArguments", "trl 1.16.0 trl/trainer/kto_config.py:22"),
    (
        "trl.RewardConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/trainer/reward_config.py:23",
    ),
    (
        "trl.RLOOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/trainer/rloo_config.py:23",
    ),
    ("trl.SFTConfig", "transformers.TrainingArguments", "trl 1.16.0 trl/trainer/sft_config.py:23"),
    (
        "trl.experimental.server_distillation.ServerDistillationConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/server_distillation/server_distillation_config.py:21",
    ),
    (
        "trl.experimental.sdpo.SDPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/sdpo/sdpo_config.py:24",
    ),
    (
        "trl.experimental.a2po.A2POConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/a2po/a2po_config.py:21",
    ),
    (
        "trl.experimental.gold.GOLDConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/gold/gold_config.py:23",
    ),
    (
        "trl.experimental.online_dpo.OnlineDPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/online_dpo/online_dpo_config.py:23",
    ),
    (
        "trl.experimental.async_distillation.AsyncDistillationConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/async_distillation/async_distillation_config.py:22",
    ),
    (
        "trl.experimental.tpo.TPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/tpo/tpo_config.py:22",
    ),
    (
        "trl.experimental.gkd.GKDConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/gkd/gkd_config.py:22",
    ),
    (
        "trl.experimental.gmpo.GMPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/gmpo/gmpo_config.py:21",
    ),
    (
        "trl.experimental.orpo.ORPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/orpo/orpo_config.py:22",
    ),
    (
        "trl.experimental.iw_opd.IWOPDConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/iw_opd/iw_opd_config.py:23",
    ),
    (
        "trl.experimental.sdft.SDFTConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/sdft/sdft_config.py:24",
    ),
    (
        "trl.experimental.cpo.CPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/cpo/cpo_config.py:22",
    ),
    (
        "trl.experimental.async_grpo.AsyncGRPOConfig",
        "transformers.TrainingArguments",
        "trl 1.16.0 trl/experimental/async_grpo/async_grpo_config.py:22",
    ),
    (
        "trl.SyncRefModelCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/trainer/callbacks.py:116",
    ),
    (
        "trl.RichProgressCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/trainer/callbacks.py:157",
    ),
    (
        "trl.LogCompletionsCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/trainer/callbacks.py:268",
    ),
    (
        "trl.WeaveCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/trainer/callbacks.py:361",
    ),
    ("trl.BEMACallback", "transformers.TrainerCallback", "trl 1.16.0 trl/trainer/callbacks.py:591"),
    (
        "trl.experimental.merge_model_callback.MergeModelCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/experimental/merge_model_callback.py:294",
    ),
    (
        "trl.experimental.sdpo.SyncTeacherModelCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/experimental/sdpo/teacher_sync.py:54",
    ),
    (
        "trl.experimental.sdpo.PEFTAdapterEMACallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/experimental/sdpo/teacher_sync.py:68",
    ),
    (
        "trl.experimental.async_distillation.StepIntervalCallback",
        "transformers.TrainerCallback",
        "trl 1.16.0 trl/experimental/async_distillation/async_distillation_trainer.py:481",
    ),
    ("trl.BCOTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/bco_trainer.py:284"),
    ("trl.CPOTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/cpo_trainer.py:74"),
    ("trl.GKDTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/gkd_trainer.py:59"),
    (
        "trl.IterativeSFTTrainer",
        "transformers.Trainer",
        "trl 0.20.0 trl/trainer/iterative_sft_trainer.py:54",
    ),
    ("trl.NashMDTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/nash_md_trainer.py:66"),
    (
        "trl.OnlineDPOTrainer",
        "transformers.Trainer",
        "trl 0.20.0 trl/trainer/online_dpo_trainer.py:93",
    ),
    ("trl.ORPOTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/orpo_trainer.py:78"),
    ("trl.PPOTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/ppo_trainer.py:99"),
    ("trl.PRMTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/prm_trainer.py:53"),
    ("trl.XPOTrainer", "transformers.Trainer", "trl 0.20.0 trl/trainer/xpo_trainer.py:66"),
    ("trl.BCOConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/bco_config.py:22"),
    ("trl.CPOConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/cpo_config.py:22"),
    ("trl.GKDConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/gkd_config.py:24"),
    (
        "trl.IterativeSFTConfig",
        "transformers.TrainingArguments",
        "trl 0.20.0 trl/trainer/iterative_sft_config.py:22",
    ),
    (
        "trl.NashMDConfig",
        "transformers.TrainingArguments",
        "trl 0.20.0 trl/trainer/nash_md_config.py:21",
    ),
    (
        "trl.OnlineDPOConfig",
        "transformers.TrainingArguments",
        "trl 0.20.0 trl/trainer/online_dpo_config.py:22",
    ),
    (
        "trl.ORPOConfig",
        "transformers.TrainingArguments",
        "trl 0.20.0 trl/trainer/orpo_config.py:22",
    ),
    ("trl.PPOConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/ppo_config.py:23"),
    ("trl.PRMConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/prm_config.py:22"),
    (
        "trl.trainer.utils.OnPolicyConfig",
        "transformers.TrainingArguments",
        "trl 0.20.0 trl/trainer/utils.py:693",
    ),
    ("trl.XPOConfig", "transformers.TrainingArguments", "trl 0.20.0 trl/trainer/xpo_config.py:21"),
    (
        "trl.WinRateCallback",
        "transformers.TrainerCallback",
        "trl 0.20.0 trl/trainer/callbacks.py:224",
    ),
    (
        "trl.MergeModelCallback",
        "transformers.TrainerCallback",
        "trl 0.20.0 trl/trainer/callbacks.py:512",
    ),
    (
        "sentence_transformers.multi_vector_encoder.MultiVectorEncoderTrainer",
        "transformers.Trainer",
        "sentence-transformers 6.2.0 sentence_transformers/multi_vector_encoder/trainer.py:36",
    ),
    (
        "sentence_transformers.cross_encoder.CrossEncoderTrainer",
        "transformers.Trainer",
        "sentence-transformers 6.2.0 sentence_transformers/cross_encoder/trainer.py:34",
    ),
    (
        "sentence_transformers.base.trainer.BaseTrainer",
        "transformers.Trainer",
        "sentence-transformers 6.2.0 sentence_transformers/base/trainer.py:89",
    ),
    (
        "sentence_transformers.sparse_encoder.SparseEncoderTrainer",
        "transformers.Trainer",
        "sentence-transformers 6.2.0 sentence_transformers/sparse_encoder/trainer.py:35",
    ),
    (
        "sentence_transformers.SentenceTransformerTrainer",
        "transformers.Trainer",
        "sentence-transformers 6.2.0 sentence_transformers/sentence_transformer/trainer.py:36",
    ),
    (
        "transformers.Seq2SeqTrainer",
        "transformers.Trainer",
        "transformers 5.23.0 transformers/trainer_seq2seq.py:55",
    ),
    (
        "transformers.Seq2SeqTrainingArguments",
        "transformers.TrainingArguments",
        "transformers 5.23.0 transformers/training_args_seq2seq.py:29",
    ),
    (
        "transformers.DefaultFlowCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/trainer_callback.py:563",
    ),
    (
        "transformers.ProgressCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/trainer_callback.py:624",
    ),
    (
        "transformers.PrinterCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/trainer_callback.py:698",
    ),
    (
        "transformers.EarlyStoppingCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/trainer_callback.py:711",
    ),
    (
        "transformers.trainer_jit_checkpoint.JITCheckpointCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/trainer_jit_checkpoint.py:79",
    ),
    (
        "transformers.integrations.TensorBoardCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:577",
    ),
    (
        "transformers.integrations.WandbCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:695",
    ),
    (
        "transformers.integrations.TrackioCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:935",
    ),
    (
        "transformers.integrations.CometCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1133",
    ),
    (
        "transformers.integrations.AzureMLCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1263",
    ),
    (
        "transformers.integrations.MLflowCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1286",
    ),
    (
        "transformers.integrations.DagsHubCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1467",
    ),
    (
        "transformers.integrations.NeptuneCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1527",
    ),
    (
        "transformers.integrations.CodeCarbonCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1809",
    ),
    (
        "transformers.integrations.ClearMLCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:1843",
    ),
    (
        "transformers.integrations.FlyteCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:2094",
    ),
    (
        "transformers.integrations.DVCLiveCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:2157",
    ),
    (
        "transformers.integrations.SwanLabCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:2262",
    ),
    (
        "transformers.integrations.KubeflowCallback",
        "transformers.TrainerCallback",
        "transformers 5.23.0 transformers/integrations/integration_utils.py:2436",
    ),
)

BASES: dict[str, str] = {name: base for name, base, _ in _ROWS}
"""The nearest base with rows of its own, by canonical name."""
