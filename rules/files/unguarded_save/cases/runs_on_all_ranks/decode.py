import json

import hydra
from fairseq import distributed_utils, tasks


def main(cfg):
    # av_hubert 258fb50 avhubert/infer_s2s.py:251: each rank decodes its part
    task = tasks.setup_task(cfg.task)
    parts = task.get_batch_iterator(
        dataset=task.dataset(cfg.subset),
        num_shards=cfg.distributed_training.distributed_world_size,
        shard_id=cfg.distributed_training.distributed_rank,
    )
    decoded = {"hypotheses": []}
    for sample in parts.next_epoch_itr(shuffle=False):
        decoded["hypotheses"].append(task.inference_step(sample))
    json.dump(decoded, open(f"{cfg.results}/decoded.json", "w"))  # expect: DL301
    with open(f"{cfg.results}/part-{cfg.distributed_training.distributed_rank}.json", "w") as f:
        json.dump(decoded, f)


@hydra.main(config_path="conf", config_name="decode")
def start(cfg):
    distributed_utils.call_main(cfg, main)


if __name__ == "__main__":
    start()
