"""Packages that leave the processes of a launch alone: none makes a process group, or goes by a rank, of its own accord.

Listed by what they are for, among those that training programs import most; what is not in the table may join processes, and
an import of it decides nothing. webdataset is not in it: it divides its samples by RANK and WORLD_SIZE (webdataset 0.2.100
utils.py, `pytorch_worker_info`).
"""

from __future__ import annotations

from typing import Final

from distlint.patterns import pattern

_ALONE: Final = """
    absl addict albumentations av beartype boto3 botocore braceexpand bs4 chardet click clip colorama comet_ml cupy cv2 datasets
    decord dill diff_gaussian_rasterization diffusers dotenv easydict editdistance einops einops_exts faiss ffmpeg filelock fire
    flash_attn ftfy functorch fvcore gdown git google gradio gym gymnasium h5py huggingface_hub hydra imageio imgaug inflect
    iopath ipdb IPython jieba jiwer joblib jsonlines kornia langdetect Levenshtein librosa lmdb loguru lpips lxml mamba_ssm
    matplotlib mcubes mlflow more_itertools moviepy mpl_toolkits msgpack munch natsort networkx nibabel nltk numba numpy
    nvdiffrast omegaconf open3d open_clip openai optuna packaging pandas panopticapi opt_einsum performer_pytorch pesq PIL pkg_resources plotly plyfile polars
    prettytable progress psutil pyarrow pycocoevalcap pycocotools pydantic pydicom pynvml pystoi pytorch3d pytorch_fid
    pytorch_msssim pytz rasterio rdkit regex requests rich rouge_score ruamel sacrebleu sacremoses safetensors scipy seaborn
    segment_anything segmentation_models_pytorch sentencepiece setuptools shapely simple_knn SimpleITK six skimage sklearn
    soundfile spacy spconv swanlab sympy tabulate tensorboard tensorboardX termcolor terminaltables thop threadpoolctl tifffile
    tiktoken timm tokenizers torch torch_cluster torch_ema torch_geometric torch_optimizer torch_scatter torch_sparse torchaudio
    torchdiffeq torchinfo torchio torchmetrics torchprofile torchsummary torchtext torchvision tqdm transformers tree trimesh
    triton typer typing_extensions tyro umap visdom wandb wget xatlas xformers xmltodict yacs yaml zarr
    """
ALONE: Final = frozenset(_ALONE.split())
"""By the first part of what is imported."""

JOINS: Final = pattern(
    r"\w*(?:Trainer|TrainingArguments|Accelerator|Launcher)|PartialState|deepspeed|init_distributed_device|notebook_launcher"
    r"|(?:Distributed|FullyShardedData|Sharded|Fully)\w*Parallel|DDP|FSDP|fully_shard|distribute_(?:module|tensor)|DeviceMesh"
)
"""Names of what these packages, torch among them, have for several processes; a wrapper raises an error without a group."""
