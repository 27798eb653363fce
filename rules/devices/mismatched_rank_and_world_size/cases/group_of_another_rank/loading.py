import torch.distributed as dist


def loader_of(args):
    if dist.is_initialized() and args.cue == "lips":
        from lips import loader_of_lips as make
    else:
        from hands import loader_of_hands as make
    return make(args, open(args.path).readlines())
