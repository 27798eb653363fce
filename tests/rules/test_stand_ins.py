"""Networks of a project's own that stand in for the wrapper, with a `module` as well."""

from pathlib import Path

import pytest

from tests.rules.checked import lines_of

_STAND_INS = """\
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def of_another_kind(net, fused):
    # NVIDIA/semantic-segmentation 7726b14 network/__init__.py:33
    if fused:
        import apex

        net = apex.parallel.DistributedDataParallel(net)
    else:
        net = nn.DataParallel(net)
    return net


def of_either_kind(net, options):
    net = of_another_kind(net, options.fused)
    return net.module.config


def compiled_instead(net, fused):
    if fused:
        net = nn.DataParallel(net)
    else:
        net = fused_copy(net)
    return net


def of_a_kind(net, options):
    net = compiled_instead(net, options.fused)
    return net.module.config  # expect: DL204


class Bare(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net


class Shell(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.module = net

    def forward(self, *args):
        return self.module(*args)


def in_another_class(net):
    if dist.is_initialized() and dist.get_world_size() > 1:
        return DDP(net)
    return Bare(net)


def of_another_class(net):
    return in_another_class(net).module.config  # expect: DL204


def in_a_shell_where_it_is_asked_for(net, shell, distributed):
    if distributed:
        net = DDP(net)
    elif shell:
        net = Shell(net)
    return net.module.config  # expect: DL204


def in_a_shell_that_is_taken_off(net, distributed):
    model = Shell(net)
    model = net
    if distributed:
        model = DDP(net)
    return model.module.config  # expect: DL204


def in_a_shell(net):
    if dist.is_initialized() and dist.get_world_size() > 1:
        return DDP(net)
    return Shell(net)


def of_a_shell(net):
    return in_a_shell(net).module.config


def in_a_shell_or_else(net, distributed):
    if distributed:
        net = DDP(net)
    else:
        net = Shell(net).cuda()
    return net.module.config


def in_a_shell_first(net, distributed):
    model = Shell(net)
    if distributed:
        model = DDP(net)
    return model.module.config


class Held:
    def __init__(self, net, distributed):
        self.net = DDP(net) if distributed else Shell(net)

    def head(self):
        return self.net.module.head


def in_parts_or_in_a_shell(net, distributed, gpus):
    if distributed:
        net = DDP(net)
    elif gpus > 1:
        net = nn.DataParallel(net)
    else:
        net = Shell(net)
    return net.module.config


class Scattered(nn.DataParallel):
    def scatter(self, inputs, kwargs, device_ids):
        return inputs, kwargs


def by_a_class_of_torch(net, distributed):
    # openseg.pytorch aefc755 segmentor/tools/module_runner.py:74
    if distributed:
        return DDP(net)
    return Scattered(net)


def of_a_class_of_torch(net, distributed):
    return by_a_class_of_torch(net, distributed).module.config
"""


def test_only_what_may_lack_a_module_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [n for n, line in enumerate(_STAND_INS.splitlines(), 1) if "# expect: DL204" in line]
    assert len(wanted) == 4
    assert lines_of("DL204", tmp_path, _STAND_INS, capsys) == wanted
