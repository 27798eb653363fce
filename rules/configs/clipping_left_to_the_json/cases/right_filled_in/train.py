import json

import deepspeed


def start(model, args):
    with open(args.deepspeed) as file:
        settings = json.load(file)
    settings["gradient_clipping"] = args.max_grad_norm
    return deepspeed.initialize(model=model, config=settings)
