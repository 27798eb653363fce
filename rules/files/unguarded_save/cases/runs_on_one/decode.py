import json

import hydra
from fairseq import distributed_utils, tasks
from fairseq.distributed_utils import get_rank


def main(cfg):
    task = tasks.setup_task(cfg.task)
    decoded = {"hypotheses": [task.inference_step(s) for s in task.dataset(cfg.subset)]}
    json.dump(decoded, open(f"{cfg.results}/decoded.json", "w"))
    return get_rank()


@hydra.main(config_path="conf", config_name="decode")
def start(cfg):
    main(cfg)
    distributed_utils.call_main(cfg, hello)


def hello(cfg):
    print(cfg.name)


if __name__ == "__main__":
    start()
