"""What differs between ranks that run the same code: local values, and calls that fail on one rank."""

from typing import Final, NamedTuple


class LocalValue(NamedTuple):
    """A call whose result is each rank's own."""

    tag: str
    """What kind of difference: "clock", "memory", "file", "process", "random", "hash", "tensor",
    "data", "signal", "network", "rank-part"."""
    text: str
    """A noun phrase for messages: "the clock"."""
    needs_local_input: bool = False
    """Only where the receiver or an argument is a rank's own already: `loss.item()`."""
    source: str = ""


_CLOCK = LocalValue("clock", "the clock", source="python 3.11 time")
_DATE = LocalValue("clock", "the clock", source="python 3.11 datetime")
_MEMORY = LocalValue("memory", "this device's memory", source="torch 2.13.0 torch/cuda/memory.py")
FILE: Final = "file"
"""Kind of a value that comes from a machine's file system, which all ranks of one machine have in common."""
_FILE = LocalValue(FILE, "this machine's file system", source="python 3.11 os")
_PROCESS = LocalValue("process", "this process", source="python 3.11 os")
_UNIQUE = LocalValue("process", "a new identifier", source="python 3.11 uuid")
_TEMPORARY = LocalValue("process", "a temporary name", source="python 3.11 tempfile")
_HASH = LocalValue("hash", "a hash salted per process", source="python 3.11 builtins")
TENSOR: Final = "tensor"
"""Kind of a value that the contents of a rank's tensor decide."""
TENSOR_SIZE: Final = "tensor-size"
"""Kind of a value that the size of a rank's tensor decides: whether it has elements at all."""
RANK_PART: Final = "rank-part"
"""Kind of a value that comes from a rank's part of the data."""
BAR: Final = "progress-bar"
"""Kind of a count that a progress bar keeps, which only some ranks draw."""

_NUMBER = LocalValue(
    TENSOR,
    "the contents of this rank's tensor",
    True,
    "torch 2.13.0 torch/_C/_VariableFunctions.pyi",
)
_SHAPE = LocalValue(
    TENSOR_SIZE,
    "the size of this rank's tensor",
    True,
    "torch 2.13.0 torch/_C/_VariableFunctions.pyi",
)
_NETWORK = LocalValue("network", "this machine's network", source="python 3.11 socket")
_HOST = LocalValue("process", "this machine's name", source="python 3.11 socket")
_PART = LocalValue(
    RANK_PART, "this rank's part of the data", source="accelerate 1.15.0 accelerate/state.py:426"
)

LOCAL_CALLS: dict[str, LocalValue] = {
    "time.time": _CLOCK,
    "time.time_ns": _CLOCK,
    "time.perf_counter": _CLOCK,
    "time.perf_counter_ns": _CLOCK,
    "time.monotonic": _CLOCK,
    "time.monotonic_ns": _CLOCK,
    "time.process_time": _CLOCK,
    "time.strftime": _CLOCK,
    "time.localtime": _CLOCK,
    "time.gmtime": _CLOCK,
    "time.ctime": _CLOCK,
    "datetime.datetime.now": _DATE,
    "datetime.datetime.today": _DATE,
    "datetime.datetime.utcnow": _DATE,
    "datetime.date.today": _DATE,
    "timeit.default_timer": _CLOCK,
    "torch.cuda.memory_allocated": _MEMORY,
    "torch.cuda.max_memory_allocated": _MEMORY,
    "torch.cuda.memory_reserved": _MEMORY,
    "torch.cuda.max_memory_reserved": _MEMORY,
    "torch.cuda.mem_get_info": _MEMORY,
    "torch.cuda.memory_stats": _MEMORY,
    "torch.cuda.memory_summary": _MEMORY,
    "torch.cuda.utilization": _MEMORY,
    "torch.cuda.temperature": _MEMORY,
    "torch.cuda.current_device": LocalValue(
        "process", "this rank's device", source="torch 2.13.0 torch/cuda/__init__.py"
    ),
    "psutil.virtual_memory": _MEMORY,
    "psutil.cpu_percent": _MEMORY,
    "psutil.disk_usage": _FILE,
    "psutil.Process": _PROCESS,
    "shutil.disk_usage": _FILE,
    "os.path.exists": _FILE,
    "os.path.isfile": _FILE,
    "os.path.isdir": _FILE,
    "os.path.islink": _FILE,
    "os.path.lexists": _FILE,
    "os.path.getsize": _FILE,
    "os.path.getmtime": _FILE,
    "os.path.getctime": _FILE,
    "os.stat": _FILE,
    "os.access": _FILE,
    "os.listdir": _FILE,
    "os.scandir": _FILE,
    "os.walk": _FILE,
    "glob.glob": _FILE,
    "glob.iglob": _FILE,
    "pathlib.Path.exists": _FILE,
    "pathlib.Path.is_file": _FILE,
    "pathlib.Path.is_dir": _FILE,
    "pathlib.Path.stat": _FILE,
    "pathlib.Path.iterdir": _FILE,
    "pathlib.Path.glob": _FILE,
    "pathlib.Path.rglob": _FILE,
    "os.getpid": _PROCESS,
    "os.getppid": _PROCESS,
    "multiprocessing.current_process": _PROCESS,
    "threading.get_ident": _PROCESS,
    "builtins.id": _PROCESS,
    "builtins.hash": _HASH,
    "uuid.uuid1": _UNIQUE,
    "uuid.uuid4": _UNIQUE,
    "secrets.token_hex": _UNIQUE,
    "secrets.token_urlsafe": _UNIQUE,
    "os.urandom": _UNIQUE,
    "tempfile.mkdtemp": _TEMPORARY,
    "tempfile.mkstemp": _TEMPORARY,
    "tempfile.mktemp": _TEMPORARY,
    "tempfile.NamedTemporaryFile": _TEMPORARY,
    "tempfile.TemporaryDirectory": _TEMPORARY,
    "socket.gethostname": _HOST,
    "platform.node": _HOST,
    "os.uname": _HOST,
    "torch.distributed.elastic.utils.distributed.get_free_port": _NETWORK,
    "accelerate.utils.is_port_in_use": _NETWORK,
    "torch.isnan": _NUMBER,
    "torch.isinf": _NUMBER,
    "torch.isfinite": _NUMBER,
    "torch.any": _NUMBER,
    "torch.all": _NUMBER,
    "torch.equal": _NUMBER,
    "torch.allclose": _NUMBER,
    "torch.numel": _SHAPE,
    "torch.nonzero": _SHAPE,
    "torch.masked_select": _SHAPE,
    "torch.unique": _SHAPE,
    "math.isnan": _NUMBER,
    "math.isinf": _NUMBER,
    "math.isfinite": _NUMBER,
    "numpy.isnan": _NUMBER,
    "numpy.isfinite": _NUMBER,
    "accelerate.Accelerator.split_between_processes": _PART,
    "accelerate.PartialState.split_between_processes": _PART,
    "datasets.distributed.split_dataset_by_node": LocalValue(
        RANK_PART,
        "this rank's part of the data",
        source="datasets 5.2.0 datasets/distributed.py:10",
    ),
    "builtins.input": LocalValue(
        "process", "what was typed at this terminal", source="python 3.11 builtins"
    ),
}
"""By qualified name. Without a generator, random draws are local too: `knowledge.randomness`."""

LOCAL_METHODS: dict[str, LocalValue] = {
    "_sorted_checkpoints": _FILE,  # transformers 4.28.1 trainer.py:2843, `glob` of `checkpoint-*`
    "item": _NUMBER,
    "tolist": _NUMBER,
    "isnan": _NUMBER,
    "isinf": _NUMBER,
    "isfinite": _NUMBER,
    "any": _NUMBER,
    "all": _NUMBER,
    "equal": _NUMBER,
    "allclose": _NUMBER,
    "numel": _SHAPE,
    "nonzero": _SHAPE,
    "nelement": _SHAPE,
    "exists": _FILE,
    "is_file": _FILE,
    "is_dir": _FILE,
    "iterdir": _FILE,
    "rglob": _FILE,
    "elapsed_time": LocalValue(
        "clock", "this device's clock", source="torch 2.13.0 torch/cuda/streams.py"
    ),
}
"""By method name, for receivers of unknown type."""

NOT_FINITE: frozenset[str] = frozenset({"isnan", "isinf", "isfinite"})
"""Questions whether a number is one, of whatever library."""

FAILURES: dict[str, str] = {
    # Network: what one rank cannot reach, the others may.
    "urllib.request.urlopen": "network",
    "urllib.request.urlretrieve": "network",
    "requests.get": "network",
    "requests.post": "network",
    "requests.put": "network",
    "requests.head": "network",
    "requests.request": "network",
    "requests.Session.get": "network",
    "httpx.get": "network",
    "httpx.post": "network",
    "subprocess.run": "process",
    "subprocess.check_call": "process",
    "subprocess.check_output": "process",
    "subprocess.call": "process",
    "subprocess.Popen": "process",
    "os.system": "process",
    "torch.hub.load": "network",
    "torch.hub.load_state_dict_from_url": "network",
    "torch.hub.download_url_to_file": "network",
    "huggingface_hub.hf_hub_download": "network",
    "huggingface_hub.snapshot_download": "network",
    "huggingface_hub.upload_folder": "network",
    "huggingface_hub.upload_file": "network",
    "huggingface_hub.create_repo": "network",
    "huggingface_hub.HfApi.upload_folder": "network",
    "huggingface_hub.HfApi.upload_file": "network",
    "huggingface_hub.HfApi.create_repo": "network",
    "datasets.load_dataset": "network",
    "evaluate.load": "network",
    "nltk.download": "network",
    "wandb.init": "network",
    "wandb.login": "network",
    "wandb.Artifact": "network",
    # Files.
    "builtins.open": "file",
    "io.open": "file",
    "torch.save": "file",
    "torch.load": "file",
    "safetensors.torch.save_file": "file",
    "safetensors.torch.load_file": "file",
    "json.load": "file",
    "json.dump": "file",
    "pickle.load": "file",
    "pickle.dump": "file",
    "numpy.load": "file",
    "numpy.save": "file",
    "pandas.read_csv": "file",
    "shutil.rmtree": "file",
    "shutil.copy": "file",
    "shutil.copy2": "file",
    "shutil.copyfile": "file",
    "shutil.copytree": "file",
    "shutil.move": "file",
    "os.remove": "file",
    "os.unlink": "file",
    "os.rename": "file",
    "os.replace": "file",
    "os.rmdir": "file",
    "os.mkdir": "file",
    "os.makedirs": "file",
    "os.symlink": "file",
    "os.listdir": "file",
    "os.stat": "file",
    "PIL.Image.open": "file",
    "datasets.load_from_disk": "file",
    "pathlib.Path.read_text": "file",
    "pathlib.Path.read_bytes": "file",
    "pathlib.Path.write_text": "file",
    "pathlib.Path.write_bytes": "file",
    "pathlib.Path.unlink": "file",
    # The next element: loaders of unequal length end on one rank first.
    "builtins.next": "end of iterator",
    # The parse of what a model or a user wrote.
    "json.loads": "data",
    "ast.literal_eval": "data",
}
"""What may go wrong on one rank alone ("network", "file", "process", "memory", "end of iterator",
"data"), by qualified name. For the tests of exceptions, which without such a source are noise."""

IN_MEMORY: frozenset[str] = frozenset({"io.BytesIO", "io.StringIO"})
"""Files that are none: what reads them touches no disk (python 3.11 Lib/io.py)."""

METHOD_FAILURES: dict[str, str] = {
    "push_to_hub": "network",
    "upload_folder": "network",
    "upload_file": "network",
    "log_artifact": "network",
    "download": "network",
    "save_pretrained": "file",
    "save_to_disk": "file",
    "to_csv": "file",
    "to_parquet": "file",
    "write_text": "file",
    "write_bytes": "file",
    "read_text": "file",
    "read_bytes": "file",
    "unlink": "file",
    "extractall": "file",
}
"""The same by method name, for receivers of unknown type."""

LOCAL_EXCEPTIONS: dict[str, str] = {
    "torch.cuda.OutOfMemoryError": "memory",
    "torch.OutOfMemoryError": "memory",
    "builtins.MemoryError": "memory",
    "builtins.OSError": "file",
    "builtins.IOError": "file",
    "builtins.FileNotFoundError": "file",
    "builtins.FileExistsError": "file",
    "builtins.PermissionError": "file",
    "builtins.StopIteration": "end of iterator",
    "builtins.EOFError": "file",
    "builtins.ConnectionError": "network",
    "builtins.TimeoutError": "network",
    "builtins.KeyboardInterrupt": "signal",
    "urllib.error.URLError": "network",
    "urllib.error.HTTPError": "network",
    "requests.exceptions.RequestException": "network",
    "requests.exceptions.HTTPError": "network",
    "requests.exceptions.ConnectionError": "network",
    "requests.RequestException": "network",
    "huggingface_hub.utils.HfHubHTTPError": "network",
    "json.JSONDecodeError": "data",
    "json.decoder.JSONDecodeError": "data",
    "pickle.UnpicklingError": "file",
    "subprocess.CalledProcessError": "process",
}
"""Exceptions that one rank meets alone, by qualified name: an `except` that names one expects it."""

_ALL = frozenset({"Exception", "BaseException", "OSError", "IOError"})


def _local(kind: str) -> frozenset[str]:
    return frozenset(n.rpartition(".")[2] for n, k in LOCAL_EXCEPTIONS.items() if k == kind)


CATCHES: dict[str, frozenset[str]] = {
    # URLError and RequestException derive from OSError: python 3.11 urllib/error.py; requests 2.32
    # requests/exceptions.py, `class RequestException(IOError)`. ValueError: an answer that is no JSON.
    "network": _ALL | _local("network"),
    # python 3.11 subprocess.py: SubprocessError and, where there is no such program, OSError.
    "process": _ALL | {"CalledProcessError", "SubprocessError", "TimeoutExpired"},
    # python 3.11 os and io: OSError. Reading: UnicodeDecodeError and json.JSONDecodeError are ValueErrors
    # (Lib/json/decoder.py:20). torch 2.13.0 torch/serialization.py: RuntimeError for an archive that is
    # cut short or a disk that is full, UnpicklingError and EOFError for an older file.
    "file": _ALL
    | _local("file")
    | {
        "IsADirectoryError",
        "NotADirectoryError",
        "RuntimeError",
        "UnicodeError",
        "UnicodeDecodeError",
    }
    | {"ValueError", "JSONDecodeError", "BlockingIOError", "InterruptedError", "EnvironmentError"},
    # RuntimeError: PEP 479, where a generator ends another.
    "end of iterator": frozenset({"Exception", "BaseException", "StopIteration", "RuntimeError"}),
    # python 3.11 Lib/json/decoder.py:20; Lib/ast.py:54, `literal_eval`.
    "data": frozenset(
        {"Exception", "BaseException", "ValueError", "JSONDecodeError", "SyntaxError", "TypeError"}
        | {"MemoryError", "RecursionError"}
    ),
}
"""Last names of the exceptions that catch a failure, by its kind."""

ONLY_OS_ERRORS: frozenset[str] = frozenset(
    name for name in FAILURES if name.startswith(("os.", "shutil.")) and FAILURES[name] == "file"
) | {"pathlib.Path.unlink"}
"""Calls that raise OSError and nothing else that a handler may expect (python 3.11 os, shutil.py:
`class Error(OSError)`)."""

LOOKS_AT_FOLDERS: frozenset[str] = frozenset({"os.listdir", "os.scandir", "os.stat"})
"""Calls that fail where nothing is there, and read no file that may be broken or half written (python 3.11 os)."""

TOLD_BY_STATUS: frozenset[str] = frozenset({"os.system"})
"""Calls that fail without an exception: who asks for what they give back may raise one (python 3.11 os)."""

THROUGH_CALLS: frozenset[str] = frozenset({"network", "process"})
"""Kinds that count where a called function fails as well: files fail on all ranks alike nearly always."""


SIGNAL_HANDLERS: dict[str, int] = {
    # python 3.11 signal.signal(signalnum, handler), asyncio loop.add_signal_handler(sig, callback, *args)
    "signal.signal": 1,
    ".add_signal_handler": 1,
}
"""Position of the handler, by qualified name or ".method" of its registrar: what a handler writes is a
value of this rank alone, since a signal goes to one process."""

SIGNAL_REGISTRATIONS = ("signal.signal(", "signal import ", "add_signal_handler")
"""Texts of which a file that registers a handler holds one (`from signal import signal` among them)."""

MEMORY_EXCEPTIONS = frozenset({"OutOfMemoryError", "MemoryError"})
"""Last names of the exceptions of `LOCAL_EXCEPTIONS` that tell of an out-of-memory error."""

MEMORY_CARRIERS = frozenset({"RuntimeError", "Exception", "BaseException"})
"""Exceptions that an out-of-memory error is one of: torch.OutOfMemoryError derives from RuntimeError (torch
2.13.0 torch/_C/__init__.pyi:12354). Code that catches these looks at the text, or passes over whatever it is."""

OUT_OF_MEMORY_TEXTS = frozenset(
    {
        "out of memory",
        " out of memory.",
        "CUDA out of memory",
        "CUDA out of memory.",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_NOT_SUPPORTED",
    }
)
"""Texts by which code recognises a rank's out-of-memory error in a RuntimeError (accelerate 1.15.0
accelerate/utils/memory.py:109, fairseq 0.12.2 fairseq/trainer.py:843)."""

MEMORY_WORDS = ("oom", "out_of_memory", "should_reduce_batch_size")
"""Words in the names of functions that tell whether an error is an out-of-memory error (pytorch-lightning 2.6.6
pytorch_lightning/utilities/memory.py:49 `is_oom_error`, accelerate 1.15.0 accelerate/utils/memory.py:100)."""
