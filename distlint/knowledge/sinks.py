"""What touches files and the network: writes, reads, deletions, directories, downloads, prompts."""

import re
from typing import Final, NamedTuple

from distlint.knowledge.schema import CallRow, Effect
from distlint.patterns import pattern

WRITE = Effect.WRITE
READ = Effect.READ
DELETE = Effect.DELETE
CREATE_DIR = Effect.CREATE_DIR
DOWNLOAD = Effect.DOWNLOAD
UPLOAD = Effect.UPLOAD
GUARDED = Effect.GUARDED_WRITE
PROMPT = Effect.PROMPT
EXIT = Effect.EXIT


class Open(NamedTuple):
    """A call that opens a file: what happens to it depends on the mode."""

    name: str
    path: int | str
    """Position of the path; "self" where the receiver is the path."""
    mode: int
    """Position of the mode."""
    default: str
    """The mode without that argument."""
    source: str
    path_keyword: str = "file"
    mode_keyword: str = "mode"
    maps: bool = False
    """Whether it maps an array: "r+" changes elements of a file that is there, and only "w+" makes one."""


_PATH_MANAGERS: Final = (
    ("iopath.common.file_io.PathManager", "iopath 0.1.10 iopath/common/file_io.py:914"),
    ("iopath.common.file_io.g_pathmgr", "iopath 0.1.10 iopath/common/file_io.py:1611"),
    ("fvcore.common.file_io.PathManager", "fvcore 0.1.5 fvcore/common/file_io.py:49"),
    ("fvcore.common.file_io.PathManagerBase", "fvcore 0.1.5 fvcore/common/file_io.py:14"),
    ("detectron2.utils.file_io.PathManager", "detectron2 0.6 utils/file_io.py:35"),
)
"""Objects and classes of objects that have `open()`, `rm()` and `exists()` for local paths and addresses alike."""

OPENS: dict[str, Open] = {
    row.name: row
    for row in (
        Open("builtins.open", 0, 1, "r", "python 3.11 builtins"),
        Open("io.open", 0, 1, "r", "python 3.11 io"),
        Open("codecs.open", 0, 1, "r", "python 3.11 codecs", path_keyword="filename"),
        Open("gzip.open", 0, 1, "rb", "python 3.11 gzip", path_keyword="filename"),
        Open("bz2.open", 0, 1, "rb", "python 3.11 bz2", path_keyword="filename"),
        Open("lzma.open", 0, 1, "rb", "python 3.11 lzma", path_keyword="filename"),
        Open("tarfile.open", 0, 1, "r", "python 3.11 tarfile", path_keyword="name"),
        Open("zipfile.ZipFile", 0, 1, "r", "python 3.11 zipfile"),
        Open("os.fdopen", 0, 1, "r", "python 3.11 os", path_keyword="fd"),
        Open("pathlib.Path.open", "self", 0, "r", "python 3.11 pathlib", path_keyword=""),
        Open("logging.FileHandler", 0, 1, "a", "python 3.11 logging", path_keyword="filename"),
        Open(
            "fsspec.open", 0, 1, "rb", "fsspec 2026.9.0 fsspec/core.py:443", path_keyword="urlpath"
        ),
        Open("h5py.File", 0, 1, "r", "h5py 3.16.0 h5py/_hl/files.py:274", path_keyword="name"),
        Open(
            "numpy.memmap",
            0,
            2,
            "r+",
            "numpy 2.4.6 numpy/_core/memmap.py:24",
            path_keyword="filename",
            maps=True,
        ),
        Open(
            "numpy.lib.format.open_memmap",
            0,
            1,
            "r+",
            "numpy 2.4.6 numpy/lib/_format_impl.py:891",
            path_keyword="filename",
            maps=True,
        ),
        Open("jsonlines.open", 0, 1, "r", "jsonlines 4.0.0 jsonlines/jsonlines.py:604"),
        *(
            Open(f"{name}.open", 0, 1, "r", source, path_keyword="path")
            for name, source in _PATH_MANAGERS
        ),
    )
}

CREATING_MODES = frozenset("wx")
WRITING_MODES = CREATING_MODES | frozenset("a+")
"""A mode with one of these letters writes; "w", "x" and "a" create the file."""
DESCRIPTORS = frozenset({"fileno", "dup", "memfd_create"})
"""What gives the number of a file that is open already, or has no path (python 3.11 os, io)."""

READING_METHODS = frozenset({"read", "readline", "readlines", "seek", "tell", "fileno", "close"})
"""Methods of an open file that leave it as it is; `fileno` is for locks and `mmap`."""
READERS = pattern(
    r"(?i)reader$|^read|^(?:safe_|full_)?load(?:_all|s)?$|^(?:enumerate|list|len|print)$"
)
"""Functions, by their last name, that read the file they are handed."""
APPENDING = "a"
"""What several processes append stands there mixed, but none of it is lost."""

_ROWS: tuple[CallRow, ...] = (
    # Model weights and other heavy objects.
    CallRow(
        "torch.save",
        WRITE,
        path=1,
        path_keyword="f",
        result="none",
        source="torch 2.13.0 torch/serialization.py:944",
    ),
    CallRow(
        "torch.jit.save",
        WRITE,
        path=1,
        path_keyword="f",
        result="none",
        source="torch 2.13.0 torch/jit/_serialization.py:23",
    ),
    CallRow(
        "torch.export.save",
        WRITE,
        path=1,
        path_keyword="f",
        result="none",
        source="torch 2.13.0 torch/export/__init__.py:211",
    ),
    CallRow(
        "torch.onnx.export",
        WRITE,
        path=2,
        path_keyword="f",
        result="local",
        source="torch 2.13.0 torch/onnx/__init__.py:65",
    ),
    CallRow(
        "safetensors.torch.save_file",
        WRITE,
        path=1,
        path_keyword="filename",
        result="none",
        source="safetensors 0.8.0 safetensors/torch.py:288",
    ),
    CallRow(
        "safetensors.torch.save_model",
        WRITE,
        path=1,
        path_keyword="filename",
        result="none",
        source="safetensors 0.8.0 safetensors/torch.py:145",
    ),
    CallRow(
        "safetensors.numpy.save_file",
        WRITE,
        path=1,
        path_keyword="filename",
        result="none",
        source="safetensors 0.8.0 safetensors/numpy.py:61",
    ),
    CallRow(
        "huggingface_hub.save_torch_model",
        WRITE,
        path=1,
        path_keyword="save_directory",
        result="none",
        source="huggingface_hub 2.4.0 huggingface_hub/serialization/_torch.py:47",
        # is_main_process=False writes nothing
    ),
    CallRow(
        "huggingface_hub.save_torch_state_dict",
        WRITE,
        path=1,
        path_keyword="save_directory",
        result="none",
        source="huggingface_hub 2.4.0 huggingface_hub/serialization/_torch.py:141",
        # is_main_process=False writes nothing
    ),
    CallRow(
        "transformers.PreTrainedConfig.save_pretrained",
        WRITE,
        path=0,
        path_keyword="save_directory",
        result="none",
        source="transformers 5.23.0 transformers/configuration_utils.py:735",
    ),
    CallRow(
        "transformers.PreTrainedConfig.to_json_file",
        WRITE,
        path=0,
        path_keyword="json_file_path",
        result="none",
        source="transformers 5.23.0 transformers/configuration_utils.py:1333",
    ),
    CallRow(
        "transformers.PreTrainedTokenizerBase.save_pretrained",
        WRITE,
        path=0,
        path_keyword="save_directory",
        result="local",
        source="transformers 5.23.0 transformers/tokenization_utils_base.py:2005",
    ),
    CallRow(
        "transformers.ProcessorMixin.save_pretrained",
        WRITE,
        path=0,
        path_keyword="save_directory",
        result="local",
        source="transformers 5.23.0 transformers/processing_utils.py:1182",
    ),
    CallRow(
        "transformers.GenerationConfig.save_pretrained",
        WRITE,
        path=0,
        path_keyword="save_directory",
        result="none",
        source="transformers 5.23.0 transformers/generation/configuration_utils.py:891",
    ),
    CallRow(
        "transformers.TrainerState.save_to_json",
        WRITE,
        path=0,
        path_keyword="json_path",
        result="none",
        source="transformers 5.23.0 transformers/trainer_callback.py:143",
    ),
    CallRow(
        "datasets.Dataset.save_to_disk",
        WRITE,
        path=0,
        path_keyword="dataset_path",
        result="none",
        source="datasets 5.2.0 datasets/arrow_dataset.py:1781",
    ),
    CallRow(
        "datasets.Dataset.to_csv",
        WRITE,
        path=0,
        path_keyword="path_or_buf",
        result="local",
        source="datasets 5.2.0 datasets/arrow_dataset.py:5342",
    ),
    CallRow(
        "datasets.Dataset.to_json",
        WRITE,
        path=0,
        path_keyword="path_or_buf",
        result="local",
        source="datasets 5.2.0 datasets/arrow_dataset.py:5466",
    ),
    CallRow(
        "datasets.Dataset.to_parquet",
        WRITE,
        path=0,
        path_keyword="path_or_buf",
        result="local",
        source="datasets 5.2.0 datasets/arrow_dataset.py:5643",
    ),
    # Objects into an open file: the path is where the file was opened.
    CallRow(
        "json.dump",
        WRITE,
        path=1,
        path_keyword="fp",
        handle=True,
        result="none",
        source="python 3.11 json",
    ),
    CallRow(
        "pickle.dump",
        WRITE,
        path=1,
        path_keyword="file",
        handle=True,
        result="none",
        source="python 3.11 pickle",
    ),
    CallRow(
        "yaml.dump",
        WRITE,
        path=1,
        path_keyword="stream",
        handle=True,
        result="local",
        source="PyYAML 6.0.4 yaml/__init__.py:248",
    ),
    CallRow(
        "yaml.safe_dump",
        WRITE,
        path=1,
        path_keyword="stream",
        handle=True,
        result="local",
        source="PyYAML 6.0.4 yaml/__init__.py:263",
    ),
    CallRow(
        "yaml.dump_all",
        WRITE,
        path=1,
        path_keyword="stream",
        handle=True,
        result="local",
        source="PyYAML 6.0.4 yaml/__init__.py:215",
    ),
    CallRow(
        "csv.writer",
        WRITE,
        path=0,
        path_keyword="csvfile",
        handle=True,
        result="local",
        source="python 3.11 csv",
    ),
    CallRow(
        "csv.DictWriter",
        WRITE,
        path=0,
        path_keyword="f",
        handle=True,
        result="local",
        source="python 3.11 csv",
    ),
    CallRow(
        "shutil.copyfileobj",
        WRITE,
        path=1,
        path_keyword="fdst",
        handle=True,
        result="none",
        source="python 3.11 shutil",
    ),
    # Arrays, tables, images, figures.
    CallRow(
        "numpy.save",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:505",
    ),
    CallRow(
        "numpy.savez",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:581",
    ),
    CallRow(
        "numpy.savez_compressed",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:682",
    ),
    CallRow(
        "numpy.savetxt",
        WRITE,
        path=0,
        path_keyword="fname",
        result="none",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:1402",
    ),
    CallRow(
        "pandas.DataFrame.to_csv",
        WRITE,
        path=0,
        path_keyword="path_or_buf",
        result="local",
        source="pandas 3.1.1 pandas/core/generic.py:3829",
    ),
    CallRow(
        "pandas.DataFrame.to_json",
        WRITE,
        path=0,
        path_keyword="path_or_buf",
        result="local",
        source="pandas 3.1.1 pandas/core/generic.py:2280",
    ),
    CallRow(
        "pandas.DataFrame.to_pickle",
        WRITE,
        path=0,
        path_keyword="path",
        result="none",
        source="pandas 3.1.1 pandas/core/generic.py:3088",
    ),
    CallRow(
        "pandas.DataFrame.to_excel",
        WRITE,
        path=0,
        path_keyword="excel_writer",
        result="none",
        source="pandas 3.1.1 pandas/core/generic.py:2106",
    ),
    CallRow(
        "pandas.DataFrame.to_parquet",
        WRITE,
        path=0,
        path_keyword="path",
        result="local",
        source="pandas 3.1.1 pandas/core/frame.py:2870",
    ),
    CallRow(
        "torchvision.utils.save_image",
        WRITE,
        path=1,
        path_keyword="fp",
        result="none",
        source="torchvision 0.29.2 torchvision/utils.py:257",
    ),
    CallRow(
        "torchaudio.save",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="torchaudio 2.9.0 torchaudio/__init__.py:98",
    ),
    CallRow(
        "PIL.Image.Image.save",
        WRITE,
        path=0,
        path_keyword="fp",
        result="none",
        source="Pillow 13.0.0 PIL/Image.py:2593",
    ),
    CallRow(
        "cv2.imwrite",
        WRITE,
        path=0,
        path_keyword="filename",
        result="none",
        source="opencv-python 5.0.0.93 cv2/__init__.pyi:6060",
    ),
    CallRow(
        "matplotlib.pyplot.savefig",
        WRITE,
        path=0,
        path_keyword="fname",
        result="none",
        source="matplotlib 3.11.2 matplotlib/pyplot.py:1342",
    ),
    CallRow(
        "matplotlib.figure.Figure.savefig",
        WRITE,
        path=0,
        path_keyword="fname",
        result="none",
        source="matplotlib 3.11.2 matplotlib/figure.py:3360",
    ),
    CallRow(
        "torchvision.io.write_video",
        WRITE,
        path=0,
        path_keyword="filename",
        result="none",
        source="torchvision 0.20.1 torchvision/io/video.py:53",
    ),
    CallRow(
        "diffusers.utils.export_to_video",
        WRITE,
        path=1,
        path_keyword="output_video_path",
        result="none",
        source="diffusers 0.42.1 diffusers/utils/export_utils.py:150",
    ),
    CallRow(
        "soundfile.write",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="soundfile 0.14.0 soundfile.py:321",
    ),
    CallRow(
        "scipy.io.wavfile.write",
        WRITE,
        path=0,
        path_keyword="filename",
        result="none",
        source="scipy 1.17.1 scipy/io/wavfile.py:789",
    ),
    CallRow(
        "omegaconf.OmegaConf.save",
        WRITE,
        path=1,
        path_keyword="f",
        result="none",
        source="omegaconf 2.4.0 omegaconf/omegaconf.py:469",
    ),
    CallRow(
        "mmcv.Config.dump",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="mmcv 1.7.2 mmcv/utils/config.py:568",
    ),
    CallRow(
        "mmengine.config.Config.dump",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="mmengine 0.10.7 mmengine/config/config.py:1555",
    ),
    CallRow(
        "joblib.dump",
        WRITE,
        path=1,
        path_keyword="filename",
        result="none",
        source="joblib 1.6.0 joblib/numpy_pickle.py:480",
    ),
    CallRow(
        "imageio.imwrite",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="imageio 2.38.1 imageio/v2.py:365",
    ),
    CallRow(
        "imageio.mimwrite",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="imageio 2.38.1 imageio/v2.py:469",
    ),
    CallRow(
        "imageio.mimsave",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="imageio 2.38.1 imageio/v2.py:658",
    ),
    CallRow(
        "imageio.imsave",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="imageio 2.38.1 imageio/v2.py:657",
    ),
    CallRow(
        "imageio.v3.imwrite",
        WRITE,
        path=0,
        path_keyword="uri",
        result="none",
        source="imageio 2.38.1 imageio/v3.py:104",
    ),
    CallRow(
        "mmcv.dump",
        WRITE,
        path=1,
        path_keyword="file",
        result="none",
        source="mmcv 1.7.2 mmcv/fileio/io.py:76",
    ),
    CallRow(
        "mmengine.fileio.dump",
        WRITE,
        path=1,
        path_keyword="file",
        result="none",
        source="mmengine 0.10.7 mmengine/fileio/io.py:864",
    ),
    CallRow(
        "mmcv.imwrite",
        WRITE,
        path=1,
        path_keyword="file_path",
        result="none",
        source="mmcv 1.7.2 mmcv/image/io.py:272",
    ),
    CallRow(
        "matplotlib.pyplot.imsave",
        WRITE,
        path=0,
        path_keyword="fname",
        result="none",
        source="matplotlib 3.11.2 matplotlib/pyplot.py:2767",
    ),
    CallRow(
        "imageio.get_writer",
        WRITE,
        path=0,
        path_keyword="uri",
        result="local",
        source="imageio 2.38.1 imageio/v2.py:298",
    ),
    CallRow(
        "cv2.VideoWriter",
        WRITE,
        path=0,
        path_keyword="filename",
        result="local",
        source="opencv-python 5.0.0.93 cv2/__init__.pyi:4832",
    ),
    CallRow(
        "skimage.io.imsave",
        WRITE,
        path=0,
        path_keyword="fname",
        result="none",
        source="scikit-image 0.26.0 skimage/io/_io.py:160",
    ),
    CallRow(
        "tifffile.imwrite",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="tifffile 2026.3.3 tifffile/tifffile.py:1330",
    ),
    CallRow(
        "SimpleITK.WriteImage",
        WRITE,
        path=1,
        path_keyword="fileName",
        result="none",
        source="SimpleITK 2.5.7 SimpleITK/extra.py:385",
    ),
    CallRow(
        "nibabel.save",
        WRITE,
        path=1,
        path_keyword="filename",
        result="none",
        source="nibabel 5.4.2 nibabel/loadsave.py:147",
    ),
    CallRow(
        "ase.io.write",
        WRITE,
        path=0,
        path_keyword="filename",
        result="none",
        source="ase 3.29.0 ase/io/formats.py:651",
    ),
    CallRow(
        "scipy.io.savemat",
        WRITE,
        path=0,
        path_keyword="file_name",
        result="none",
        source="scipy 1.17.1 scipy/io/matlab/_mio.py:253",
    ),
    CallRow(
        "scipy.sparse.save_npz",
        WRITE,
        path=0,
        path_keyword="file",
        result="none",
        source="scipy 1.17.1 scipy/sparse/_matrix_io.py:11",
    ),
    CallRow(
        "pyarrow.parquet.write_table",
        WRITE,
        path=1,
        path_keyword="where",
        result="none",
        source="pyarrow 26.0.1 pyarrow/parquet/core.py:2017",
    ),
    CallRow(
        "dill.dump",
        WRITE,
        path=1,
        path_keyword="file",
        handle=True,
        result="none",
        source="dill 0.4.1 dill/_dill.py:251",
    ),
    CallRow(
        "cloudpickle.dump",
        WRITE,
        path=1,
        path_keyword="file",
        handle=True,
        result="none",
        source="cloudpickle 3.1.2 cloudpickle/cloudpickle.py:1513",
    ),
    CallRow(
        "torch.utils.tensorboard.SummaryWriter",
        GUARDED,
        path=0,
        path_keyword="log_dir",
        result="local",
        writers="each",
        source="torch 2.13.0 torch/utils/tensorboard/writer.py:173",
        # a file of its own for each process, named by host and pid
    ),
    # The standard library's file system.
    CallRow(
        "pathlib.Path.write_text", WRITE, path="self", result="none", source="python 3.11 pathlib"
    ),
    CallRow(
        "pathlib.Path.write_bytes", WRITE, path="self", result="none", source="python 3.11 pathlib"
    ),
    CallRow("pathlib.Path.touch", WRITE, path="self", result="none", source="python 3.11 pathlib"),
    CallRow(
        "shutil.copy",
        WRITE,
        path=1,
        path_keyword="dst",
        result="local",
        source="python 3.11 shutil",
    ),
    CallRow(
        "shutil.copy2",
        WRITE,
        path=1,
        path_keyword="dst",
        result="local",
        source="python 3.11 shutil",
    ),
    CallRow(
        "shutil.copyfile",
        WRITE,
        path=1,
        path_keyword="dst",
        result="local",
        source="python 3.11 shutil",
    ),
    CallRow(
        "shutil.copytree",
        WRITE,
        path=1,
        path_keyword="dst",
        result="local",
        source="python 3.11 shutil",
        # fails where the target exists, unless dirs_exist_ok
    ),
    CallRow(
        "shutil.make_archive",
        WRITE,
        path=0,
        path_keyword="base_name",
        result="local",
        source="python 3.11 shutil",
    ),
    CallRow(
        "shutil.unpack_archive",
        WRITE,
        path=1,
        path_keyword="extract_dir",
        result="none",
        source="python 3.11 shutil",
    ),
    CallRow(
        "tarfile.TarFile.extractall",
        WRITE,
        path=0,
        path_keyword="path",
        result="none",
        source="python 3.11 tarfile",
    ),
    CallRow(
        "zipfile.ZipFile.extractall",
        WRITE,
        path=0,
        path_keyword="path",
        result="none",
        source="python 3.11 zipfile",
    ),
    CallRow(
        "os.symlink",
        WRITE,
        path=1,
        path_keyword="dst",
        result="none",
        source="python 3.11 os",
        # the second rank fails: the link exists
    ),
    CallRow("os.link", WRITE, path=1, path_keyword="dst", result="none", source="python 3.11 os"),
    CallRow(
        "pathlib.Path.symlink_to", WRITE, path="self", result="none", source="python 3.11 pathlib"
    ),
    CallRow(
        "shutil.move",
        DELETE,
        path=0,
        path_keyword="src",
        also=(WRITE,),
        target=1,
        result="local",
        source="python 3.11 shutil",
    ),
    CallRow(
        "os.rename",
        DELETE,
        path=0,
        path_keyword="src",
        also=(WRITE,),
        target=1,
        result="none",
        source="python 3.11 os",
    ),
    CallRow(
        "os.renames",
        DELETE,
        path=0,
        path_keyword="old",
        also=(WRITE,),
        target=1,
        result="none",
        source="python 3.11 os",
    ),
    CallRow(
        "os.replace",
        DELETE,
        path=0,
        path_keyword="src",
        also=(WRITE,),
        target=1,
        atomic=True,
        result="none",
        source="python 3.11 os",
    ),
    CallRow(
        "pathlib.Path.rename",
        DELETE,
        path="self",
        also=(WRITE,),
        target=0,
        result="local",
        source="python 3.11 pathlib",
    ),
    CallRow(
        "pathlib.Path.replace",
        DELETE,
        path="self",
        also=(WRITE,),
        target=0,
        atomic=True,
        result="local",
        source="python 3.11 pathlib",
    ),
    CallRow(
        "os.remove", DELETE, path=0, path_keyword="path", result="none", source="python 3.11 os"
    ),
    CallRow(
        "os.unlink", DELETE, path=0, path_keyword="path", result="none", source="python 3.11 os"
    ),
    CallRow(
        "os.rmdir", DELETE, path=0, path_keyword="path", result="none", source="python 3.11 os"
    ),
    CallRow(
        "os.removedirs", DELETE, path=0, path_keyword="name", result="none", source="python 3.11 os"
    ),
    CallRow(
        "shutil.rmtree",
        DELETE,
        path=0,
        path_keyword="path",
        result="none",
        source="python 3.11 shutil",
    ),
    CallRow(
        "pathlib.Path.unlink",
        DELETE,
        path="self",
        result="none",
        source="python 3.11 pathlib",
        # missing_ok=True tolerates the other ranks
    ),
    CallRow("pathlib.Path.rmdir", DELETE, path="self", result="none", source="python 3.11 pathlib"),
    CallRow(
        "os.mkdir", CREATE_DIR, path=0, path_keyword="path", result="none", source="python 3.11 os"
    ),
    CallRow(
        "os.makedirs",
        CREATE_DIR,
        path=0,
        path_keyword="name",
        result="none",
        source="python 3.11 os",
    ),
    CallRow(
        "pathlib.Path.mkdir",
        CREATE_DIR,
        path="self",
        result="none",
        source="python 3.11 pathlib",
    ),
    # Reads.
    CallRow(
        "torch.load",
        READ,
        path=0,
        path_keyword="f",
        source="torch 2.13.0 torch/serialization.py:1315",
    ),
    CallRow(
        "torch.jit.load",
        READ,
        path=0,
        path_keyword="f",
        source="torch 2.13.0 torch/jit/_serialization.py:103",
    ),
    CallRow(
        "safetensors.torch.load_file",
        READ,
        path=0,
        path_keyword="filename",
        source="safetensors 0.8.0 safetensors/torch.py:328",
    ),
    CallRow(
        "safetensors.safe_open",
        READ,
        path=0,
        path_keyword="filename",
        source="safetensors 0.8.0 safetensors/__init__.py:7",
    ),
    CallRow("json.load", READ, path=0, path_keyword="fp", handle=True, source="python 3.11 json"),
    CallRow(
        "pickle.load", READ, path=0, path_keyword="file", handle=True, source="python 3.11 pickle"
    ),
    CallRow(
        "yaml.safe_load",
        READ,
        path=0,
        path_keyword="stream",
        handle=True,
        source="PyYAML 6.0.4 yaml/__init__.py:117",
    ),
    CallRow(
        "yaml.load",
        READ,
        path=0,
        path_keyword="stream",
        handle=True,
        source="PyYAML 6.0.4 yaml/__init__.py:74",
    ),
    CallRow(
        "numpy.load",
        READ,
        path=0,
        path_keyword="file",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:312",
    ),
    CallRow(
        "numpy.loadtxt",
        READ,
        path=0,
        path_keyword="fname",
        source="numpy 2.4.6 numpy/lib/_npyio_impl.py:1120",
    ),
    CallRow(
        "pandas.read_csv",
        READ,
        path=0,
        path_keyword="filepath_or_buffer",
        source="pandas 3.1.1 pandas/io/parsers/readers.py:1305",
    ),
    CallRow(
        "pandas.read_json",
        READ,
        path=0,
        path_keyword="path_or_buf",
        source="pandas 3.1.1 pandas/io/json/_json.py:636",
    ),
    CallRow(
        "pandas.read_parquet",
        READ,
        path=0,
        path_keyword="path",
        source="pandas 3.1.1 pandas/io/parquet.py:574",
    ),
    CallRow("pathlib.Path.read_text", READ, path="self", source="python 3.11 pathlib"),
    CallRow("pathlib.Path.read_bytes", READ, path="self", source="python 3.11 pathlib"),
    CallRow(
        "datasets.load_from_disk",
        READ,
        path=0,
        path_keyword="dataset_path",
        source="datasets 5.2.0 datasets/load.py:1704",
    ),
    CallRow(
        "PIL.Image.open", READ, path=0, path_keyword="fp", source="Pillow 13.0.0 PIL/Image.py:3600"
    ),
    CallRow(
        "os.listdir", READ, path=0, path_keyword="path", result="local", source="python 3.11 os"
    ),
    CallRow(
        "os.scandir", READ, path=0, path_keyword="path", result="local", source="python 3.11 os"
    ),
    CallRow("os.walk", READ, path=0, path_keyword="top", result="local", source="python 3.11 os"),
    CallRow(
        "glob.glob",
        READ,
        path=0,
        path_keyword="pathname",
        result="local",
        source="python 3.11 glob",
    ),
    CallRow(
        "pathlib.Path.iterdir", READ, path="self", result="local", source="python 3.11 pathlib"
    ),
    CallRow("pathlib.Path.glob", READ, path="self", result="local", source="python 3.11 pathlib"),
    CallRow(
        "accelerate.utils.load",
        READ,
        path=0,
        path_keyword="f",
        source="accelerate 1.15.0 accelerate/utils/other.py:460",
    ),
    CallRow(
        "accelerate.load_checkpoint_in_model",
        READ,
        path=1,
        path_keyword="checkpoint",
        source="accelerate 1.15.0 accelerate/utils/modeling.py:1817",
    ),
    CallRow(
        "accelerate.load_checkpoint_and_dispatch",
        READ,
        path=1,
        path_keyword="checkpoint",
        result="wrapped",
        source="accelerate 1.15.0 accelerate/big_modeling.py:520",
    ),
    # Downloads. `locked`: several processes may call it at once.
    CallRow(
        "urllib.request.urlretrieve",
        DOWNLOAD,
        path=1,
        path_keyword="filename",
        source="python 3.11 urllib.request",
    ),
    CallRow(
        "wget.download",
        DOWNLOAD,
        path=1,
        path_keyword="out",
        source="wget 3.2 wget.py:489",
    ),
    CallRow(
        "beir.util.download_and_unzip",
        DOWNLOAD,
        path=1,
        path_keyword="out_dir",
        source="beir 2.2.0 beir/util.py:90",
    ),
    CallRow(
        "torch.hub.download_url_to_file",
        DOWNLOAD,
        path=1,
        path_keyword="dst",
        result="none",
        atomic=True,
        source="torch 2.13.0 torch/hub.py:707",
        # every rank downloads to a name of its own and moves it
    ),
    CallRow(
        "torch.hub.load_state_dict_from_url",
        DOWNLOAD,
        path=0,
        path_keyword="url",
        atomic=True,
        source="torch 2.13.0 torch/hub.py:829",
    ),
    CallRow(
        "torch.hub.load",
        DOWNLOAD,
        path=0,
        path_keyword="repo_or_dir",
        unless="source=local",
        source="torch 2.13.0 torch/hub.py:576",
        # removes and moves the unpacked repository without a lock
    ),
    CallRow(
        "torch.hub.list",
        DOWNLOAD,
        path=0,
        path_keyword="github",
        source="torch 2.13.0 torch/hub.py:459",
    ),
    *(
        CallRow(f"{name}.rm", DELETE, path=0, path_keyword="path", source=source)
        for name, source in _PATH_MANAGERS
    ),
    CallRow(
        "clip.load",
        DOWNLOAD,
        path=0,
        path_keyword="name",
        source="openai-clip 1.0.1 clip/clip.py:94",
        # looks for the file, and writes what it fetches straight into it, in ~/.cache/clip
    ),
    CallRow(
        "whisper.load_model",
        DOWNLOAD,
        path=0,
        path_keyword="name",
        source="openai-whisper 20250625 whisper/__init__.py:103",
        # as above, in ~/.cache/whisper
    ),
    CallRow(
        "huggingface_hub.hf_hub_download",
        DOWNLOAD,
        path=0,
        path_keyword="repo_id",
        locked=True,
        source="huggingface_hub 2.4.0 huggingface_hub/file_download.py:857",
    ),
    CallRow(
        "huggingface_hub.snapshot_download",
        DOWNLOAD,
        path=0,
        path_keyword="repo_id",
        locked=True,
        source="huggingface_hub 2.4.0 huggingface_hub/_snapshot_download.py:123",
    ),
    CallRow(
        "transformers.utils.cached_file",
        DOWNLOAD,
        path=0,
        path_keyword="path_or_repo_id",
        locked=True,
        source="transformers 5.23.0 transformers/utils/hub.py:315",
    ),
    CallRow(
        "datasets.load_dataset",
        DOWNLOAD,
        path=0,
        path_keyword="path",
        locked=True,
        source="datasets 5.2.0 datasets/load.py:1446",
    ),
    CallRow(
        "datasets.load_dataset_builder",
        DOWNLOAD,
        path=0,
        path_keyword="path",
        locked=True,
        source="datasets 5.2.0 datasets/load.py:1187",
    ),
    CallRow(
        "evaluate.load",
        DOWNLOAD,
        path=0,
        path_keyword="path",
        locked=True,
        source="evaluate 0.4.6 evaluate/loading.py:689",
    ),
    CallRow(
        "gdown.download",
        DOWNLOAD,
        path=1,
        path_keyword="output",
        atomic=True,
        source="gdown 6.5.1 gdown/download.py:709",
        # every rank downloads to a name of its own and moves it
    ),
    CallRow(
        "fvcore.common.download.download",
        DOWNLOAD,
        path=1,
        path_keyword="dir",
        source="fvcore 0.1.5.post20221221 fvcore/common/download.py:11",
        # asks whether the file is there, and downloads to one temporary name for all
    ),
    CallRow(
        "nltk.download",
        DOWNLOAD,
        path=0,
        path_keyword="info_or_id",
        source="nltk 3.10.4 nltk/downloader.py:1505",
    ),
    CallRow(
        "torchvision.datasets.utils.download_url",
        DOWNLOAD,
        path=1,
        path_keyword="root",
        result="none",
        source="torchvision 0.29.2 torchvision/datasets/utils.py:87",
    ),
    CallRow(
        "torchvision.datasets.utils.download_and_extract_archive",
        DOWNLOAD,
        path=1,
        path_keyword="download_root",
        result="none",
        source="torchvision 0.29.2 torchvision/datasets/utils.py:379",
    ),
    CallRow(
        "timm.data.create_dataset",
        DOWNLOAD,
        path=1,
        path_keyword="root",
        when="download=True",
        condition=7,
        source="timm 1.0.31 timm/data/dataset_factory.py:63",
    ),
    CallRow(
        "torchvision.datasets.MNIST",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/mnist.py:20",
    ),
    CallRow(
        "torchvision.datasets.FashionMNIST",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/mnist.py:204",
    ),
    CallRow(
        "torchvision.datasets.KMNIST",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/mnist.py:232",
    ),
    CallRow(
        "torchvision.datasets.EMNIST",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        source="torchvision 0.29.2 torchvision/datasets/mnist.py:260",
    ),
    CallRow(
        "torchvision.datasets.CIFAR10",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/cifar.py:13",
    ),
    CallRow(
        "torchvision.datasets.CIFAR100",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/cifar.py:146",
    ),
    CallRow(
        "torchvision.datasets.SVHN",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        condition=4,
        source="torchvision 0.29.2 torchvision/datasets/svhn.py:12",
    ),
    CallRow(
        "torchvision.datasets.STL10",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        source="torchvision 0.29.2 torchvision/datasets/stl10.py:12",
    ),
    CallRow(
        "torchvision.datasets.CelebA",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        source="torchvision 0.29.2 torchvision/datasets/celeba.py:16",
    ),
    CallRow(
        "torchvision.datasets.VOCDetection",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        source="torchvision 0.29.2 torchvision/datasets/voc.py:164",
    ),
    CallRow(
        "torchvision.datasets.OxfordIIITPet",
        DOWNLOAD,
        path=0,
        path_keyword="root",
        when="download=True",
        source="torchvision 0.29.2 torchvision/datasets/oxford_iiit_pet.py:13",
    ),
    *(
        CallRow(
            f"torchaudio.datasets.{name}",
            DOWNLOAD,
            path=0,
            path_keyword="root",
            when="download=True",
            condition=position,
            source=f"torchaudio 2.7.0 torchaudio/datasets/{place}",
            # LIBRISPEECH unpacks where the folder is missing: another rank finds a part of it
        )
        for name, position, place in (
            ("CMUARCTIC", 3, "cmuarctic.py:51"),
            ("CMUDict", None, "cmudict.py:105"),
            ("DR_VCTK", None, "dr_vctk.py:16"),
            ("GTZAN", 3, "gtzan.py:998"),
            ("LibriLightLimited", 2, "librilight_limited.py:48"),
            ("LIBRISPEECH", 3, "librispeech.py:77"),
            ("LibriSpeechBiasing", 3, "librispeech_biasing.py:84"),
            ("LIBRITTS", 3, "libritts.py:65"),
            ("LJSPEECH", 3, "ljspeech.py:22"),
            ("MUSDB_HQ", 4, "musdb_hq.py:33"),
            ("QUESST14", 3, "quesst14.py:25"),
            ("SPEECHCOMMANDS", 3, "speechcommands.py:50"),
            ("TEDLIUM", 3, "tedlium.py:43"),
            ("VCTK_092", 2, "vctk.py:19"),
            ("VoxCeleb1", 1, "voxceleb1.py:92"),
            ("VoxCeleb1Identification", 3, "voxceleb1.py:124"),
            ("VoxCeleb1Verification", 2, "voxceleb1.py:215"),
            ("YESNO", 3, "yesno.py:21"),
        )
    ),
    # Repositories on the network: a commit of each call.
    CallRow(
        "transformers.utils.PushToHubMixin.push_to_hub",
        UPLOAD,
        path=0,
        path_keyword="repo_id",
        result="local",
        source="transformers 5.23.0 transformers/utils/hub.py:822",
    ),
    *(
        CallRow(
            f"huggingface_hub.{owner}{name}",
            UPLOAD,
            path_keyword="repo_id",
            result="local",
            source=f"huggingface-hub 2.4.0 huggingface_hub/hf_api.py:{line}",
        )
        for name, line in (("upload_file", 5623), ("upload_folder", 5810))
        for owner in ("", "HfApi.")
    ),
    # The terminal.
    CallRow("builtins.input", PROMPT, source="python 3.11 builtins", result="local"),
    CallRow("getpass.getpass", PROMPT, source="python 3.11 getpass", result="local"),
    CallRow("builtins.breakpoint", PROMPT, source="python 3.11 builtins", result="none"),
    CallRow("pdb.set_trace", PROMPT, source="python 3.11 pdb", result="none"),
    CallRow("pdb.post_mortem", PROMPT, source="python 3.11 pdb", result="none"),
    CallRow("pdb.Pdb.set_trace", PROMPT, source="python 3.11 pdb", result="none"),
    # The end of the process.
    CallRow("sys.exit", EXIT, source="python 3.11 sys", result="none"),
    CallRow("os._exit", EXIT, source="python 3.11 os", result="none"),
    CallRow("os.abort", EXIT, source="python 3.11 os", result="none"),
    CallRow("builtins.exit", EXIT, source="python 3.11 site", result="none"),
    CallRow("builtins.quit", EXIT, source="python 3.11 site", result="none"),
)

SINKS: dict[str, CallRow] = {row.name: row for row in _ROWS}
"""Row by qualified name; builtins are "builtins.open"."""

_METHOD_ROWS = (
    "transformers.PreTrainedConfig.save_pretrained",
    "transformers.PreTrainedConfig.to_json_file",
    "datasets.Dataset.save_to_disk",
    "pandas.DataFrame.to_csv",
    "pandas.DataFrame.to_json",
    "pandas.DataFrame.to_parquet",
    "pandas.DataFrame.to_pickle",
    "pandas.DataFrame.to_excel",
    "matplotlib.figure.Figure.savefig",
    "pathlib.Path.write_text",
    "pathlib.Path.write_bytes",
    "pathlib.Path.touch",
    "pathlib.Path.symlink_to",
    "pathlib.Path.unlink",
    "pathlib.Path.rmdir",
    "pathlib.Path.mkdir",
    "pathlib.Path.read_text",
    "pathlib.Path.read_bytes",
    "tarfile.TarFile.extractall",
    "transformers.utils.PushToHubMixin.push_to_hub",
)

SINK_METHODS: dict[str, CallRow] = {name.rpartition(".")[2]: SINKS[name] for name in _METHOD_ROWS}
"""Row by method name alone, for receivers of unknown type. `save`, `replace`, `rename`, `open` and
`glob` are not here: strings, modules and images have methods of these names."""

ONE_MEANING: Final = frozenset({"save_pretrained"})
"""Methods that write in each class of a library that has them: diffusers' pipelines, peft's and sentence-transformers'
models (diffusers 0.42.1 pipelines/pipeline_utils.py, peft 0.21.2 peft_model.py:298, sentence-transformers 6.2.0
base/model.py)."""

MAIN_PROCESS_ARGUMENTS: dict[str, str] = {
    "save_pretrained": "is_main_process",
    "save_torch_model": "is_main_process",
    "save_torch_state_dict": "is_main_process",
}
"""Keyword by method or function name: the write happens only where that argument is true."""

MAKE_FOLDER: frozenset[str] = frozenset({"save_pretrained"})
"""Methods that make the folder which they are given on every rank that calls them, whichever of these writes
(transformers 5.23.0 transformers/modeling_utils.py:3405, tokenization_utils_base.py:2053, configuration_utils.py:760,
processing_utils.py:1206). Not peft's (peft 0.21.2 peft/peft_model.py:298)."""


COMMANDS: Final = frozenset(
    {
        "os.system",
        "os.popen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
    }
)
"""Calls that run another program and wait for it (python 3.11 os, subprocess)."""

FOLDER_READERS: Final[dict[str, tuple[tuple[int | None, str], ...]]] = {
    "cleanfid.fid.compute_fid": ((0, "fdir1"), (1, "fdir2")),  # clean-fid 0.1.35 cleanfid/fid.py
    "cleanfid.fid.compute_kid": ((0, "fdir1"), (1, "fdir2")),
    "pytorch_fid.fid_score.calculate_fid_given_paths": ((0, "paths"),),  # pytorch-fid 0.3.0
    "torch_fidelity.calculate_metrics": (
        (None, "input1"),
        (None, "input2"),
    ),  # torch-fidelity 0.3.0
    "torchvision.datasets.ImageFolder": (
        (0, "root"),
    ),  # torchvision 0.28 torchvision/datasets/folder.py
    "shutil.make_archive": ((2, "root_dir"),),  # python 3.11 shutil
    "shutil.copytree": ((0, "src"),),
}
"""Calls that read all files of a folder, and of those in it: where it is given."""


class Fetching(NamedTuple):
    """A program that makes files: what that is, and the options whose values say where to."""

    effect: Effect
    into: frozenset[str]
    only: str = ""
    """A letter of the mode without which it reads what is there."""


NO_FILES: Final = frozenset({"-", "/dev/null"})
FETCHING: Final = {
    "wget": Fetching(
        DOWNLOAD,
        frozenset({"-O", "-qO", "--output-document", "-P", "--directory-prefix"}),
    ),
    "curl": Fetching(DOWNLOAD, frozenset({"-o", "-Lo", "-sLo", "--output", "--output-dir"})),
    "gdown": Fetching(DOWNLOAD, frozenset({"-O", "--output"})),
    "unzip": Fetching(WRITE, frozenset({"-d"})),
    "tar": Fetching(WRITE, frozenset({"-C", "--directory"}), only="x"),
}
"""Programs that write in place, by name (GNU Wget 1.21, curl 7.88, Info-ZIP 6.0, GNU tar 1.34)."""

EXISTENCE_TESTS: frozenset[str] = frozenset(
    {
        "os.path.exists",
        "os.path.isfile",
        "os.path.isdir",
        "os.path.lexists",
        "os.path.islink",
        "os.path.getsize",
        "os.path.getmtime",
        "os.access",
        "pathlib.Path.exists",
        "pathlib.Path.is_file",
        "pathlib.Path.is_dir",
        "pathlib.Path.is_symlink",
        "pathlib.Path.stat",
        "os.stat",
    }
)
"""Calls that ask the file system about a path (their first argument, or the receiver)."""

EXISTENCE_METHODS: frozenset[str] = frozenset({"exists", "is_file", "is_dir", "is_symlink"})
"""The same by method name alone."""

ONE_ARCHIVE: Final = frozenset(
    f"torchvision.datasets.{name}"
    for name in (
        "MNIST",
        "FashionMNIST",
        "KMNIST",
        "EMNIST",
        "CIFAR10",
        "CIFAR100",
        "STL10",
        "CelebA",
        "OxfordIIITPet",
    )
)
"""Data sets that fetch all of their splits at once, and nothing where all is there: torchvision 0.23.0
torchvision/datasets/mnist.py:174, cifar.py:136, stl10.py:155, celeba.py:155, oxford_iiit_pet.py:130. SVHN has a file for each split
(svhn.py:125)."""
FOLDERS: Final = {
    "torchvision.datasets.CIFAR10": "cifar-10-batches-py",
    "torchvision.datasets.CIFAR100": "cifar-100-python",
}
"""What a data set's archive is unpacked to, by which a class below it chooses another: torchvision 0.23.0
torchvision/datasets/cifar.py:32 and 146, `base_folder`."""
KEEPS_WHAT_IS_THERE: Final = ONE_ARCHIVE | {"torchvision.datasets.utils.download_url"}
"""Downloads that do nothing where the file is there and whole (torchvision 0.29.2 torchvision/datasets/utils.py:104)."""

BY_NAME: Final = frozenset({"clip.load", "whisper.load_model"})
"""Downloads of what a name stands for. A path is a file that is read (openai-clip 1.0.1 clip/clip.py:120)."""

TOLERANT: Final[dict[str, dict[str, int]]] = {
    "ignore_errors": {"shutil.rmtree": 1},
    "missing_ok": {"pathlib.Path.unlink": 0, ".unlink": 0},
    "exist_ok": {"os.makedirs": 2, "pathlib.Path.mkdir": 2, ".mkdir": 2},
    "dirs_exist_ok": {"shutil.copytree": 5},
}
"""Arguments by which a call takes what others have made or removed, and their positions (python 3.11 shutil, pathlib,
os)."""

RENAMES: Final = frozenset(
    {"os.rename", "os.replace", "pathlib.Path.rename", "pathlib.Path.replace", "shutil.move"}
)
"""Moves that put one file in the place of another in one step (POSIX `rename`; python 3.11 os, pathlib; shutil.py:848,
on one file system)."""

FILLS_FOLDERS: Final = frozenset(
    {"extractall", "unpack_archive", "copytree", "extract_archive", "snapshot_download"}
)
"""Methods and functions that make a folder first and then put one file after the other into it (python 3.11 shutil,
tarfile, zipfile; torchvision 0.29.2 torchvision/datasets/utils.py)."""

COPIES: Final = frozenset({"shutil.copy", "shutil.copy2", "shutil.copyfile"})
"""Calls that copy one file (python 3.11 shutil)."""

IMPORT_AGAIN: Final = frozenset({"reload", "import_module", "exec_module"})
"""Calls that read the code of a module from its file (python 3.11 importlib)."""

KEEP_NAMES: Final = frozenset({"shutil.copy", "shutil.copy2", "shutil.move"})
"""Those that give what they put into a folder the name that it had (python 3.11 shutil.py:413, 825)."""
SMALL_OBJECTS: Final = pattern(
    r"(?:^|_)(?:tokenizers?|processors?|processing_class|(?:feature_)?extractor|noise_scheduler|scheduler"
    r"|chat_template|(?:generation_)?config)(?:_?\d|_fast|_one|_two)?$",
    re.IGNORECASE,
)
"""Names of what `save_pretrained` writes in a few small files that follow from where it was loaded: tokenizers,
processors, diffusers' schedulers (transformers 5.23.0 tokenization_utils_base.py:2005, processing_utils.py:1182)."""
SMALL_FILES: Final = (
    "added_tokens.json", "chat_template.jinja", "config.json", "generation_config.json", "merges.txt",
    "preprocessor_config.json", "processor_config.json", "scheduler_config.json", "special_tokens_map.json",
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt",
)  # fmt: skip
"""The names of these files."""
READ_BY_LIBRARIES: Final = frozenset({"deepspeed_config"})
"""Attributes of the arguments under which a library looks for a file (deepspeed 0.18.0 deepspeed/__init__.py:
`initialize(args)`)."""
READ_DEEPSPEED: Final = frozenset(
    {"initialize", "Accelerator", "DeepSpeedPlugin", "HfDeepSpeedConfig", "TrainingArguments"}
)
"""What reads such a file, by last names."""

TAKE_PATHS_ALONE: Final = frozenset({
    "abspath", "basename", "chmod", "critical", "debug", "dirname", "error", "exists", "exit",
    "format", "info", "isdir", "isfile", "join", "makedirs", "mkdir", "open", "print", "remove",
    "str", "unlink", "warn", "warning", "write",
})  # fmt: skip
"""Functions and methods, by their last names, that ask about a path, tell of it or write there."""

WRITES: Final = pattern(r"(?i)save|dump|write|export|filehandler|^to_|^(?:make|remove|copy|move)")
"""Last names of calls that write, make or remove what they are given the path of."""

LARGE: Final[dict[str, int]] = {
    "torch.save": 0,
    "torch.jit.save": 0,
    "torch.export.save": 0,
    "torch.onnx.export": 0,
    "safetensors.torch.save_file": 0,
    "safetensors.torch.save_model": 0,
    "safetensors.numpy.save_file": 0,
    "huggingface_hub.save_torch_model": 0,
    "huggingface_hub.save_torch_state_dict": 0,
    "numpy.save": 1,
    "numpy.savez": 1,
    "numpy.savez_compressed": 1,
    "scipy.sparse.save_npz": 1,
    "scipy.io.savemat": 1,
    "joblib.dump": 0,
    "datasets.Dataset.save_to_disk": -1,
    "datasets.Dataset.to_parquet": -1,
    "pandas.DataFrame.to_pickle": -1,
    "pandas.DataFrame.to_parquet": -1,
    "pyarrow.parquet.write_table": 0,
    "h5py.File": -1,
    "torchvision.io.write_video": 1,
    "diffusers.utils.export_to_video": 0,
    "imageio.mimwrite": 1,
    "imageio.mimsave": 1,
    "imageio.get_writer": -1,
    "cv2.VideoWriter": -1,
    "shutil.make_archive": -1,
    "shutil.unpack_archive": -1,
    "tarfile.TarFile.extractall": -1,
    "zipfile.ZipFile.extractall": -1,
}
"""Calls that write weights, arrays, videos or whole folders, which takes long: the position of what they write, -1
where it is what they are called on (the rows above)."""
DUMPS: Final = frozenset({"torch.save", "pickle.dump", "dill.dump", "cloudpickle.dump"})
"""Calls that write an object whole into an open file, of any size, as they are written (the rows above)."""
ONLY_STATES: Final = frozenset(
    {
        "torch.jit.save",
        "torch.export.save",
        "safetensors.torch.save_file",
        "safetensors.torch.save_model",
    }
)
"""Those that write a model's weights and nothing else."""

WITHOUT_DEVICES: Final = frozenset({"safetensors.torch.save_file", "safetensors.torch.save_model"})
"""Those whose files do not say on which device a tensor was (safetensors 0.8.0 safetensors/torch.py:479 moves it to the CPU)."""
FEW_SMALL_FILES: Final = frozenset(
    {
        "transformers.PreTrainedConfig.save_pretrained",
        "transformers.PreTrainedTokenizerBase.save_pretrained",
        "transformers.ProcessorMixin.save_pretrained",
        "transformers.GenerationConfig.save_pretrained",
    }
)
"""What `save_pretrained` is of the classes that have no weights."""
SMALL_CLASSES: Final = pattern(r"(?:Tokenizer(?:Fast)?|Processor|Extractor|Scheduler|Config)$")
"""Ends of the names of further ones: transformers' tokenizers, diffusers' schedulers."""
FAIL_WHERE_THERE: Final = frozenset(
    {"os.symlink", "os.link", "pathlib.Path.symlink_to", "shutil.copytree"}
)
"""Calls that raise FileExistsError where there is what they make (python 3.11 os, pathlib, shutil)."""
NO_SECONDS: Final = frozenset(
    {
        *("tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_yday", "tm_wday"),
        *("year", "month", "day", "hour", "minute"),
    }
)
"""The attributes of a time that change once a minute at most (python 3.11 time, datetime)."""
OWN_LINES: Final = frozenset({"transformers.TrainerState.save_to_json"})
"""Calls that write what differs between ranks: `is_world_process_zero`, `is_local_process_zero` (transformers 5.23.0
transformers/trainer_callback.py:143)."""
TIMED: Final = frozenset({"transformers.Trainer.evaluate"})
"""Calls that return how long this rank took beside what it found (transformers 5.23.0 transformers/trainer.py,
`speed_metrics`)."""
KEEP_LINES: Final = frozenset(
    {
        "str",
        "repr",
        "format",
        "dict",
        "list",
        "tuple",
        "dumps",
        "safe_dump",
        "join",
        "round",
        "int",
        "float",
    }
)
"""Functions and methods, by their last names, that write out what they are given."""
FETCHES: Final = pattern(
    r"^requests\.(?:get|request)$|^(?:urllib\.request\.|request\.)?urlopen$|(?:^|\.)(?:iter_content|get_asset)$"
)
"""Calls that give what comes over the network (python 3.11 urllib; requests 2.32 requests/api.py; an experiment of comet_ml, as
yolov9 5b1ea9a utils/loggers/comet/comet_utils.py:54 asks it)."""
