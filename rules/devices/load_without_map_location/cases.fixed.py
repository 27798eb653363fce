"""Checkpoints that all ranks load, and other loads."""

import os
from datetime import datetime

import fairseq
import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def resume(model, optimizer, path):
    dist.barrier()
    checkpoint = torch.load(path, map_location="cpu")  # expect: DL505
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])


def best_so_far(model, path, loader):
    # PyTorch-Encoding ac74841 experiments/segmentation/train_dist.py:219: a number is at home on every device.
    dist.barrier()
    checkpoint = torch.load(path, map_location="cpu")  # expect: DL505
    model.load_state_dict(checkpoint["state_dict"])
    best_pred = checkpoint["best_pred"]
    for batch in loader:
        best_pred = max(best_pred, model(batch).mean())
        if model(batch).mean() > best_pred:
            return model


def averaged(model, path):
    # The average comes from the file to the CPU; the weights lie on this rank's GPU. The fix is shown only.
    dist.barrier()
    checkpoint = torch.load(path)  # expect: DL505
    model.load_state_dict(checkpoint["model"])
    shadow = checkpoint["shadow"]
    for name, value in model.state_dict().items():
        shadow[name].mul_(0.9).add_(value)
    return shadow


def nested(model, path):
    dist.barrier()
    model.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))  # expect: DL505
    return DDP(model)


def by_name(checkpoint_path):
    dist.barrier()
    return torch.load(  # expect: DL505
        checkpoint_path,  # the newest
        weights_only=True,
        map_location="cpu",
    )


def told_by_a_part(model, optimizer, path):
    # fast-autoaugment 2424224 FastAutoAugment/train.py:194: neither the file nor the variable is called a checkpoint
    dist.barrier()
    held = torch.load(path, map_location="cpu")  # expect: DL505
    optimizer.load_state_dict(held["second"])
    return held["first"]


def told_by_its_entry(net, args):
    # DFormer 814799b utils/infer.py:79
    dist.barrier()
    weights = torch.load(args.path, map_location="cpu")["all"]  # expect: DL505
    net.load_state_dict({name.removeprefix("module."): each for name, each in weights.items()})


def kept(args):
    dist.barrier()
    state = torch.load(args.resume, map_location="cpu")  # expect: DL505
    return state["model"], state["step"]


def beside_fairseq(model, path, other):
    # What goes to fairseq is another file.
    dist.barrier()
    checkpoint = torch.load(path, map_location="cpu")  # expect: DL505
    model.load_state_dict(checkpoint["model"])
    return fairseq.checkpoint_utils.load_model_ensemble_and_task([other])


# Correct


def on_the_cpu(model, path):
    dist.barrier()
    model.load_state_dict(torch.load(path, map_location="cpu"))


def by_position(model, path, device):
    dist.barrier()
    model.load_state_dict(torch.load(path, device))


def main_only(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load(path))


def one_process(model, path):
    model.load_state_dict(torch.load(path))


def data(cache_file):
    dist.barrier()
    return torch.load(cache_file)


def as_told(path, **kwargs):
    dist.barrier()
    return torch.load(path, **kwargs)


def write_features(model, folder):
    if dist.get_rank() == 0:
        torch.save(model.features().cpu(), f"{folder}/" + "model_features.pth")


def read_features(folder):
    dist.barrier()
    return torch.load(folder + "/model_features.pth")  # saved from the CPU


def convert(folder):
    state = torch.load(os.path.join(folder, "consolidated.00.pth"), map_location="cpu")
    torch.save({k.lower(): v for k, v in state.items()}, os.path.join(folder, "converted.pth"))


def load_converted(model, folder):
    dist.barrier()
    model.load_state_dict(torch.load(os.path.join(folder, "converted.pth")))


def load_mapped(model, checkpoint):
    dist.barrier()
    state = torch.load(checkpoint, mmap=True, weights_only=True)
    model.load_state_dict(state, assign=True)


def worker(gpu, args, model):
    args.gpu = gpu
    dist.barrier()
    if args.gpu is None:
        state = torch.load(args.checkpoint)  # one process has the whole machine
    else:
        state = torch.load(args.checkpoint, map_location=f"cuda:{args.gpu}")
    model.load_state_dict(state)


class Features(torch.utils.data.Dataset):
    def __init__(self, files):
        dist.barrier()
        self.files = files

    def __getitem__(self, index):
        return self.load(self.files[index])

    def load(self, name):
        dist.barrier()
        return torch.load(name + ".state.pt")  # a sample


def write_from_host(net, folder):
    # BiSeNet 6b4b67a old/train.py:168: the wrapper moves its module, in place
    path = os.path.join(folder, "model_at_home.pth")
    net.cpu()
    state = net.module.state_dict() if hasattr(net, "module") else net.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)


def read_from_host(net, folder="./res"):
    dist.barrier()
    net.load_state_dict(torch.load(os.path.join(folder, "model_at_home.pth")))


def write_after_return(net, folder):
    net.cpu()
    net.export(folder)
    net.to("cuda")
    torch.save(net.state_dict(), os.path.join(folder, "model_returned.pth"))


def read_after_return(net, folder):
    dist.barrier()
    net.load_state_dict(torch.load(os.path.join(folder, "model_returned.pth"), map_location="cpu"))  # expect: DL505


def write_another(net, ema, folder, small):
    ema.cpu()
    if small:
        net.cpu()
    torch.save(net.state_dict(), os.path.join(folder, "model_another.pth"))


def read_another(net, folder):
    dist.barrier()
    net.load_state_dict(torch.load(os.path.join(folder, "model_another.pth"), map_location="cpu"))  # expect: DL505


def write_copy(net, folder):
    net = net.copy()
    at_home = net.cpu
    net = net.cuda()
    torch.save(net.state_dict(), os.path.join(folder, "model_copy.pth"))
    return at_home


def read_copy(net, folder):
    dist.barrier()
    net.load_state_dict(torch.load(os.path.join(folder, "model_copy.pth"), map_location="cpu"))  # expect: DL505


def write_embedding(encoder, audio, stem):
    target = stem + ".model_embedding.pt"
    embedding = encoder(audio)
    torch.save(embedding.detach().cpu(), target)


def read_embedding(stem):
    dist.barrier()
    return torch.load(f"{stem}.model_embedding.pt")


def write_order(sampler, folder, step):
    torch.save(sampler.state_dict(step), os.path.join(folder, "order_state"))


def read_order(self, folder):
    dist.barrier()
    self.resumed = torch.load(os.path.join(folder, "order_state"))


def entry_of_samples(path):
    dist.barrier()
    rows = torch.load(path)["rows"]
    return [row for row in rows if row]


def order_told_by_a_part(sampler, path):
    dist.barrier()
    held = torch.load(path)
    sampler.load_state_dict(held["first"])
    return held["second"]


def resume_order(self, path):
    dist.barrier()
    self.sampler.load_state_dict(torch.load(path))


def tokenized(folder):
    dist.barrier()
    return torch.load(folder / "train.pt")


def hubert(checkpoint_path):
    # audiolm-pytorch audiolm_pytorch/hubert_kmeans.py:63
    dist.barrier()
    checkpoint = torch.load(checkpoint_path)
    given = {checkpoint_path: checkpoint}
    model, *_ = fairseq.checkpoint_utils.load_model_ensemble_and_task(given)
    return model[0]


PUBLISHED = "/weights/resnet50-0676ba61.pth"


def published_weights(net):
    # Infinity 4c27bbb tools/inception.py:248
    dist.barrier()
    net.load_state_dict(torch.load(PUBLISHED))


def dated_weights(net):
    dist.barrier()
    net.load_state_dict(torch.load("/weights/resnet50-run-20240131.pth", map_location="cpu"))  # expect: DL505


def move_number(args):
    if args.local_rank == -1:
        args.n_gpu = torch.cuda.device_count()
    else:
        args.n_gpu = 1
    args.lanes = min(args.n_gpu, args.batch_size)


def weights_for_all_gpus_of_one_process(args, net):
    # dlrm 090956e dlrm_s_pytorch.py:1406: `if dlrm.ndevices > 1`
    dist.barrier()
    if args.lanes > 1:
        net.load_state_dict(torch.load(args.weights))
    else:
        net.load_state_dict(torch.load(args.weights, map_location=args.device))


def weights_for_large_batches(args, net):
    dist.barrier()
    if args.batch_size > 1:
        net.load_state_dict(torch.load(args.weights, map_location="cpu"))  # expect: DL505


def optimizer_of_the_model(args, optimizer):
    # Pretrained-Language-Model 0598f02 JABER-PyTorch/run_alue.py:691: what would save it is a comment
    # torch.save(optimizer.state_dict(), os.path.join(args.output_dir, "moments.pt"))
    dist.barrier()
    if os.path.isfile(os.path.join(args.model_path, "moments.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(args.model_path, "moments.pt"), map_location="cpu"))  # expect: DL505


def optimizer_that_is_saved(args, optimizer):
    dist.barrier()
    if os.path.isfile(os.path.join(args.model_path, "momenta.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(args.model_path, "momenta.pt"), map_location="cpu"))  # expect: DL505


def save_optimizer(args, optimizer):
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), os.path.join(args.output_dir, "momenta.pt"))
def searched_codes(space, path):
    # MONAI tutorials b3c6c99 automl/DiNTS/train_dints.py:349
    dist.barrier()
    ckpt = torch.load(path)
    return space.decode(ckpt["node_a"], ckpt["arch_code_a"])


def searched_weights(space, path):
    dist.barrier()
    ckpt = torch.load(path, map_location="cpu")  # expect: DL505
    space.load(ckpt["arch_code_a"], ckpt["model"])


STARTED = "{0:%Y_%m_%d}".format(datetime.now())


def of_this_start(args, net):
    # insightface 7fadd42 parsing/dml_csr/train.py:237
    dist.barrier()
    args.restored = os.path.join(args.folder, STARTED, "best.pth")
    if os.path.exists(args.restored):
        net.load_state_dict(torch.load(args.restored))


def of_another_start(args, net):
    dist.barrier()
    args.restored = os.path.join(args.folder, args.started, "best.pth")
    if os.path.exists(args.restored):
        net.load_state_dict(torch.load(args.restored, map_location="cpu"))  # expect: DL505


def to_host(state):
    if isinstance(state, torch.Tensor):
        return state.cpu()
    if isinstance(state, dict):
        return {name: to_host(each) for name, each in state.items()}
    return state


class RestoresFromHost:
    # SwinBERT 03116f1 src/utils/load_save.py:322: the file, and its older copy, are written from the host's memory
    def __init__(self, args, net):
        self.path, self.net, self.step = f"{args.folder}/restored.pt", net, 0
        self.older_path = f"{args.folder}/restored_older.pt"

    def count(self):
        self.step += 1

    def save(self):
        checkpoint = {"step": self.step}
        checkpoint["weights"] = to_host(self.net.state_dict())
        if os.path.exists(self.path):
            os.rename(self.path, self.older_path)
        torch.save(checkpoint, self.path)

    def restore(self):
        dist.barrier()
        try:
            checkpoint = torch.load(self.path)
        except OSError:
            checkpoint = torch.load(self.older_path)
        self.net.load_state_dict(checkpoint["weights"])


class RestoresFromDevice:
    def __init__(self, args, net):
        self.path, self.net, self.step = f"{args.folder}/resumed.pt", net, 0
        self.older_path = f"{args.folder}/resumed_older.pt"

    def count(self):
        self.step += 1

    def save(self):
        checkpoint = {"step": self.step}
        checkpoint["weights"] = self.net.state_dict()
        if os.path.exists(self.path):
            os.rename(self.path, self.older_path)
        torch.save(checkpoint, self.path)

    def restore(self):
        dist.barrier()
        try:
            checkpoint = torch.load(self.path, map_location="cpu")  # expect: DL505
        except OSError:
            checkpoint = torch.load(self.older_path, map_location="cpu")  # expect: DL505
        self.net.load_state_dict(checkpoint["weights"])


def by_all_but_the_first(model, other, path):
    # PersFormer_3DLane 3ed3109 experiments/runner.py:794
    dist.barrier()
    if other and dist.get_rank() == 0:
        checkpoint = {}
    else:
        checkpoint = torch.load(path, map_location="cpu")  # expect: DL505
    model.load_state_dict(checkpoint)


def by_the_first_of_each_machine(model, path):
    dist.barrier()
    if int(os.environ["LOCAL_RANK"]) != 0:
        checkpoint = {}
    else:
        checkpoint = torch.load(path)
    model.load_state_dict(checkpoint)


class StopsEarly:
    # self-rewarding-lm-pytorch ebeca90 self_rewarding_lm_pytorch/dpo.py:195
    def __init__(self, net, judge):
        self.net = net
        self.judge = judge
        self.marks: list = []
        self.seen = []

    def step(self, folder):
        dist.barrier()
        if dist.get_rank() == 0:
            self.marks.append(self.judge(self.net))
        self.seen.append(folder)
        self.net.load_state_dict(torch.load(f"{folder}/weights.{len(self.marks) - 1}.pt"))

    def step_of_all(self, folder):
        dist.barrier()
        path = f"{folder}/weights.{len(self.seen) - 1}.pt"
        self.net.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL505


def write_weights(net, folder):
    torch.save(net.state_dict(), os.path.join(folder, "sketch_weights.pth"))


def fetched_weights(net, folder):
    # ControlAR 87e32e9 condition/hed.py:65: information
    dist.barrier()
    path = os.path.join(folder, "edge_detector.pth")
    if not os.path.exists(path):
        download_file("https://example.org/models/edge_detector.pth", folder)
    net.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL505


def own_weights(net, folder):
    dist.barrier()
    path = os.path.join(folder, "sketch_weights.pth")
    if not os.path.exists(path):
        download_file("https://example.org/models/sketch_weights.pth", folder)
    net.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL505


def published_backbone(path, width):
    # IDvs.MoRec ce372cf bce_vision/main-end2end/run.py:41: information
    dist.barrier()
    net = torchvision.models.resnet18(weights=None)
    net.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL505
    net.fc = torch.nn.Linear(net.fc.in_features, width)
    return net


def trained_backbone(path, width):
    dist.barrier()
    net = torchvision.models.resnet18(weights=None, num_classes=width)
    net.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL505
    return net
