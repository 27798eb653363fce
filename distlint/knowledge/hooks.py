"""Who calls a user's methods and hooks, and on which ranks.

Without a row a callback is assumed to run on every rank.
"""

from typing import NamedTuple

THREADS: frozenset[str] = frozenset({"threading.Thread", "threading.Timer"})
"""Calls that run a function in a thread of the same process (python 3.11 threading.py): the rank takes part
in its collectives, and only ranks that start the thread do."""

ANY_REGISTRARS: frozenset[str] = frozenset(
    {
        "register_save_state_pre_hook",
        "register_load_state_pre_hook",
        "add_callback",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_post_accumulate_grad_hook",
        "register_state_dict_post_hook",
        "register_comm_hook",
        "add_event_handler",
    }
)
"""By method name alone."""

STARTED_BY: dict[str, tuple[int, str]] = {
    "fairseq.distributed_utils.call_main": (1, "main"),
    "fairseq.distributed.utils.call_main": (1, "main"),
    "detectron2.engine.launch": (0, "main_func"),
    "detectron2.engine.launch.launch": (0, "main_func"),
    "torch.multiprocessing.spawn": (0, "fn"),
    "torch.distributed.launcher.api.elastic_launch": (1, "entrypoint"),
    "torch.distributed.launcher.elastic_launch": (1, "entrypoint"),
    "ray.train.torch.TorchTrainer": (0, "train_loop_per_worker"),
}
"""Functions that run one that they are given on every rank, and where it is given. fairseq 0.12.2
fairseq/distributed/utils.py:349: `call_main(cfg, main)` spawns a process for each GPU that it sees; detectron2 0.6
detectron2/engine/launch.py:27; torch 2.13.0 torch/multiprocessing/spawn.py:300 and distributed/launcher/api.py:
`elastic_launch(config, train)(args)`; ray 2 python/ray/train/torch/torch_trainer.py: in each worker of
`ScalingConfig(num_workers=…)`."""

RUN_BY: dict[str, str] = {
    "register_save_state_pre_hook": "save_state",
    "register_load_state_pre_hook": "load_state",
}
"""Registrars whose hooks one method runs, on the ranks that call it (accelerate 1.15.0 accelerator.py:3684)."""


SERVERS: frozenset[str] = frozenset(
    {
        "flask",
        "flask_restful",
        "quart",
        "fastapi",
        "starlette",
        "aiohttp",
        "tornado",
        "sanic",
        "http.server",
        "socketserver",
        "xmlrpc.server",
        "rpyc",
        "gradio",
    }
)
"""Packages whose handlers run in the one process that a request reaches, while the other ranks wait in a loop
for what it broadcasts (megatron-core 0.19.2 inference/text_generation_server/endpoints/common.py)."""


ROUTES: frozenset[str] = frozenset(
    {"route", "get", "post", "put", "patch", "delete", "api_route", "websocket"}
)
"""Decorators, called with a path, of what a server calls for a request (flask 3.1 sansio/scaffold.py; fastapi 0.115
applications.py)."""


class Hooks(NamedTuple):
    """A base class whose methods a framework calls."""

    name: str
    source: str
    methods: tuple[str, ...]
    """The methods that the framework calls, on every rank unless named below."""
    main_only: tuple[str, ...] = ()
    """Of these, those called on the main process alone."""


HOOKS: dict[str, Hooks] = {
    row.name: row
    for row in (
        Hooks(
            "transformers.TrainerCallback",
            "transformers 5.23.0 transformers/trainer_callback.py:295",
            (
                "on_init_end",
                "on_train_begin",
                "on_train_end",
                "on_epoch_begin",
                "on_epoch_end",
                "on_step_begin",
                "on_pre_optimizer_step",
                "on_optimizer_step",
                "on_substep_end",
                "on_step_end",
                "on_evaluate",
                "on_predict",
                "on_save",
                "on_log",
                "on_prediction_step",
                "on_push_begin",
            ),
            # on_log too runs on every rank: callbacks test state.is_world_process_zero
            # themselves
        ),
        Hooks(
            "transformers.Trainer",
            "transformers 5.23.0 transformers/trainer.py:260",
            (
                "compute_loss",
                "training_step",
                "prediction_step",
                "evaluation_loop",
                "evaluate",
                "predict",
                "log",
                "save_model",
                "_save",
                "_save_checkpoint",
                "create_optimizer",
                "create_scheduler",
                "get_train_dataloader",
                "get_eval_dataloader",
                "get_test_dataloader",
                "_get_train_sampler",
                "_get_eval_sampler",
                "get_batch_samples",
                "_prepare_inputs",
                "_inner_training_loop",
                "_maybe_log_save_evaluate",
                "_load_best_model",
                "_load_from_checkpoint",
                "push_to_hub",
                "create_model_card",
                "store_flos",
                "_clip_grad_norm",
            ),
            # _save_checkpoint and save_model run on all ranks and choose the writer inside
        ),
        Hooks(
            "lightning.pytorch.LightningModule",
            "pytorch-lightning 2.6.6 pytorch_lightning/core/hooks.py:27",
            (
                "on_fit_start",
                "on_fit_end",
                "on_train_start",
                "on_train_end",
                "on_validation_start",
                "on_validation_end",
                "on_test_start",
                "on_test_end",
                "on_predict_start",
                "on_predict_end",
                "on_train_batch_start",
                "on_train_batch_end",
                "on_validation_batch_start",
                "on_validation_batch_end",
                "on_test_batch_start",
                "on_test_batch_end",
                "on_predict_batch_start",
                "on_predict_batch_end",
                "on_validation_model_zero_grad",
                "on_validation_model_eval",
                "on_validation_model_train",
                "on_test_model_eval",
                "on_test_model_train",
                "on_predict_model_eval",
                "on_train_epoch_start",
                "on_train_epoch_end",
                "on_validation_epoch_start",
                "on_validation_epoch_end",
                "on_test_epoch_start",
                "on_test_epoch_end",
                "on_predict_epoch_start",
                "on_predict_epoch_end",
                "on_before_zero_grad",
                "on_before_backward",
                "on_after_backward",
                "on_before_optimizer_step",
                "configure_sharded_model",
                "configure_model",
                "prepare_data",
                "setup",
                "teardown",
                "train_dataloader",
                "test_dataloader",
                "val_dataloader",
                "predict_dataloader",
                "transfer_batch_to_device",
                "on_before_batch_transfer",
                "on_after_batch_transfer",
                "on_load_checkpoint",
                "on_save_checkpoint",
                "training_step",
                "validation_step",
                "test_step",
                "predict_step",
                "configure_optimizers",
                "optimizer_step",
                "optimizer_zero_grad",
                "lr_scheduler_step",
                "configure_gradient_clipping",
                "forward",
            ),
        ),
        Hooks(
            "lightning.pytorch.LightningDataModule",
            "pytorch-lightning 2.6.6 pytorch_lightning/core/hooks.py:365",
            (
                "prepare_data",
                "setup",
                "teardown",
                "train_dataloader",
                "val_dataloader",
                "test_dataloader",
                "predict_dataloader",
                "on_before_batch_transfer",
                "on_after_batch_transfer",
                "transfer_batch_to_device",
                "state_dict",
                "load_state_dict",
            ),
            ("prepare_data",),
            # prepare_data runs on local rank 0 (prepare_data_per_node) or global rank 0, and a
            # barrier follows
        ),
        Hooks(
            "lightning.pytorch.Callback",
            "pytorch-lightning 2.6.6 pytorch_lightning/callbacks/callback.py:25",
            (
                "state_key",
                "_legacy_state_key",
                "_generate_state_key",
                "setup",
                "teardown",
                "on_fit_start",
                "on_fit_end",
                "on_sanity_check_start",
                "on_sanity_check_end",
                "on_train_batch_start",
                "on_train_batch_end",
                "on_train_epoch_start",
                "on_train_epoch_end",
                "on_validation_epoch_start",
                "on_validation_epoch_end",
                "on_test_epoch_start",
                "on_test_epoch_end",
                "on_predict_epoch_start",
                "on_predict_epoch_end",
                "on_validation_batch_start",
                "on_validation_batch_end",
                "on_test_batch_start",
                "on_test_batch_end",
                "on_predict_batch_start",
                "on_predict_batch_end",
                "on_train_start",
                "on_train_end",
                "on_validation_start",
                "on_validation_end",
                "on_test_start",
                "on_test_end",
                "on_predict_start",
                "on_predict_end",
                "on_exception",
                "state_dict",
                "load_state_dict",
                "on_save_checkpoint",
                "on_load_checkpoint",
                "on_before_backward",
                "on_after_backward",
                "on_before_optimizer_step",
                "on_before_zero_grad",
            ),
        ),
        Hooks(
            "composer.Callback",
            "mosaicml 0.32.1 composer/core/callback.py:19",
            (
                "run_event",
                "init",
                "before_load",
                "after_load",
                "fit_start",
                "iteration_start",
                "epoch_start",
                "before_dataloader",
                "after_dataloader",
                "batch_start",
                "before_train_batch",
                "before_forward",
                "after_forward",
                "before_loss",
                "after_loss",
                "before_backward",
                "after_backward",
                "after_train_batch",
                "batch_end",
                "batch_checkpoint",
                "epoch_end",
                "epoch_checkpoint",
                "iteration_end",
                "iteration_checkpoint",
                "predict_start",
                "predict_batch_start",
                "predict_before_forward",
                "predict_after_forward",
                "predict_batch_end",
                "predict_end",
                "eval_before_all",
                "eval_start",
                "eval_batch_start",
                "eval_before_forward",
                "eval_after_forward",
                "eval_batch_end",
                "eval_end",
                "eval_after_all",
                "eval_standalone_start",
                "eval_standalone_end",
                "fit_end",
                "close",
                "post_close",
            ),
        ),
        Hooks(
            "mmengine.hooks.Hook",
            "mmengine 0.10.7 mmengine/hooks/hook.py:9",
            (
                "before_run",
                "after_run",
                "before_train",
                "after_train",
                "before_val",
                "after_val",
                "before_test",
                "after_test",
                "before_save_checkpoint",
                "after_load_checkpoint",
                "before_train_epoch",
                "before_val_epoch",
                "before_test_epoch",
                "after_train_epoch",
                "after_val_epoch",
                "after_test_epoch",
                "before_train_iter",
                "before_val_iter",
                "before_test_iter",
                "after_train_iter",
                "after_val_iter",
                "after_test_iter",
            ),
        ),
        Hooks(
            "mmengine.runner.BaseLoop",
            "mmengine 0.10.7 mmengine/runner/base_loop.py:8",
            ("run", "run_epoch", "run_iter"),
        ),
        Hooks(
            "mmengine.evaluator.BaseMetric",
            "mmengine 0.10.7 mmengine/evaluator/metric.py:16",
            ("process", "evaluate"),
            # compute_metrics runs on the main process, with what all have collected
        ),
        Hooks(
            "mmcv.runner.Hook",
            "mmcv 1.7.2 mmcv/runner/hooks/hook.py:7",
            (
                "before_run",
                "after_run",
                "before_epoch",
                "after_epoch",
                "before_iter",
                "after_iter",
                "before_train_epoch",
                "before_val_epoch",
                "after_train_epoch",
                "after_val_epoch",
                "before_train_iter",
                "before_val_iter",
                "after_train_iter",
                "after_val_iter",
            ),
        ),
        Hooks(
            "torch.nn.Module",
            "torch 2.13.0 torch/nn/modules/module.py:407",
            ("forward", "train", "state_dict", "load_state_dict"),
        ),
        Hooks(
            "torch.utils.data.Dataset",
            "torch 2.13.0 torch/utils/data/dataset.py:39",
            ("__getitem__", "__getitems__", "__len__", "__iter__"),
            # in worker processes of each rank: collectives there hang
        ),
        Hooks(
            "torch.utils.data.Sampler",
            "torch 2.13.0 torch/utils/data/sampler.py:28",
            ("__iter__", "__len__", "set_epoch"),
        ),
        Hooks(
            "torchmetrics.Metric",
            "torchmetrics 1.9.0 torchmetrics/metric.py:52",
            ("update", "compute", "reset"),
        ),
    )
}
"""By qualified base class."""

BATCHES: dict[str, int] = {
    **dict.fromkeys(("training_step", "validation_step", "test_step", "predict_step"), 1),
    **{f"on_{stage}_batch_start": 1 for stage in ("train", "validation", "test", "predict")},
    **{f"on_{stage}_batch_end": 2 for stage in ("train", "validation", "test", "predict")},
}
"""By method: the place of the parameter, `self` included, in which Lightning hands a module its rank's own part of
the data (pytorch-lightning 2.6.6 pytorch_lightning/core/hooks.py:62, pytorch_lightning/core/module.py:759)."""

BATCH_NAMES: frozenset[str] = frozenset({"batch", "batched_inputs", "batched_input"})
"""Names of parameters that hold it elsewhere, and in callbacks."""

AFTER_FAILURE: frozenset[tuple[str, str]] = frozenset(
    {("lightning.pytorch.Callback", name) for name in ("on_keyboard_interrupt", "on_exception")}
)
"""Hooks by which a rank takes leave, each with the class that has it: nobody knows which others are still there
(pytorch-lightning 2.6.6 pytorch_lightning/trainer/call.py:61; `on_keyboard_interrupt` up to 1.9)."""

MAIN_ONLY_METHODS: dict[str, str] = {
    f"{row.name}.{method}": "local_main" for row in HOOKS.values() for method in row.main_only
} | {"lightning.pytorch.LightningModule.prepare_data": "local_main"}
"""Methods that a framework calls on the local main process alone, by qualified name."""
