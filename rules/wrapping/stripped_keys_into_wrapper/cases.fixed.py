"""States whose keys lost the wrapper's prefix, loaded into the wrapper; and those that fit what they are loaded into."""

import torch
import torch.distributed as dist
from distlint.runtime import unwrap
from torch.nn.parallel import DistributedDataParallel

# --- bugs -----------------------------------------------------------------------------------------


def silently(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = torch.load(path, map_location="cpu")
    state = {key.replace("module.", ""): value for key, value in state.items()}
    net.module.load_state_dict(state, strict=False)  # expect: DL213
    return net


def loudly(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = {}
    for key, value in torch.load(path, map_location="cpu").items():
        state[key[7:]] = value
    net.module.load_state_dict(state)  # expect: DL213
    return net


def made(net):
    dist.init_process_group("nccl")
    net.cuda()
    if dist.get_world_size() > 1:
        net = DistributedDataParallel(net)
    return net


def pretrained(net, path):
    state = torch.load(path, map_location="cpu")["encoder"]
    state = {key.removeprefix("module."): value for key, value in state.items()}
    message = unwrap(net).load_state_dict(state, False)  # expect: DL213
    print(message)
    return net


def train(net, path):
    net = made(net)
    return pretrained(net, path)


# --- correct --------------------------------------------------------------------------------------


def into_the_model(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = {k.replace("module.", ""): v for k, v in torch.load(path, map_location="cpu").items()}
    net.module.load_state_dict(state, strict=False)
    return net


def before_the_wrap(net, path):
    dist.init_process_group("nccl")
    state = {k.replace("module.", ""): v for k, v in torch.load(path, map_location="cpu").items()}
    net.load_state_dict(state, strict=False)
    return DistributedDataParallel(net.cuda())


def as_it_was_saved(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    net.load_state_dict(torch.load(path, map_location="cpu"))
    return net


def off_and_on_again(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = {k.replace("module.", ""): v for k, v in torch.load(path, map_location="cpu").items()}
    state = {"module." + key: value for key, value in state.items()}
    net.load_state_dict(state)
    return net


def another_prefix(net, path):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = torch.load(path, map_location="cpu")
    state = {key.replace("backbone.", ""): value for key, value in state.items()}
    net.load_state_dict(state, strict=False)
    return net


def only_on_one_process(net, path, args):
    net.cuda()
    if args.distributed:
        dist.init_process_group("nccl")
        net = DistributedDataParallel(net)
    state = torch.load(path, map_location="cpu")
    if not args.distributed and next(iter(state)).startswith("module"):
        state = {key[len("module.") :]: value for key, value in state.items()}
    net.load_state_dict(state)
    return net


def write(folder, step, net, optimizer, best):
    saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    saved["step"] = step
    if best:
        path = f"{folder}/best_net.pt"
    else:
        path = f"{folder}/net_{step}.pt"
    torch.save(saved, path)


def best_of_the_model_inside(net, optimizer, folder):
    # MONAI research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:163
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    inner = net.module
    state = torch.load(f"{folder}/best_net.pt", map_location="cpu")["net"]
    net.module.load_state_dict(state)  # expect: DL213
    if dist.get_rank() == 0:
        write(folder, 1, inner, optimizer, True)
    return net


def best_into_the_model_inside(net, optimizer, folder):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = torch.load(f"{folder}/best_net.pt", map_location="cpu")["net"]
    net.module.load_state_dict(state)
    optimizer.load_state_dict(torch.load(f"{folder}/best_net.pt", map_location="cpu")["optimizer"])
    return net


def last_of_the_wrapper(net, folder):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    state = torch.load(f"{folder}/last.tar", map_location="cpu")["net"]
    net.load_state_dict(state)
    torch.save({"net": net.state_dict()}, f"{folder}/last.tar")
    return net


def write_nothing(net):
    return
    torch.save({"net": net.state_dict()}, "never.pt")


def never_written(net):
    dist.init_process_group("nccl")
    inner = net.cuda()
    net = DistributedDataParallel(inner)
    net.load_state_dict(torch.load("never.pt", map_location="cpu")["net"])
    write_nothing(net.module)
    return net


class LoadsThenWraps:
    # ShapeLLM f754b0d ReConV2/tools/runner_pretrain.py:136: called above `parallel()` alone
    def __init__(self, net):
        self.net = net

    def parallel(self, place):
        self.net = DistributedDataParallel(self.net.cuda(), device_ids=[place])

    def from_last(self, path):
        state = torch.load(path, map_location="cpu")
        self.net.load_state_dict({key.replace("module.", ""): v for key, v in state.items()})

    def from_best(self, path):
        state = torch.load(path, map_location="cpu")
        state = {key.replace("module.", ""): value for key, value in state.items()}
        unwrap(self.net).load_state_dict(state)  # expect: DL213

    def step(self, batch):
        return self.net(batch).sum()


def resumes(net, path, place, loader):
    dist.init_process_group("nccl")
    trainer = LoadsThenWraps(net)
    trainer.from_last(path)
    trainer.parallel(place)
    for batch in loader:
        trainer.step(batch).backward()
    trainer.from_best(path)


def resumes_the_best(net, options, loader, optimizer):
    # CMUNeXt 18e7d7b main_ddp.py:131: the same template, with the same options
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    if options.resume:
        path = "kept/{}_best_{}.pth".format(options.net, options.data.split("_")[0])
        kept = torch.load(path)
        net.module.load_state_dict(kept["net"])  # expect: DL213
    for batch in loader:
        net(batch).sum().backward()
        optimizer.step()
        if dist.get_rank() == 0:
            kept = {"net": net.module.state_dict()}
            torch.save(kept, "kept/{}_best_{}.pth".format(options.net, options.data.split("_")[0]))


def resumes_another(net, options, loader, optimizer):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    if options.resume:
        path = "kept/{}_last_{}.pth".format(options.net, options.data)
        kept = torch.load(path)
        net.load_state_dict(kept["net"])
    for batch in loader:
        net(batch).sum().backward()
        optimizer.step()
        if dist.get_rank() == 0:
            kept = {"net": net.module.state_dict()}
            torch.save(kept, "kept/{}_best_{}.pth".format(options.net, options.data))


def resumes_what_it_wrapped(net, options, loader, optimizer, part):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    path = f"kept/{options.net}.pth"
    for batch in loader:
        kept = torch.load(path)
        net.load_state_dict(kept["net"])
        net(batch).sum().backward()
        optimizer.step()
        if part:
            kept = {"net": net.module.state_dict()}
        else:
            kept = {"net": net.state_dict()}
        torch.save(kept, path)


def resumes_where_it_is(net, folder, loader, optimizer):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    path = f"{folder}/net.pth"
    kept = torch.load(path)
    net.module.load_state_dict(kept["net"])
    for batch in loader:
        net(batch).sum().backward()
        optimizer.step()
    kept = {"net": net.module.state_dict()}
    torch.save(kept, path)
