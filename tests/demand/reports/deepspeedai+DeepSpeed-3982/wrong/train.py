import argparse

import deepspeed
import torch

from bert import Bert, token_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()
    deepspeed.init_distributed()
    torch.cuda.set_device(args.local_rank)
    net = Bert()
    engine, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
    for batch in token_loader(torch.distributed.get_rank()):
        loss = engine(batch.cuda()).mean()
        engine.backward(loss)
        engine.step()


if __name__ == "__main__":
    main()
