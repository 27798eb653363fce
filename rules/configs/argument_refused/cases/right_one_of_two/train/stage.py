from dataclasses import dataclass

import torch.distributed as dist
import transformers


@dataclass
class Arguments:
    stage: int = 1
    plan: str = ""


if __name__ == "__main__":
    parser = transformers.HfArgumentParser((Arguments,))
    (args,) = parser.parse_args_into_dataclasses()
    dist.init_process_group("nccl")
