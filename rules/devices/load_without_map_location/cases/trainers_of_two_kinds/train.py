import torch
import torch.distributed as dist

try:
    import torch_xla.core.xla_model as xm
except ImportError:
    xm = None


class OnTpus:
    def __init__(self, model, path):
        dist.init_process_group("gloo", init_method="xla://")
        self.device = xm.xla_device()
        model.load_state_dict(torch.load(path))
        self.model = model.to(self.device)

    def save(self, path):
        if dist.get_rank() == 0:
            torch.save(self.model.state_dict(), path)


class OnGpus:
    def __init__(self, model, path):
        dist.init_process_group("nccl")
        model.load_state_dict(torch.load(path, map_location="cpu"))
        self.model = model.cuda()


def main(args, model):
    if args.tpus:
        return OnTpus(model, args.path)
    return OnGpus(model, args.path)
