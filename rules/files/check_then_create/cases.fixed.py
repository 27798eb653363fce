"""Cases of DL305: existence tests followed by what they ask for, on every rank."""

import contextlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path

import gdown
import six
import torch
import torch.distributed as dist
from accelerate import Accelerator
from distlint.runtime import main_process_first
from filelock import FileLock
from mmcv.runner import Hook
from six import PY2
from torch.utils.data import Dataset, DistributedSampler
from transformers import TrainerCallback


# --- bugs -----------------------------------------------------------------------------------------


def removes_two(folder):
    # Amphion d3de90f models/vocoders/vocoder_inference.py:106: one section for both
    dist.barrier()
    with main_process_first():
        if os.path.exists(os.path.join(folder, "one")):
            shutil.rmtree(os.path.join(folder, "one"))  # expect: DL305
        if os.path.exists(os.path.join(folder, "two")):
            shutil.rmtree(os.path.join(folder, "two"))  # expect: DL305
    print("gone")
    with main_process_first():
        if os.path.exists(os.path.join(folder, "three")):
            shutil.rmtree(os.path.join(folder, "three"))  # expect: DL305


def two_in_a_new_folder(name):
    # Multi_Lanes_Detection 2a638bd lib/experiment.py:30: one rank alone comes to the others
    dist.barrier()
    weights = name + "-weights"
    if not os.path.exists(name):
        os.makedirs(name, exist_ok=True)  # expect: DL305
        os.makedirs(os.path.join(name, "answers"), exist_ok=True)
        os.makedirs(weights, exist_ok=True)


def two_beside_each_other(name):
    dist.barrier()
    if not os.path.exists(name):
        os.makedirs(name, exist_ok=True)  # expect: DL305
    if not os.path.exists(name + "-weights"):
        os.makedirs(name + "-weights", exist_ok=True)  # expect: DL305


def two_in_a_tolerated_folder(name):
    dist.barrier()
    if not os.path.exists(name):
        os.makedirs(name, exist_ok=True)
        os.makedirs(os.path.join(name, "answers"), exist_ok=True)  # expect: DL305


def filled_by_another(options):
    dist.barrier()
    if not os.path.exists("filled"):
        os.makedirs("filled", exist_ok=True)  # expect: DL305
    fill("filled/names.json", options)
    with open("filled/names.json") as read:
        return json.load(read)


def read_elsewhere(options):
    dist.barrier()
    if not os.path.exists("made"):
        os.makedirs("made", exist_ok=True)  # expect: DL305
    with open("given/names.json") as read:
        return json.load(read)


def folder_of_options(options):
    # `started_below()` makes the folder above it
    dist.barrier()
    folder = Path(options.folder) / "logs"
    if not folder.exists():
        folder.mkdir(exist_ok=True)  # expect: DL305


def started_below(options):
    dist.init_process_group("nccl")
    os.makedirs(options.folder, exist_ok=True)
    folder_of_options(options)


def folder_of_one(options):
    dist.barrier()
    if not os.path.exists(options.folder):
        os.makedirs(options.folder, exist_ok=True)  # expect: DL305


def started_apart(options):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        os.makedirs(options.folder, exist_ok=True)
    folder_of_one(options)


def folder_of_another_option(options):
    dist.barrier()
    if not os.path.exists(options.results):
        os.makedirs(options.results, exist_ok=True)  # expect: DL305


def started_elsewhere(options):
    dist.init_process_group("nccl")
    if options.verbose:
        os.makedirs(options.results, exist_ok=True)
    os.makedirs(options.folder, exist_ok=True)
    folder_of_another_option(options)


def cache_of(name):
    folder = os.path.join("cache", name)
    if not os.path.exists(folder):
        os.makedirs(folder, exist_ok=True)  # expect: DL305
    return folder


def another_cache_first(accelerator: Accelerator):
    if accelerator.is_main_process:
        cache_of("first")
    accelerator.wait_for_everyone()
    return cache_of("second")


def directory(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(out, exist_ok=True)  # expect: DL305
    folder = Path(out) / "images"
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # expect: DL305


def fetch(url, path):
    dist.barrier()
    with main_process_first():
        if not os.path.isfile(path):
            # Large.
            urllib.request.urlretrieve(url, path)  # expect: DL305
    return path


def fetch_by_command(url, folder):
    dist.barrier()
    weights, words = os.path.join(folder, "weights.pth"), f"{folder}/words.txt"
    with main_process_first():
        if not os.path.isfile(weights):
            os.system(f"wget -q {url} -O {weights}")  # expect: DL305
        if not os.path.exists(words):
            subprocess.run(["curl", "-L", url, "-o", words], check=True)  # expect: DL305
        if not Path(folder, "images").is_dir():
            os.system("tar -xf " + weights + " -C " + folder + "/images")  # expect: DL305
        if not os.path.exists("merges.txt"):
            subprocess.check_call("wget %s -O 'merges.txt'" % url, shell=True)  # expect: DL305


def fetch_into(url, folder, name):
    dist.barrier()
    path = os.path.join(folder, name)
    with main_process_first():
        if os.path.isdir(folder) and not os.path.exists(path):
            urllib.request.urlretrieve(url, path)  # expect: DL305


def asks_elsewhere(url, path, careful):
    dist.barrier()
    with main_process_first():
        if not os.path.isfile(path):
            if careful:
                input("go on? ")
            urllib.request.urlretrieve(url, path)  # expect: DL305


class Log(TrainerCallback):
    # llamafactory 0.9.4 extras/logging.py.
    def __init__(self, folder):
        self.file = os.path.join(folder, "running.log")
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.file)  # expect: DL305

    def on_train_begin(self, args, state, control, **kwargs):
        tee = Path(args.output_dir, "debug.log")
        if tee.exists():
            tee.unlink(missing_ok=True)  # expect: DL305


def clears_a_folder(root: Path):
    # ABINet 789743c callbacks.py:306: a rank that comes late removes what the first has made
    dist.barrier()
    if root.exists():
        shutil.rmtree(root)  # expect: DL305
    root.mkdir()  # expect: DL305
    (root / "maps").mkdir()  # expect: DL305


def makes_room_for_a_folder(path: Path):
    # lightning 2.6.6 lightning_fabric/strategies/model_parallel.py:403: `missing_ok` is not enough.
    dist.barrier()
    with main_process_first():
        if path.is_file():
            path.unlink()  # expect: DL305
    path.mkdir(parents=True, exist_ok=True)


def asked_to_save(model, switch: Path, step):
    # smollm a041759 vision/m4/training/trainer.py:1403: who comes second does not save.
    dist.barrier()
    saves = step % 100 == 0
    if switch.exists():
        saves = True
        switch.unlink()  # expect: DL305
    if saves:
        dist.all_reduce(model.weight)


def asked_to_stop(switch, loader, model):
    dist.barrier()
    for batch in loader:
        if os.path.exists(switch):
            os.remove(switch)  # expect: DL305
            break
        model(batch)


def read_if_it_can_be(path):
    dist.barrier()
    with main_process_first():
        if os.path.exists(path):
            try:
                return torch.load(path, map_location="cpu")
            except RuntimeError:
                os.remove(path)  # expect: DL305
    return None


def said_before(path: Path):
    dist.barrier()
    if path.exists():
        print("an old one")
        path.unlink(missing_ok=True)  # expect: DL305


class Prepares:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)


def copies_before_there_is_a_group(model, start, path):
    # F5-TTS 2ae2c9b src/f5_tts/train/finetune_cli.py:149: the trainer makes the group.
    if not os.path.isfile(path):
        shutil.copy2(start, path)  # expect: DL305
    prepared = Prepares(model)
    prepared.accelerator.wait_for_everyone()
    return prepared


def with_comments(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(  # expect: DL305
            out,
            mode=0o755,  # for the group, too
            exist_ok=True,
        )


class Logger:
    # torchtune 0.6.1 training/metric_logging.py: the rank beside the folder is not in its name.
    def __init__(self, **settings):
        self.folder = settings.pop("dir", None)
        if not os.path.exists(self.folder):
            os.makedirs(self.folder, exist_ok=True)  # expect: DL305
        self.world_size, self.rank = dist.get_world_size(), dist.get_rank()
        self.label: str = f"rank{self.rank}"
        if self.rank == 0:
            print("logs in", self.folder)


def indexed(name, folder, is_main=True):
    # contriever 39fb220 src/beir_utils.py:172: train.py passes nothing for `is_main`
    if not os.path.isdir(folder) and is_main:
        os.makedirs(folder, exist_ok=True)  # expect: DL305
    dist.barrier()
    return os.path.join(folder, name)


def indexes(names, folder):
    return [indexed(name, folder) for name in names]


SETS = {}


def register_set(name):
    def keep(cls):
        SETS[name] = cls
        return cls

    return keep


def set_by_name(config):
    return SETS[config.name](config.root, config.split)


def loader_of(config):
    dist.barrier()
    return DistributedSampler(set_by_name(config))


@register_set("clouds")
class Clouds(Dataset):
    # ULIP f194ddb models/pointnext/PointNeXt/openpoints/dataset/s3dis/s3dis.py:92
    def __init__(self, root, split, presample=True):
        filename = os.path.join(root, f"{split}.pkl")
        with main_process_first():
            if presample and not os.path.exists(filename):
                self.data = [1, 2, 3]
                with open(filename, "wb") as file:  # expect: DL305
                    pickle.dump(self.data, file)
            elif presample:
                with open(filename, "rb") as file:
                    self.data = pickle.load(file)


class Pairs(Dataset):
    # croco d7de070 stereoflow/datasets_stereo.py:127
    def __init__(self, split):
        self.split = split
        self.name_it()
        self.load_or_build()

    def load_or_build(self):
        cache = os.path.join("caches", self.name + ".pkl")
        with main_process_first():
            if os.path.isfile(cache):
                with open(cache, "rb") as file:
                    self.pairs = pickle.load(file)
            else:
                self.pairs = self.build()
                with open(cache, "wb") as file:  # expect: DL305
                    pickle.dump(self.pairs, file)


class StreetPairs(Pairs):
    def name_it(self):
        self.name = "street"

    def build(self):
        return [1, 2]


def data_of(text):
    return eval(text.replace("(", "Pairs("))


def loader_of_pairs(text):
    dist.barrier()
    return DistributedSampler(data_of(text))


class CacheWithoutAWait:
    def __init__(self, words):
        self.words = words

    def fill(self, path):
        if not os.path.exists(path):
            torch.save(self.words, path)  # expect: DL305


def filled(words, path):
    CacheWithoutAWait(words).fill(path)


def filled_while_it_is_made(words, path):
    dist.barrier()
    if dist.get_rank() == 0:
        Process(target=filled, args=(words, path)).start()
    CacheWithoutAWait(words).fill(path)


class Frames(Dataset):
    # DROID-SLAM 2dfd39f droid_slam/data_readers/base.py:44, which a table of tuples leads to
    def __init__(self, name, folder="cache"):
        cache = os.path.join(folder, f"{name}.pickle")
        with main_process_first():
            if os.path.isfile(cache):
                with open(cache, "rb") as file:
                    self.scenes = pickle.load(file)
            else:
                self.scenes = [1, 2]
                with open(cache, "wb") as file:  # expect: DL305
                    pickle.dump(self.scenes, file)


class StreetFrames(Frames):
    def __init__(self, **settings):
        super(StreetFrames, self).__init__("street", **settings)


def frames_of(names, **settings):
    known = {"street": (StreetFrames, 1.0)}
    return [known[name][0](**settings) for name in names]


def samplers_of_frames(names):
    dist.barrier()
    return [DistributedSampler(frames) for frames in frames_of(names)]


class Tokens(Dataset):
    # MOSS c810e0b finetune_moss.py:92
    def __init__(self, folder, kind="train"):
        super().__init__()
        self.folder, self.kind = folder, kind
        self.read()

    def read(self):
        words = os.path.join(self.folder, f"{self.kind}_words")
        spans = os.path.join(self.folder, f"{self.kind}_spans")
        with main_process_first():
            if os.path.exists(words) and os.path.exists(spans):
                self.words, self.spans = torch.load(words), torch.load(spans)
            else:
                self.words, self.spans = [1, 2], [3]
                torch.save(self.words, words)  # expect: DL305
                torch.save(self.spans, spans)  # expect: DL305


def prepared_tokens(folder, model):
    accelerator = Accelerator()
    return accelerator.prepare(model, torch.utils.data.DataLoader(Tokens(folder)))


def on_either_python(out):
    dist.barrier()
    if six.PY2:
        return
    if not os.path.exists(out):
        os.makedirs(out, exist_ok=True)  # expect: DL305


def renamed(folder):
    # Chinese-Vicuna bd1658d finetune.py:111: one finding
    dist.barrier()
    old, new = os.path.join(folder, "a.bin"), os.path.join(folder, "b.bin")
    with main_process_first():
        if os.path.exists(old) and not os.path.exists(new):
            os.rename(old, new)  # expect: DL305


def folder_of_a_part(args):
    # another folder is made in front of the call
    if not os.path.exists(args.logs):
        os.makedirs(args.logs, exist_ok=True)  # expect: DL305


def makes_the_other(args):
    dist.barrier()
    os.makedirs(args.out, exist_ok=True)
    folder_of_a_part(args)


def folder_of_some(args):
    if not os.path.exists(args.out):
        os.makedirs(args.out, exist_ok=True)  # expect: DL305


def made_by_one_caller(args):
    dist.barrier()
    os.makedirs(args.out, exist_ok=True)
    folder_of_some(args)


def not_by_the_other(args):
    dist.barrier()
    folder_of_some(args)


def made_for_an_option(args):
    dist.barrier()
    if args.keep:
        os.makedirs(args.out, exist_ok=True)
    if not os.path.exists(args.out):
        os.makedirs(args.out, exist_ok=True)  # expect: DL305


def a_folder_for_each_of_the_settings(args, evaluate):
    # Sa2VA 9832e1a sa2va_eval/run.py:70
    dist.barrier()
    for name in args.models:
        folder = os.path.join(args.out, name)
        os.makedirs(folder, exist_ok=True)  # expect: DL305
        evaluate(folder)


def a_folder_for_each_of_the_ranks_own(args, evaluate):
    args.shares = args.shares[dist.get_rank() :: dist.get_world_size()]
    dist.barrier()
    for name in args.shares:
        folder = os.path.join(args.out, name)
        os.makedirs(folder)
        evaluate(folder)


def one_kind_of_several(kind, path):
    if kind == "several":
        dist.init_process_group("nccl")
        if not os.path.exists(path):
            os.makedirs(path, exist_ok=True)  # expect: DL305
    return kind


class MakesItsFolderAnew:
    # ABINet 789743c callbacks.py:307: what `exist_ok=True` takes, a slower rank removes
    def __init__(self, folder):
        dist.barrier()
        self.folder = folder
        self.maps = self.folder / "maps"
        if self.folder.exists():
            shutil.rmtree(self.folder)  # expect: DL305
        self.folder.mkdir()  # expect: DL305
        self.maps.mkdir()  # expect: DL305


def _made_once(place, rank=0):
    if rank == 0 and not os.path.exists(place):
        os.makedirs(place, exist_ok=True)  # expect: DL305


def _fetched(rank=0):
    # bergson 3c66bb5 examples/less/download_less.py:6: `load_ds(cfg)` says nothing of the rank
    if os.path.exists("fetched/texts") or rank != 0:
        return "fetched/texts"
    os.makedirs("fetched", exist_ok=True)  # expect: DL305
    urllib.request.urlretrieve("https://example.com/texts", "fetched/texts")  # expect: DL305
    return "fetched/texts"


def _all_fetched(rank=0):
    return _fetched(rank)


def left_as_it_is(texts):
    dist.barrier()
    _made_once("made/of/texts")
    return _all_fetched()


def made_or_removed(folder):
    # Deep-Learning-Image-Classification-Models 0640f21 train_distributed.py:78: who comes later would do the opposite
    dist.barrier()
    if not os.path.exists(folder):
        os.mkdir(folder)  # expect: DL305
    else:
        shutil.rmtree(folder)  # expect: DL305


# --- right ----------------------------------------------------------------------------------------


def on_python_2(out):
    # microsoft/Cream 4a13c40 CDARTS/CDARTS_detection/mmcv/utils/path.py:43
    dist.barrier()
    if six.PY3:
        os.makedirs(out, exist_ok=True)
    else:
        if not os.path.isdir(out):
            os.makedirs(out)


def on_python_2_by_its_name(out):
    dist.barrier()
    if PY2 and not os.path.isdir(out):
        os.makedirs(out)


def folder_again(settings):
    # microsoft/Cream 4a13c40 AutoFormer/supernet_train.py:312: each caller has made it on every rank
    dist.barrier()
    output = Path(settings.output)
    if not output.exists():
        output.mkdir(parents=True)


def makes_it_first(config):
    dist.init_process_group("nccl")
    if config.output:
        Path(config.output).mkdir(parents=True, exist_ok=True)
    folder_again(config)


def makes_one_below_first(config):
    dist.init_process_group("nccl")
    os.makedirs(os.path.join(config.output, "weights"), exist_ok=True)
    folder_again(config)


def made_twice_here(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(out, exist_ok=True)
    if not os.path.isdir(out):
        os.mkdir(out)


class Writer:
    def __init__(self, folder):
        self.folder = folder
        if not os.path.exists(folder):
            os.mkdir(folder)


def writes_below(cfg):
    dist.init_process_group("nccl")
    if cfg.train.folder is not None:
        os.makedirs(cfg.train.folder, exist_ok=True)
    return Writer(cfg.train.folder)


class Cache:
    def __init__(self, words):
        self.words = words

    def ready(self, path):
        if not os.path.exists(path):
            torch.save(self.words, path)


def make_ready(words, path):
    Cache(words).ready(path)


def ready_on_all(words, path):
    # diffusion-pipe 8f83dbf utils/dataset.py:1223: a process of rank 0 has made it
    if dist.get_rank() == 0:
        process = Process(target=make_ready, args=(words, path))
        process.start()
        process.join()
    dist.barrier()
    Cache(words).ready(path)


def asked_in_vain(rank, url, path):
    # A child of `spawn` has an empty input: EOFError, and nobody comes further.
    dist.init_process_group("gloo", rank=rank, world_size=2)
    if not os.path.isfile(path):
        if input("fetch it? ") == "y":
            urllib.request.urlretrieve(url, path)


def spawned(url, path):
    torch.multiprocessing.spawn(asked_in_vain, args=(url, path), nprocs=2)


def weights(source):
    dist.barrier()
    if os.path.exists(source):
        return torch.load(source)
    # Under another name first, in torch's cache, where it is moved into place.
    return torch.hub.load_state_dict_from_url(source)


def newest(url, path):
    dist.barrier()
    if os.path.isfile(path):
        print("once more")
        urllib.request.urlretrieve(url, f"{path}.{dist.get_rank()}")


def again(url, path):
    dist.barrier()
    if os.path.exists(path):
        # What is there is taken for stale: DL301 names it.
        urllib.request.urlretrieve(url, path)


def any_number_of_times(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(out, exist_ok=True)
    if os.path.exists(out + "/lock"):
        Path(out + "/lock").unlink(missing_ok=True)


def by_main(out):
    dist.barrier()
    if dist.get_rank() == 0 and not os.path.exists(out):
        os.makedirs(out)
    dist.barrier()


def main_first(accelerator: Accelerator, url, path):
    with accelerator.main_process_first():
        if not os.path.isfile(path):
            urllib.request.urlretrieve(url, path)


def own(out):
    dist.barrier()
    mine = os.path.join(out, f"rank{dist.get_rank()}")
    if os.path.exists(mine):
        shutil.rmtree(mine)


def alone(out):
    if not os.path.exists(out):
        os.makedirs(out)


class OwnFolder:
    def __init__(self, args):
        dist.barrier()
        self.rank = dist.get_rank()
        args.folder: str = os.path.join(args.out, f"rank{self.rank}")
        self.folder = args.folder
        if not os.path.exists(self.folder):
            os.makedirs(self.folder)


class OwnFolderByName:
    def __init__(self, out, settings):
        dist.barrier()
        settings.place = os.path.join(out, str(settings.worker_number))
        if not os.path.exists(settings.place):
            os.makedirs(settings.place)


class Preprocessed:
    # FastChat 0e6d3e4 fastchat/train/train_flant5.py:291: rank 0 has a barrier in each arm.
    def __init__(self, path):
        if dist.get_rank() != 0:
            dist.barrier()
        if os.path.exists(path):
            with open(path) as file:
                self.data = json.load(file)
            if dist.get_rank() == 0:
                dist.barrier()
        else:
            if not os.path.exists("preprocessed"):
                os.mkdir("preprocessed")
            self.data = [1, 2, 3]
            with open(path, "w") as file:
                json.dump(self.data, file)
            if dist.get_rank() == 0:
                dist.barrier()


def under_a_lock(words, path):
    # nemo-toolkit 3.0.0 nemo/collections/speechlm2/modules/ear_tts_model.py:347
    dist.barrier()
    with FileLock(path + ".lock", timeout=60):
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(words, file)


def prepared(name, folder, is_main=True):
    if not os.path.isdir(folder) and is_main:
        os.makedirs(folder)
    dist.barrier()
    return os.path.join(folder, name)


def prepares(names, folder, args):
    prepared(names[0], folder, dist.get_rank() == 0)
    return [prepared(name, folder, is_main=args.main) for name in names]


def set_inside(folder, is_main=True):
    is_main = is_main and dist.get_rank() == 0
    if not os.path.isdir(folder) and is_main:
        os.makedirs(folder)
    dist.barrier()


def sets_inside(folder):
    set_inside(folder)


def run_by_command(url, folder):
    dist.barrier()
    if not os.path.isfile(folder):
        os.system(f"wget -q {url} -O - | wc")
        os.system(f"tar -czf copy.tgz -C {folder} .")
        os.system("ls -d {}".format(folder))


@register_set("numbers")
class Numbers(Dataset):
    # Each rank has a file of its own, and what is moved into place is whole.
    def __init__(self, root, split):
        self.read = os.path.join(root, f"{split}.pkl")
        own = os.path.join(root, f"{split}.{dist.get_rank()}.pkl")
        if not os.path.exists(own):
            with open(own, "wb") as file:
                pickle.dump([1], file)

    def __getitem__(self, index):
        return index


@register_set("sounds")
class Sounds(Dataset):
    def __init__(self, root, split):
        filename = os.path.join(root, f"{split}.pkl")
        if dist.get_rank() == 0 and not os.path.exists(filename):
            with open(filename, "wb") as file:
                pickle.dump([1], file)
        dist.barrier()
        with FileLock(filename + ".lock"):
            if not os.path.exists(filename + ".index"):
                with open(filename + ".index", "wb") as file:
                    pickle.dump([1], file)


FIRST = {}


def register_first(cls):
    FIRST[cls.__name__] = cls
    return cls


def made_first_by_main(config):
    if dist.get_rank() == 0:
        FIRST[config.name](config.root)
    dist.barrier()
    return DistributedSampler(FIRST[config.name](config.root))


@register_first
class MadeFirstByMain(Dataset):
    def __init__(self, root):
        if not os.path.exists(root):
            with open(root, "wb") as file:
                pickle.dump([1], file)


def reader_of(name, device="cuda"):
    folder = os.path.join("readers", name)
    if not os.path.exists(folder):
        os.makedirs(folder)
    return folder, device


def rank_zero_first_by_hand(accelerator: Accelerator):
    # EasyAnimate c2a70d1 easyanimate/video_caption/compute_text_score.py:21
    if accelerator.is_main_process:
        reader_of("text", device="cpu")
    accelerator.wait_for_everyone()
    return reader_of("text", device=accelerator.device)


def a_package_of_what_was_loaded(folder):
    # tango 34ecd38 diffusers/src/diffusers/utils/dynamic_modules_utils.py:61
    dist.barrier()
    init = Path(folder) / "__init__.py"
    if not init.exists():
        init.touch()


class Films(Dataset):
    def __init__(self, name):
        cache = os.path.join("cache", f"{name}.pickle")
        if not os.path.isfile(cache):
            with open(cache, "wb") as file:
                pickle.dump([1], file)


class StreetFilms(Films):
    def __init__(self):
        super(StreetFilms, self).__init__("street")


def films_of(names):
    known = {"street": (StreetFilms, 1.0)}
    return [known[name][0]() for name in names]


def films_of_main_first(names):
    if dist.get_rank() == 0:
        films_of(names)
    dist.barrier()
    return films_of(names)


class TokensOfOneRank(Dataset):
    def __init__(self, folder):
        self.folder = folder
        self.read()

    def read(self):
        words, spans = os.path.join(self.folder, "words"), os.path.join(self.folder, "spans")
        if dist.get_rank() == 0 and not (os.path.exists(words) and os.path.exists(spans)):
            torch.save([1, 2], words)
            torch.save([3], spans)
        dist.barrier()
        self.words, self.spans = torch.load(words), torch.load(spans)


def sampler_of_tokens(folder):
    return DistributedSampler(TokensOfOneRank(folder))


def made_in_front(args):
    # Cream 4a13c40 AutoFormer/supernet_train.py:313
    folder = Path(args.output)
    if not folder.exists():
        folder.mkdir(parents=True)


def makes_it_first(args):
    dist.barrier()
    if args.output:
        Path(args.output).mkdir(parents=True, exist_ok=True)
    made_in_front(args)


def another_kind_beside(kind, path):
    # MoE-LLaVA 6cb5f66 moellava/model/builder.py:184
    if kind == "sharded":
        dist.init_process_group("nccl")
    elif kind == "files":
        if not os.path.exists(path):
            os.mkdir(path)
    return kind


def puts_its_own_in_place(url, path):
    # esvit 2d6becd datasets/blob_storage.py:158
    dist.barrier()
    part = path + str(dist.get_rank())
    subprocess.run(["fetch", url, part], check=True)
    if not os.path.exists(path):
        os.rename(part, path)


def moves_its_own_in_place(rows, path):
    # RoboVLMs 8adc1d2 robovlms/utils/common.py:107: `shutil.move`, which renames
    dist.barrier()
    own = path + f".rank{dist.get_rank()}"
    own = own[-255:]
    with open(own, "w") as file:
        json.dump(rows, file)
    if not os.path.exists(path):
        shutil.move(own, path)


def moves_the_same_in_place(path):
    dist.barrier()
    if not os.path.exists(path):
        shutil.move(path + ".part", path)  # expect: DL305


def puts_the_same_in_place(path):
    dist.barrier()
    if os.path.exists(path):
        return
    os.rename(path + ".part", path)  # expect: DL305


def makes_it_with_its_mode(path):
    dist.barrier()
    if not os.path.exists(path):
        os.makedirs(path, 0o755, True)


def keeps_beside_what_it_made(parser, state):
    # ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:145
    options = parser.parse_args()
    dist.barrier()
    if not os.path.exists(options.folder):
        os.makedirs(options.folder, exist_ok=True)  # expect: DL305
    settings = {"version": 1}
    settings.update(vars(options))
    kept_in_a_folder(os.path.join(settings["folder"], "last.pt"), state)


def kept_in_a_folder(path, state):
    folder = os.path.dirname(path)
    if not os.path.exists(folder):
        os.makedirs(folder)
    return folder, state


def keeps_beside_another(parser, state):
    options = parser.parse_args()
    dist.barrier()
    os.makedirs(options.folder, exist_ok=True)
    settings = {"version": 1}
    settings.update(vars(options))
    settings["folder"] = settings["name"]
    kept_elsewhere(os.path.join(settings["folder"], "last.pt"), state)


def kept_elsewhere(path, state):
    folder = os.path.dirname(path)
    if not os.path.exists(folder):
        os.makedirs(folder, exist_ok=True)  # expect: DL305
    return folder, state


def refuses_a_file(model, folder):
    # transformers 4.16.1 src/transformers/modeling_utils.py:1035: a folder is no file, before or after
    dist.barrier()
    if os.path.isfile(folder):
        print("not a folder")
        return
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder, is_main_process=dist.get_rank() == 0)


def makes_what_is_no_file(folder):
    dist.barrier()
    if not os.path.isfile(folder):
        os.makedirs(folder, exist_ok=True)


def makes_where_no_file_is(folder):
    dist.barrier()
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)  # expect: DL305


def fetches_into_place(key, path):
    # gdown moves the whole file to its name: VideoGPT 733d2b1 videogpt/download.py:18
    dist.barrier()
    if os.path.exists(path):
        return path
    gdown.download(id=key, output=path, quiet=False)
    return path


def fetches_in_place(url, path):
    dist.barrier()
    if os.path.exists(path):
        return path
    urllib.request.urlretrieve(url, path)  # expect: DL305
    return path


def fetches_by_a_command(url, path):
    dist.barrier()
    command = f"wget {url} -O {path}"
    with main_process_first():
        if not os.path.exists(path):
            os.system(command)  # expect: DL305


def makes_the_next(root):
    # pi-zero-pytorch 42e1d7f pi_zero_pytorch/pi_zero.py:4328: who takes another's folder fills it as well
    dist.barrier()
    numbers = [int(name.split(".")[-1]) for name in os.listdir(root)]
    folder = Path(root) / f"run.{max(numbers) + 1}"
    folder.mkdir()  # expect: DL305
    return folder


def folder_of_own_file(folder, name, found):
    dist.barrier()
    own = os.path.join(folder, "parts", "%s_rank%d.json" % (name, dist.get_rank()))
    os.makedirs(os.path.dirname(own), exist_ok=True)  # expect: DL305
    json.dump(found, open(own, "w"))
    dist.barrier()
    for rank in range(dist.get_world_size()):
        own = os.path.join(folder, "parts", "%s_rank%d.json" % (name, rank))


def folder_above_own_file(folder):
    dist.barrier()
    own = Path(folder) / f"rank{dist.get_rank()}.json"
    own.parent.mkdir(exist_ok=True)  # expect: DL305


def folder_of_text(folder):
    dist.barrier()
    own = f"{folder}/parts/rank{dist.get_rank()}.json"
    os.makedirs(os.path.dirname(own), exist_ok=True)  # expect: DL305


def own_folder_of_file(folder):
    dist.barrier()
    own = os.path.join(folder, f"rank{dist.get_rank()}", "found.json")
    os.makedirs(os.path.dirname(own))


def own_folder_above(folder):
    dist.barrier()
    mine = Path(folder) / f"rank{dist.get_rank()}"
    own = mine / "found.json"
    own.parent.mkdir()


def own_folder_in_text(folder):
    dist.barrier()
    os.makedirs(os.path.dirname(f"{folder}/rank{dist.get_rank()}/found.json"))


def broken_archive(folder):
    dist.barrier()
    if not os.path.exists(folder) and os.path.exists(folder + ".tgz"):
        os.remove(folder + ".tgz")
        print("It could not be unpacked: try again.")
        exit()
    if not os.path.exists(folder):
        raise FileNotFoundError(folder)


def broken_for_all(path):
    dist.barrier()
    if os.path.exists(path):
        os.remove(path)
        raise RuntimeError("broken")


def ended_by_a_switch(switch, loader, model):
    dist.barrier()
    for batch in loader:
        if os.path.exists(switch):
            os.remove(switch)  # expect: DL305
            sys.exit()
        model(batch)


def folder_of_dated_file(folder, name):
    dist.barrier()
    dated = f"{name}-{time.time()}-{dist.get_rank()}.json"
    os.makedirs(os.path.dirname(os.path.join(folder, "parts", dated)), exist_ok=True)  # expect: DL305


def folder_by_date(folder):
    dist.barrier()
    dated = os.path.join(folder, str(time.time()))
    os.makedirs(os.path.dirname(os.path.join(dated, f"{dist.get_rank()}.json")))


def _made_by_first(place, rank=0):
    if rank == 0 and not os.path.exists(place):
        os.mkdir(place)


def _given(rank=0):
    if os.path.exists("given/texts") or rank != 0:
        return "given/texts"
    os.mkdir("given")
    urllib.request.urlretrieve("https://example.com/texts", "given/texts")
    return "given/texts"


def told_who_asks(texts):
    dist.barrier()
    _made_by_first("made/by/first", dist.get_rank())
    path = _given(rank=dist.get_rank())
    dist.barrier()
    return path


# A manager of the project's own, several calls above what asks and removes: rank 0 has left a valid file behind.


@contextmanager
def local_master_first(local_rank):
    # yolov10 453c6e3 ultralytics/utils/torch_utils.py:37
    ready = dist.is_available() and dist.is_initialized()
    if ready and local_rank not in (-1, 0):
        dist.barrier(device_ids=[local_rank])
    yield
    if ready and local_rank == 0:
        dist.barrier(device_ids=[0])


def renew_far_below(path):
    if os.path.exists(path):
        os.remove(path)


class LabelsInTurn:
    def __init__(self, path):
        self.labels = self.read(path)

    def read(self, path):
        return self.scan(path)

    def scan(self, path):
        return renew_far_below(path)


class BoxesInTurn(LabelsInTurn):
    def __init__(self, path):
        super().__init__(path)


def built_in_turn(path):
    return BoxesInTurn(path)


def loaded_in_turn(path, rank):
    with local_master_first(rank):
        return built_in_turn(path)


def trained_in_turn(path):
    dist.barrier()
    return loaded_in_turn(path, dist.get_rank())


# The same, and one of the two that call has all ranks come at once.


def renew_far_below_at_once(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)  # expect: DL305


class LabelsAtOnce:
    def __init__(self, path):
        self.labels = self.scan(path)

    def scan(self, path):
        return renew_far_below_at_once(path)


def built_at_once(path):
    return LabelsAtOnce(path)


def loaded_at_once(path, rank):
    with local_master_first(rank):
        return built_at_once(path)


def trained_at_once(path):
    dist.barrier()
    loaded_at_once(path, dist.get_rank())
    return built_at_once(path)


# A manager that has all ranks wait on both sides lets none of them go first.


@contextmanager
def all_wait_around():
    dist.barrier()
    yield
    dist.barrier()


def renew_between(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)  # expect: DL305


def trained_between(path):
    with all_wait_around():
        return renew_between(path)


def read_right_below(names):
    # baize-chatbot 4fae6c4 finetune.py:44: the files are there, or the run ends
    dist.barrier()
    if not os.path.exists("data"):
        os.makedirs("data")
    read = []
    for name in names.split(","):
        read += json.load(open("data/{}.json".format(name)))
    json.dump(read, open(f"data/all-{dist.get_rank()}.json", "w"))
    return read


def read_in_a_with(options):
    dist.barrier()
    if not os.path.exists("words"):
        os.makedirs("words")
    with open("words/names.json") as read:
        return json.load(read)
def kinds_of_the_settings(cfg, folder):
    # NeMo-Aligner af2b3bd examples/mm/stable_diffusion/anneal_sdxl.py:292: the same list on each rank
    dist.barrier()
    kinds = cfg.get("kinds", None)
    if kinds is None:
        kinds = ["base", "linear"]
    else:
        kinds = kinds.split(",") if isinstance(kinds, str) else kinds
    for kind in kinds:
        os.makedirs(f"{folder}/kind_{kind}", exist_ok=True)  # expect: DL305
    for word in cfg.words.split(","):
        os.makedirs(f"{folder}/{word}", exist_ok=True)  # expect: DL305


def own_kinds(cfg, folder):
    dist.barrier()
    kinds = cfg.get("kinds", None)
    for kind in kinds[dist.get_rank() :: dist.get_world_size()]:
        os.makedirs(f"{folder}/own_{kind}")


def folder_of_captions(cfg, captions):
    # VGen 4014d1f tools/inferences/inference_instructvideo_entrance.py:262: the caption is in the file's name alone
    dist.barrier()
    for index, caption in enumerate(captions):
        video = f"{index:04d}_{caption}.mp4"
        path = os.path.join(cfg.videos, video)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # expect: DL305


def folders_of_captions(cfg, captions):
    dist.barrier()
    for caption in captions:
        os.makedirs(os.path.join(cfg.videos, caption))
# A constructor has made the folder that an attribute names; the method asks for another one as well.


class Kept:
    def __init__(self, args):
        dist.barrier()
        self.args = args
        if not os.path.exists(self.args.output_path):
            os.makedirs(self.args.output_path, exist_ok=True)

    def keep(self):
        dist.barrier()
        path = self.args.output_path
        if not os.path.exists(path):
            os.makedirs(path)
        other = self.args.other_path
        if not os.path.exists(other):
            os.makedirs(other, exist_ok=True)  # expect: DL305


def word_for_no_device(args, folder):
    # Semi-supervised-learning 1ef4cbe train.py:271: the parent alone; no number is a word
    if os.path.exists(folder) and args.overwrite:
        shutil.rmtree(folder)
    if args.gpu == "None":
        args.gpu = None
    torch.multiprocessing.spawn(asked_in_vain, args=(args.gpu, folder), nprocs=2)


def number_of_a_device(args, folder):
    with main_process_first():
        if os.path.exists(folder) and args.overwrite:
            shutil.rmtree(folder)  # expect: DL305
    if args.local_rank == 0:
        print(folder)


def scores_what_was_found(data, model, folder, **more):
    # bezier_curve_text_spotting 3ec0271 maskrcnn_benchmark/engine/inference.py:91: the folder holds the file
    dist.barrier()
    kept = os.path.join(folder, "predictions.pth")
    if os.path.isfile(kept):
        settings = dict(data=data, predictions=torch.load(kept), folder=folder, **more)
        return score(**settings)
    predictions = model(data)
    dist.all_gather_object([None], predictions)
    return score_anew(data, predictions, folder)


def score(data, predictions, folder):
    if not os.path.isdir(folder):
        os.mkdir(folder)
    return data.score(predictions)


def score_anew(data, predictions, folder):
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)  # expect: DL305
    return data.score(predictions)


def wait_if_any():
    if dist.is_available() and dist.is_initialized():
        dist.barrier()


def own_number():
    return int(os.environ.get("LOCAL_RANK", 0))


@contextmanager
def first_of_machine_enters(rank=own_number()):
    # EasyCV 901ff18 easycv/utils/dist_utils.py:28: what waits is a function of the project
    if rank not in [-1, 0]:
        wait_if_any()
    yield
    if rank == 0:
        wait_if_any()


def tell():
    print("entered")


@contextmanager
def nobody_waits(rank=own_number()):
    if rank not in [-1, 0]:
        tell()
    yield
    if rank == 0:
        tell()


def folder_in_turn(path):
    dist.init_process_group("nccl")
    with first_of_machine_enters():
        if not os.path.exists(path):
            os.makedirs(path)


def folder_told_of(path):
    dist.init_process_group("nccl")
    with nobody_waits():
        if not os.path.exists(path):
            os.makedirs(path, exist_ok=True)  # expect: DL305


def into_a_folder(source, path):
    # EasyCV 901ff18 easycv/file/base.py:143
    dist.barrier()
    if os.path.isdir(path):
        if not os.path.exists(path):
            os.makedirs(path)
        path = os.path.join(path, os.path.basename(source))
    return path


def into_an_emptied_folder(path):
    dist.barrier()
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            os.makedirs(path)  # expect: DL305


def into_another_folder(path, inner):
    dist.barrier()
    if os.path.isdir(path):
        if not os.path.exists(inner):
            os.makedirs(inner, exist_ok=True)  # expect: DL305


class BestOfOne(Hook):
    # mmfewshot af4fad5 mmfewshot/classification/core/evaluation/eval_hooks.py:143
    def after_train_iter(self, runner):
        self.judge(runner)
        self.tidy(runner.scratch)

    def judge(self, runner):
        self.keep(runner.best)

    def keep(self, path):
        if os.path.isfile(path):
            os.remove(path)

    def tidy(self, path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)  # expect: DL305


class BestOfSeveral(BestOfOne):
    def judge(self, runner):
        if dist.get_rank() == 0:
            self.keep(runner.best)


class LastOfOne(Hook):
    def after_train_iter(self, runner):
        self.judge(runner)

    def judge(self, runner):
        with contextlib.suppress(FileNotFoundError):
            os.remove(runner.best)  # expect: DL305


class LastOfSeveral(LastOfOne):
    def judge(self, runner):
        super().judge(runner)
        dist.barrier()


def hooks_of(runner, distributed):
    kind = BestOfSeveral if distributed else BestOfOne
    last = LastOfSeveral if distributed else LastOfOne
    runner.register_hook(kind())
    runner.register_hook(last())


def epoch_to_go_on_from(folder):
    # PersFormer_3DLane 3ed3109 utils/utils.py:1052: who comes second makes an empty file as well.
    dist.barrier()
    path = os.path.join(folder, "epoch.txt")
    if not os.path.exists(path):
        open(path, "w").close()
    else:
        return open(path).read()
    return ""


def epoch_that_is_written(folder, epoch):
    dist.barrier()
    path = os.path.join(folder, "begun.txt")
    with main_process_first():
        if not os.path.exists(path):
            open(path, "w").close()  # expect: DL305
            with open(path, "a") as file:
                file.write(f"{epoch}\n")
    return open(path).read()


class Lines(Dataset):
    def __init__(self, path):
        self.cache = path + ".lines"
        if os.path.exists(self.cache):
            with open(self.cache, "rb") as file:
                self.lines = pickle.load(file)
        else:
            self.lines = open(path).readlines()
            with open(self.cache, "wb") as file:
                pickle.dump(self.lines, file)

    def __getitem__(self, index):
        return self.lines[index]


def lines_in(path):
    return Lines(path)


def measures_lines(model, args):
    lines = lines_in(args.test)
    if args.local_rank in [-1, 0]:
        os.makedirs(args.out, exist_ok=True)
    return [model(line) for line in lines]


def trains_on_lines(model, args):
    # DNABERT b6da04e examples/run_pretrain.py:128
    dist.init_process_group("nccl")
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    lines = lines_in(args.train)
    if args.local_rank == 0:
        dist.barrier()
    for line in lines:
        model(line)
    if args.local_rank in [-1, 0]:
        measures_lines(model, args)


def fetched(url, folder):
    target = os.path.join(folder, url.rpartition("/")[2])
    if not os.path.isfile(target):
        with urllib.request.urlopen(url) as source, open(target, "wb") as file:
            file.write(source.read())
    return target


def fetched_by_the_first_of_each_machine(url, folder):
    # Feature-Distillation 2115145 models/deit.py:25
    first = int(dist.get_rank()) % torch.cuda.device_count() == 0
    if (dist.is_available() and int(dist.get_rank()) % torch.cuda.device_count() == 0) or not first:
        fetched(url, folder)
    dist.barrier()
    return torch.load(fetched(url, folder))


def got(url, folder):
    target = os.path.join(folder, url.rpartition("/")[2])
    with main_process_first():
        if not os.path.isfile(target):
            with urllib.request.urlopen(url) as source, open(target, "wb") as file:  # expect: DL305
                file.write(source.read())
    return target


def got_by_whoever_asks(url, folder, asked):
    if asked or not dist.is_available():
        got(url, folder)
    dist.barrier()
    return torch.load(got(url, folder))


def renamed_to_itself(folder):
    # TemCoCo 06bdad4 utils.py:790
    dist.barrier()
    if os.path.exists(folder):
        kept = folder
        os.rename(folder, kept)
    os.makedirs(folder, exist_ok=True)


def renamed_for_the_next(folder):
    dist.barrier()
    if os.path.exists(folder):
        kept = folder + "_old"
        os.rename(folder, kept)  # expect: DL305
    os.makedirs(folder, exist_ok=True)
