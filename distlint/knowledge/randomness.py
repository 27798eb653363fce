"""What seeds random number generators, what draws from them, and which argument carries one."""

from typing import Final, NamedTuple


class Seeding(NamedTuple):
    """A call that sets the state of one or more generators."""

    name: str
    source: str
    seed: int | str = 0
    """Position of the seed; "self" draws it from nowhere (a nondeterministic seed)."""
    keyword: str = "seed"
    streams: tuple[str, ...] = ("torch",)
    """Which generators: "python", "numpy", "torch", "cuda", "generator" (the receiver)."""
    per_rank: str = ""
    """Keyword of the argument that adds the rank to the seed."""


class Draw(NamedTuple):
    """A call that draws random numbers."""

    name: str
    stream: str
    source: str
    generator: str = ""
    """Keyword of the argument that carries a generator of its own; empty where there is none."""


SEEDINGS: dict[str, Seeding] = {
    row.name: row
    for row in (
        Seeding("random.seed", "python 3.11 random", keyword="a", streams=("python",)),
        Seeding("numpy.random.seed", "numpy 2.4.6 numpy/random/mtrand.pyi:109", streams=("numpy",)),
        Seeding("torch.manual_seed", "torch 2.13.0 torch/random.py:49", streams=("torch", "cuda")),
        Seeding(
            "torch.seed",
            "torch 2.13.0 torch/random.py:89",
            seed="self",
            streams=("torch", "cuda"),
            # a nondeterministic seed, another on each rank
        ),
        Seeding(
            "torch.cuda.manual_seed", "torch 2.13.0 torch/cuda/random.py:89", streams=("cuda",)
        ),
        Seeding(
            "torch.cuda.manual_seed_all", "torch 2.13.0 torch/cuda/random.py:112", streams=("cuda",)
        ),
        Seeding(
            "torch.Generator.manual_seed",
            "torch 2.13.0 torch/_C/__init__.pyi:1753",
            streams=("generator",),
        ),
        Seeding(
            "accelerate.utils.set_seed",
            "accelerate 1.15.0 accelerate/utils/random.py:40",
            streams=("python", "numpy", "torch", "cuda"),
            per_rank="device_specific",
            # device_specific=True adds process_index
        ),
        Seeding(
            "transformers.set_seed",
            "transformers 5.23.0 transformers/trainer_utils.py:180",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "transformers.enable_full_determinism",
            "transformers 5.23.0 transformers/trainer_utils.py:154",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "lightning.fabric.seed_everything",
            "pytorch-lightning 2.6.6 lightning_fabric/utilities/seed.py:20",
            streams=("python", "numpy", "torch", "cuda"),
            # the same on all ranks; Lightning seeds the workers per rank with workers=True
        ),
        Seeding(
            "lightning.fabric.Fabric.seed_everything",
            "pytorch-lightning 2.6.6 lightning_fabric/fabric.py:1104",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "composer.utils.reproducibility.seed_all",
            "mosaicml 0.32.1 composer/utils/reproducibility.py:149",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "mmengine.runner.set_random_seed",
            "mmengine 0.10.7 mmengine/runner/utils.py:48",
            streams=("python", "numpy", "torch", "cuda"),
            per_rank="diff_rank_seed",
        ),
        Seeding(
            "torchtune.training.set_seed",
            "torchtune 0.6.1 torchtune/training/seed.py:22",
            streams=("python", "numpy", "torch", "cuda"),
            # adds the rank to the seed by itself
        ),
        Seeding(
            "ignite.utils.manual_seed",
            "pytorch-ignite 0.5.5 ignite/utils.py:368",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "timm.utils.random_seed",
            "timm 1.0.31 timm/utils/random.py:6",
            streams=("python", "numpy", "torch"),
            per_rank="rank",
        ),
        Seeding(
            "monai.utils.set_determinism",
            "monai 1.4.0 monai/utils/misc.py:335",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "fairseq.utils.set_torch_seed",
            "fairseq 0.12.2 fairseq/utils.py:619",
            streams=("torch", "cuda"),
        ),
        Seeding(
            "distlint.runtime.seed_everything",
            "distlint 0.1.0 distlint/runtime/randomness.py",
            streams=("python", "numpy", "torch", "cuda"),
        ),
        Seeding(
            "distlint.runtime.decorrelate",
            "distlint 0.1.0 distlint/runtime/randomness.py",
            streams=("python", "numpy", "torch", "cuda"),
            # another stream on each rank
        ),
    )
}

DECORRELATING = frozenset(
    {"torchtune.training.set_seed", "distlint.runtime.decorrelate", "distlint.runtime.rank_rng"}
)
"""Seedings that give every rank its own stream without being told to."""

ANY_SEEDINGS: dict[str, Seeding] = dict.fromkeys(
    (
        "set_seed",
        "seed_everything",
        "seed_all",
        "set_random_seed",
        "fix_seed",
        "setup_seed",
        "init_seeds",
        "fix_random_seeds",
        "set_global_seed",  # openvla c8f03f4 prismatic/util/torch_utils.py:40
        "set_all_seeds",
        "set_seeds",
        "set_manual_seed",
        "set_random_seeds",
    ),
    SEEDINGS["transformers.set_seed"],
)
"""Seedings by last name, where they do not resolve: the seed is the first argument."""

DRAWS: dict[str, Draw] = {
    row.name: row
    for row in (
        Draw(
            "torch.rand",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:23191",
            generator="generator",
        ),
        Draw(
            "torch.rand_like",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:23383",
            generator="generator",
        ),
        Draw(
            "torch.randn",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:24070",
            generator="generator",
        ),
        Draw(
            "torch.randn_like",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:24346",
            generator="generator",
        ),
        Draw(
            "torch.randint",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:23456",
            generator="generator",
        ),
        Draw(
            "torch.randint_like",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:23813",
            generator="generator",
        ),
        Draw(
            "torch.randperm",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:24419",
            generator="generator",
        ),
        Draw(
            "torch.bernoulli",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:7982",
            generator="generator",
        ),
        Draw(
            "torch.multinomial",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:20223",
            generator="generator",
        ),
        Draw(
            "torch.normal",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:21280",
            generator="generator",
        ),
        Draw(
            "torch.poisson",
            "torch",
            "torch 2.13.0 torch/_C/_VariableFunctions.pyi:22014",
            generator="generator",
        ),
        Draw(
            "torch.nn.functional.dropout",
            "torch",
            "torch 2.13.0 torch/nn/functional.py:1467",
        ),
        Draw(
            "torch.nn.functional.gumbel_softmax",
            "torch",
            "torch 2.13.0 torch/nn/functional.py:2213",
        ),
        Draw(
            "torch.nn.Dropout",
            "torch",
            "torch 2.13.0 torch/nn/modules/dropout.py:35",
            # drawn in the forward
        ),
        Draw(
            "torch.nn.Dropout2d",
            "torch",
            "torch 2.13.0 torch/nn/modules/dropout.py:124",
            # drawn in the forward
        ),
        Draw(
            "torch.nn.AlphaDropout",
            "torch",
            "torch 2.13.0 torch/nn/modules/dropout.py:227",
            # drawn in the forward
        ),
        Draw(
            "diffusers.utils.torch_utils.randn_tensor",
            "torch",
            "diffusers 0.42.1 diffusers/utils/torch_utils.py:61",
            generator="generator",
        ),
        Draw(
            "torch.utils.data.random_split",
            "torch",
            "torch 2.13.0 torch/utils/data/dataset.py:449",
            generator="generator",
        ),
        Draw(
            "torch.utils.data.RandomSampler",
            "torch",
            "torch 2.13.0 torch/utils/data/sampler.py:116",
            generator="generator",
        ),
        Draw(
            "torch.utils.data.WeightedRandomSampler",
            "torch",
            "torch 2.13.0 torch/utils/data/sampler.py:213",
            generator="generator",
        ),
        Draw(
            "torch.utils.data.SubsetRandomSampler",
            "torch",
            "torch 2.13.0 torch/utils/data/sampler.py:191",
            generator="generator",
        ),
        Draw("random.random", "python", "python 3.11 random"),
        Draw("random.randint", "python", "python 3.11 random"),
        Draw("random.randrange", "python", "python 3.11 random"),
        Draw("random.choice", "python", "python 3.11 random"),
        Draw("random.choices", "python", "python 3.11 random"),
        Draw("random.sample", "python", "python 3.11 random"),
        Draw("random.shuffle", "python", "python 3.11 random"),
        Draw("random.uniform", "python", "python 3.11 random"),
        Draw("random.gauss", "python", "python 3.11 random"),
        Draw("random.normalvariate", "python", "python 3.11 random"),
        Draw("random.betavariate", "python", "python 3.11 random"),
        Draw("random.expovariate", "python", "python 3.11 random"),
        Draw("random.getrandbits", "python", "python 3.11 random"),
        Draw("random.triangular", "python", "python 3.11 random"),
        Draw("numpy.random.rand", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:418"),
        Draw("numpy.random.randn", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:422"),
        Draw("numpy.random.randint", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:152"),
        Draw("numpy.random.random", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:124"),
        Draw("numpy.random.random_sample", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:120"),
        Draw("numpy.random.choice", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:375"),
        Draw("numpy.random.shuffle", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:697"),
        Draw("numpy.random.permutation", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:699"),
        Draw("numpy.random.uniform", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:407"),
        Draw("numpy.random.normal", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:443"),
        Draw("numpy.random.standard_normal", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:437"),
        Draw("numpy.random.beta", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:128"),
        Draw("numpy.random.binomial", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:625"),
        Draw("numpy.random.poisson", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:644"),
        Draw("numpy.random.exponential", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:137"),
        Draw("numpy.random.dirichlet", "numpy", "numpy 2.4.6 numpy/random/mtrand.pyi:694"),
        Draw(
            "datasets.Dataset.shuffle",
            "numpy",
            "datasets 5.2.0 datasets/arrow_dataset.py:4849",
            generator="generator",
            # seed= as well
        ),
        Draw(
            "datasets.Dataset.train_test_split",
            "numpy",
            "datasets 5.2.0 datasets/arrow_dataset.py:4989",
            generator="generator",
            # seed= as well
        ),
    )
}

DRAW_METHODS: dict[str, Draw] = {
    name: Draw(
        f"torch.Tensor.{name}",
        "torch",
        "torch 2.13.0 torch/_C/__init__.pyi:2182",
        generator="generator",
    )
    for name in (
        "normal_",
        "uniform_",
        "random_",
        "bernoulli_",
        "exponential_",
        "cauchy_",
        "geometric_",
        "log_normal_",
    )
}
"""In-place draws of tensors, by method name."""


RANDOM_TRANSFORMS: Final = frozenset(
    f"{package}.{name}"
    for package in ("torchvision.transforms", "torchvision.transforms.v2")
    for name in (
        "AugMix",
        "AutoAugment",
        "ColorJitter",
        "RandAugment",
        "RandomAdjustSharpness",
        "RandomAffine",
        "RandomApply",
        "RandomAutocontrast",
        "RandomChoice",
        "RandomCrop",
        "RandomEqualize",
        "RandomErasing",
        "RandomGrayscale",
        "RandomHorizontalFlip",
        "RandomInvert",
        "RandomPerspective",
        "RandomPosterize",
        "RandomResizedCrop",
        "RandomRotation",
        "RandomSolarize",
        "RandomVerticalFlip",
        "TrivialAugmentWide",
    )
) | {"timm.data.create_transform"}
"""Transforms of images that draw, in loader workers from a seed that the main process's stream gave.

Sources: torchvision 0.29.2 torchvision/transforms/transforms.py; torch 2.13.0
torch/utils/data/dataloader.py (`_base_seed`); timm 1.0.31 timm/data/transforms_factory.py
"""


class Sampler(NamedTuple):
    """A sampler or loader, and whether it knows of ranks."""

    name: str
    source: str
    distributed: bool
    """Gives each rank its own part."""
    seed_keyword: str = ""
    shuffle_keyword: str = ""
    shuffle_at: int | None = None
    """Position of that argument."""


SAMPLERS: dict[str, Sampler] = {
    row.name: row
    for row in (
        Sampler(
            "torch.utils.data.DistributedSampler",
            "torch 2.13.0 torch/utils/data/distributed.py:17",
            True,
            seed_keyword="seed",
            shuffle_keyword="shuffle",
            shuffle_at=3,
        ),
        Sampler(
            "monai.data.DistributedSampler",  # a subclass, which shuffles in the same way
            "monai 1.4.0 monai/data/samplers.py:23",
            True,
            seed_keyword="seed",
            shuffle_keyword="shuffle",
            shuffle_at=4,
        ),
        Sampler(
            "torch.utils.data.RandomSampler", "torch 2.13.0 torch/utils/data/sampler.py:116", False
        ),
        Sampler(
            "torch.utils.data.SequentialSampler",
            "torch 2.13.0 torch/utils/data/sampler.py:97",
            False,
        ),
        Sampler(
            "torch.utils.data.WeightedRandomSampler",
            "torch 2.13.0 torch/utils/data/sampler.py:213",
            False,
        ),
        Sampler(
            "torch.utils.data.SubsetRandomSampler",
            "torch 2.13.0 torch/utils/data/sampler.py:191",
            False,
        ),
        Sampler(
            "torch.utils.data.BatchSampler", "torch 2.13.0 torch/utils/data/sampler.py:286", False
        ),
        Sampler(
            "accelerate.data_loader.SeedableRandomSampler",
            "accelerate 1.15.0 accelerate/data_loader.py:73",
            False,
            seed_keyword="data_seed",
        ),
        Sampler(
            "accelerate.data_loader.BatchSamplerShard",
            "accelerate 1.15.0 accelerate/data_loader.py:110",
            True,
        ),
        Sampler(
            "accelerate.data_loader.IterableDatasetShard",
            "accelerate 1.15.0 accelerate/data_loader.py:274",
            True,
        ),
        Sampler(
            "transformers.trainer_pt_utils.DistributedLengthGroupedSampler",
            "transformers 5.23.0 transformers/trainer_pt_utils.py:562",
            True,
            seed_keyword="seed",
        ),
        Sampler(
            "transformers.trainer_pt_utils.DistributedSamplerWithLoop",
            "transformers 5.23.0 transformers/trainer_pt_utils.py:324",
            True,
            seed_keyword="seed",
        ),
        Sampler(
            "transformers.trainer_pt_utils.LengthGroupedSampler",
            "transformers 5.23.0 transformers/trainer_pt_utils.py:519",
            False,
        ),
        Sampler(
            "mmengine.dataset.DefaultSampler",
            "mmengine 0.10.7 mmengine/dataset/sampler.py:14",
            True,
            seed_keyword="seed",
            shuffle_keyword="shuffle",
        ),
        Sampler(
            "mmengine.dataset.InfiniteSampler",
            "mmengine 0.10.7 mmengine/dataset/sampler.py:107",
            True,
            seed_keyword="seed",
            shuffle_keyword="shuffle",
        ),
        Sampler(
            "ignite.distributed.auto.DistributedProxySampler",
            "pytorch-ignite 0.5.5 ignite/distributed/auto.py:287",
            True,
        ),
        Sampler(
            "composer.utils.dist.get_sampler",
            "mosaicml 0.32.1 composer/utils/dist.py:588",
            True,
            seed_keyword="seed",
            shuffle_keyword="shuffle",
        ),
    )
}
"""Samplers by qualified name."""


class LoaderMaker(NamedTuple):
    """A call that makes a loader with a distributed sampler which shuffles, where it is given some keywords."""

    name: str
    source: str
    sampler: str
    """What the sampler is called in the loader; empty where the loader itself is told the epoch."""
    given: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Keywords that have to be true."""
    shuffles: bool = True
    """Whether it shuffles where `shuffle` is not given."""


LOADER_MAKERS: Final[dict[str, LoaderMaker]] = {
    row.name: row
    for row in (
        LoaderMaker(
            "deepspeed.initialize",
            "deepspeed 0.18.2 deepspeed/runtime/dataloader.py:71",
            "data_sampler",
            given=("training_data",),
        ),
        LoaderMaker(
            "timm.data.create_loader",
            "timm 1.0.20 timm/data/loader.py:331",
            "sampler",
            flags=("is_training", "distributed"),
        ),
        # volo cf35775 main.py:548: timm's loader with labels for the patches.
        LoaderMaker(
            "tlt.data.create_token_label_loader",
            "tlt 0.2.0 tlt/data/loader.py (`create_token_label_loader`)",
            "sampler",
            flags=("is_training", "distributed"),
        ),
        # Its loaders of nodes and edges draw anew in each pass, and have no `set_epoch` (DDPTensorizedDataset.shuffle).
        LoaderMaker(
            "dgl.dataloading.GraphDataLoader",
            "dgl 2.1.0 dgl/dataloading/dataloader.py (`_create_dist_sampler`, `GraphDataLoader.set_epoch`)",
            "",
            flags=("use_ddp",),
            shuffles=False,
        ),
    )
}
