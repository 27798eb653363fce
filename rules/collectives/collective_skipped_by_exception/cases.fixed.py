"""Cases of DL105: failures of one rank that are caught, with and without a collective that is missed."""

import base64
import json
import logging
import os
import shutil
import subprocess
import urllib.request
from io import BytesIO

import requests
import torch
import torch.distributed as dist
from datasets import load_dataset, load_from_disk
from lightning.pytorch import Trainer
from PIL import Image
from torch.nn.parallel import DistributedDataParallel

from distlint.runtime import any_rank, main_process_first

logger = logging.getLogger(__name__)

# --- bugs -----------------------------------------------------------------------------------------


def skipped_inside(url, box):
    failed = False
    try:
        box[0] = requests.get(url).json()  # expect: DL105
    except requests.RequestException:
        failed = True
        logger.warning("no answer")
    if not any_rank(failed):
        dist.broadcast_object_list(box)


def returns_before(url):
    failed = False
    try:
        urllib.request.urlopen(url)  # expect: DL105
    except OSError:
        failed = True
    if any_rank(failed):
        return None
    dist.barrier()


def other_collectives(url, total):
    try:
        requests.post(url)  # expect: DL105
    except requests.RequestException:
        dist.all_reduce(total)
    dist.barrier()


def removed_or_not(path):
    failed = False
    try:
        shutil.rmtree(path)  # expect: DL105
    except FileNotFoundError:
        failed = True
    if any_rank(failed):
        return
    dist.barrier()


def another_folder_in_the_handler(args):
    failed = False
    try:
        if args.folder:
            names = shutil.rmtree(args.folder)  # expect: DL105
    except OSError:
        failed = True
        if not args.folder:
            names = shutil.rmtree(args.folder)
    if not any_rank(failed):
        dist.barrier()
    return names


def half_written(path):
    failed = False
    try:
        state = torch.load(path)  # expect: DL105
    except RuntimeError:
        failed = True
    if any_rank(failed):
        return None
    dist.barrier()
    return state


def many_shards(paths, names):
    for path in paths:
        failed = False
        try:
            state = torch.load(path)  # expect: DL105
        except (OSError, RuntimeError) as error:
            logger.warning("%s: %s", path, error)
            failed = True
        if any_rank(failed):
            continue
        dist.barrier()
        names.append(len(state))


def the_rest_of_the_try(url, box):
    failed = False
    try:
        box[0] = requests.get(url).json()  # expect: DL105
    except requests.RequestException:
        failed = True
    if any_rank(failed):
        return None
    if box[0]:
        dist.broadcast_object_list(box)
    return box


def answer_of_the_exception(url):
    try:
        requests.get(url)  # expect: DL105
    except requests.RequestException as error:
        return str(error)  # the other ranks have none
    dist.barrier()
    return ""


def left_in_two_ways(url):
    try:
        data = requests.get(url).json()  # expect: DL105
        if not data:
            return None
    except requests.RequestException:
        return None
    dist.barrier()
    return data


def backward_passed_over(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for batch in loader:
        loss = model(batch).mean()
        optimizer.zero_grad()
        try:
            loss.backward()
            optimizer.step()
        except Exception as error:  # expect: DL105
            print("no step", error)


def given_up_with_success(model, loader, everything):
    answers = []
    for question in loader:
        try:
            answers.append(model.generate(question))  # expect: DL105
        except Exception:
            logger.exception("no answer")
            exit(0)
    dist.all_gather_object(everything, answers)


def batch_skipped(model, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
        except torch.cuda.OutOfMemoryError:  # expect: DL105
            torch.cuda.empty_cache()
            continue
        optimizer.step()


def by_its_text(model, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
        except RuntimeError as error:  # expect: DL105
            if "out of memory" not in str(error):
                raise
            optimizer.zero_grad()


def batch_noted(model, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        failed = False
        try:
            model(batch).sum().backward()
        except torch.cuda.OutOfMemoryError:  # expect: DL105
            failed = True
        if failed:
            optimizer.zero_grad()
        optimizer.step()


def caught_up_on_the_other_arm(model, loader, optimizer, kept):
    model = DistributedDataParallel(model)
    for batch in loader:
        failed = False
        try:
            model(batch).sum().backward()
        except torch.cuda.OutOfMemoryError:  # expect: DL105
            failed = True
        if failed:
            optimizer.zero_grad()
        else:
            makes_up(model, kept)
        optimizer.step()


def raises_on_main(archive, folder):
    if dist.get_rank() == 0:
        try:
            shutil.copytree(archive, folder)  # expect: DL105
        except OSError as error:
            raise RuntimeError(f"no copy of {archive}") from error
    dist.barrier()


def raises_again_on_main(url, box):
    if dist.get_rank() != 0:
        box[0] = None
    else:
        try:
            box[0] = requests.get(url).json()  # expect: DL105
        except requests.RequestException:
            logger.error("no answer")
            raise
    dist.broadcast_object_list(box)


def raises_before_helper(url):
    if dist.get_rank() == 0:
        try:
            requests.get(url)  # expect: DL105
        except requests.RequestException as error:
            raise RuntimeError(url) from error
    meet()


def meet():
    dist.barrier()


def returns_from_its_turn(url):
    with main_process_first():
        try:
            reply = requests.get(url).json()  # expect: DL105
        except requests.RequestException:
            return None
    dist.barrier()
    return reply


def told_apart_in_the_handler(path):
    failed = False
    try:
        data = load_from_disk(path)  # expect: DL105
    except FileNotFoundError:
        data = load_dataset("squad")
        if dist.get_rank() == 0:
            data.save_to_disk(path)
        failed = True
    if any_rank(failed):
        return None
    dist.barrier()
    return data


def another_copy_in_the_handler(path, copy):
    failed = False
    try:
        data = load_from_disk(path)  # expect: DL105
    except FileNotFoundError:
        data = load_dataset("squad")
        data.save_to_disk(copy)
        failed = True
    if any_rank(failed):
        return None
    dist.barrier()
    return data


def the_last_folder_instead(accelerator: Accelerator, args, model):
    # Another path: the rank goes on from there.
    try:
        model.load_state_dict(torch.load(args.resume))  # expect: DL105
    except Exception:
        accelerator.load_state(args.folder)
    return model


def loads_itself_instead(args, engine, model):
    # What the program's own object takes, it may take where torch did not.
    try:
        model.load_state_dict(torch.load(args.resume))  # expect: DL105
    except Exception:
        dist.barrier()
        engine.load_state(args.resume)
    return model


# --- right ----------------------------------------------------------------------------------------


def given_up_with_failure(model, loader, everything):
    answers = []
    for question in loader:
        try:
            answers.append(model.generate(question))
        except Exception:
            logger.exception("no answer")
            exit(1)
    dist.all_gather_object(everything, answers)


def given_up_before_any_question(build, options, everything):
    try:
        model = build(options)
    except Exception:
        logger.exception("no model")
        exit(0)
    dist.all_gather_object(everything, model.answers)


def backward_looked_into(net, loader, optimizer, hook):
    model = DistributedDataParallel(net)
    for batch in loader:
        loss = model(batch).mean()
        try:
            loss.backward()
        except RuntimeError as error:
            hook(error)
            raise
        optimizer.step()


def backward_of_one_process(net, loader, optimizer):
    for batch in loader:
        loss = net(batch).mean()
        try:
            loss.backward()
            optimizer.step()
        except Exception as error:
            print("no step", error)
    dist.barrier()


def fails_on_all(url):
    try:
        with main_process_first():  # raises the exception of one rank on all
            reply = fetched(url)
            extra = requests.get(url).json()
    except Exception:
        return None
    dist.barrier()
    return reply, extra


def fetched(url):
    return requests.get(url).json()


def another_exception(path, metrics):
    try:
        shutil.rmtree(path)
        dist.all_reduce(metrics)
    except AssertionError as error:  # a failure to delete goes on upwards, on all ranks
        assert str(error) == "the seed has changed"


def no_value_error(path, metrics):
    try:
        shutil.rmtree(path)
        dist.all_reduce(metrics)
    except (ValueError, KeyError):
        logger.warning("bad metrics")


def raises_on_main_and_meets(archive, folder):
    try:
        if dist.get_rank() == 0:
            try:
                shutil.copytree(archive, folder)
            except OSError as error:
                raise RuntimeError(f"no copy of {archive}") from error
    finally:
        dist.barrier()


def raises_on_main_and_is_caught(archive, folder, failed):
    if dist.get_rank() == 0:
        try:
            try:
                shutil.copytree(archive, folder)
            except OSError as error:
                raise RuntimeError(f"no copy of {archive}") from error
        except RuntimeError:
            failed.fill_(1)
    dist.all_reduce(failed)


def raises_on_main_alone(archive, folder):
    if dist.get_rank() == 0:
        try:
            shutil.copytree(archive, folder)
        except OSError as error:
            raise RuntimeError(f"no copy of {archive}") from error


def checks_an_argument_on_main(folder, config):
    if dist.get_rank() == 0:
        try:
            name = config["name"]
        except KeyError as error:
            raise ValueError("give the run a name") from error
        logger.info(name)
    dist.barrier()


def raises_in_same_branch_everywhere(archive, folder, distributed):
    if distributed:
        try:
            shutil.copytree(archive, folder)
        except OSError as error:
            raise RuntimeError(f"no copy of {archive}") from error
    dist.barrier()


def goes_on(url):
    try:
        requests.get(url)
    except requests.RequestException:
        logger.warning("no answer")
    dist.barrier()


def raises_again(url):
    try:
        requests.get(url)
    except requests.RequestException as error:
        raise RuntimeError(url) from error
    dist.barrier()


def in_finally(url):
    try:
        requests.get(url)
    except requests.RequestException:
        return None
    finally:
        dist.barrier()


def reduced(url):
    failed = torch.zeros(1)
    try:
        requests.get(url)
    except requests.RequestException:
        failed.fill_(1)
    dist.all_reduce(failed)
    if failed.item():
        return
    dist.barrier()


def nothing_that_fails_alone(config):
    try:
        value = config["name"]
    except KeyError:
        return None
    dist.barrier()
    return value


def out_of_memory_ends_it(model, batch):
    model = DistributedDataParallel(model)
    try:
        model(batch).sum().backward()
    except torch.cuda.OutOfMemoryError:
        logger.error("out of memory: take a smaller batch")
        raise


def caught_up(model, loader, optimizer, kept):
    # ParlAI a29567f parlai/core/torch_generator_agent.py:806
    model = DistributedDataParallel(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
            failed = False
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            failed = True
        if failed:
            makes_up(model, kept)
        optimizer.step()


def makes_up(model, kept):
    (0 * model(kept).sum()).backward()


def out_of_memory_on_one_process(model, batches):
    found = []
    for batch in batches:
        try:
            found.append(model(batch))
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
    dist.barrier()
    return found


def fails_once_more(args):
    # EasyAnimate c2a70d1 scripts/train.py:1570: the rank ends in the handler
    try:
        if args.folder:
            shutil.rmtree(args.folder)
        dist.barrier()
    except OSError:
        if args.folder:
            shutil.rmtree(args.folder)
        print("not at once")
    return args


def written_for_the_next_run(path):
    # sentence-transformers 85ec645: missing for all ranks, then there for all
    try:
        data = load_from_disk(path)
    except FileNotFoundError:
        data = load_dataset("squad")
        data.save_to_disk(path)
        return None
    dist.barrier()
    return data


def made_anew_and_left(path, make):
    try:
        state = torch.load(path)
    except FileNotFoundError:
        torch.save(make(), path)
        raise SystemExit(0) from None
    dist.barrier()
    return state


def a_file_or_a_folder(accelerator: Accelerator, args, model):
    # DCNv4 4b848f7 classification/main_accelerate.py:156: a folder on all ranks; else the rank ends
    try:
        state = torch.load(args.resume)["model"]
        model.load_state_dict(state)
    except Exception:
        accelerator.load_state(args.resume)
    return model


class Resumes:
    def __init__(self, path):
        self.accelerator = Accelerator()
        self.path = path

    def resume(self, model):
        try:
            model.load_state_dict(torch.load(self.path))
        except Exception:
            print("a folder, then")
            self.accelerator.load_state(input_dir=self.path)
        return model


def raised_again_or_not_installed(nodes, args):
    # fairchem 31c0963 src/fairchem/core/common/distutils.py:98: what fails is raised again, and Slurm is there or not
    try:
        args.host = subprocess.check_output(["scontrol", "show", "hostnames", nodes])
    except subprocess.CalledProcessError as failed:
        raise failed
    except FileNotFoundError:
        return
    dist.barrier()


def raised_again_into_another_handler(nodes, args):
    try:
        try:
            args.host = subprocess.check_output(["scontrol", "show", nodes])  # expect: DL105
        except subprocess.CalledProcessError:
            raise
    except Exception:
        return
    dist.barrier()


def looks_into_a_folder(folder):
    has_failed = False
    # EasyNLP a4ee956 easynlp/appzoo/api.py:481: information
    try:
        found = os.listdir(folder)  # expect: DL105
    except Exception as failed:
        print(failed)
        has_failed = True
    if any_rank(has_failed):
        return None
    dist.barrier()
    return found


def reads_what_all_are_handed(request, box):
    # VideoX-Fun 804a425 videox_fun/api/api_multi_nodes.py:154: no disk is touched, and each worker has the same bytes
    try:
        box.append(Image.open(BytesIO(base64.b64decode(request["image"]))))
        dist.barrier()
    except Exception:
        print("no image")


def reads_the_file_that_all_are_handed(request, box):
    failed = False
    try:
        box.append(Image.open(request["path"]))  # expect: DL105
    except Exception:
        failed = True
        print("no image")
    if not any_rank(failed):
        dist.barrier()


def reads_its_own_bytes(parts, box):
    raw = parts[dist.get_rank()]
    failed = False
    try:
        box.append(Image.open(BytesIO(raw)))  # expect: DL105
    except Exception:
        failed = True
        print("no image")
    if not any_rank(failed):
        dist.barrier()


def reads_the_bytes_of_a_batch(net, loader):
    net = DistributedDataParallel(net)
    for batch in loader:
        try:
            dist.all_reduce(net(Image.open(BytesIO(batch["bytes"]))))  # expect: DL105
        except Exception:
            continue


def adds_up(net, batch):
    try:
        dist.all_reduce(net(Image.open(BytesIO(batch["bytes"]))))  # expect: DL105
    except Exception:
        print("no image")


def adds_up_all(net, loader):
    for batch in loader:
        adds_up(net, batch)


def reads_the_text_of_an_option(args, extra):
    # Vision-R1 c061681 evaluation/evalscope/vlmeval/run.py:322: all ranks have one command line
    try:
        extra.update(json.loads(args.extra))
        dist.barrier()
    except Exception:
        print("no extra settings")


def reads_the_text_of_an_option_that_is_set(args, path, extra):
    args.found = path.read_text()
    failed = False
    try:
        extra.update(json.loads(args.found))  # expect: DL105
    except Exception:
        failed = True
        print("no extra settings")
    if not any_rank(failed):
        dist.barrier()


def judged_on_one_device(net, loader, paths):
    # MixSort a078f5b MixViT/segmentation/evalutation.py:28: a Trainer of one rank
    trainer = Trainer(gpus=1)
    for path in paths:
        try:
            net.load_state_dict(torch.load(path)["state_dict"])
            print(trainer.validate(net, dataloaders=loader))
        except Exception:
            print(path)


def judged_on_two_devices(net, loader, paths):
    trainer = Trainer(devices=2)
    for path in paths:
        failed = False
        try:
            net.load_state_dict(torch.load(path)["state_dict"])  # expect: DL105
        except Exception:
            failed = True
            print(path)
        if not any_rank(failed):
            print(trainer.validate(net, dataloaders=loader))


def interrupted_or_raised_again(path, net):
    # lipfd 5726ad0 src/train_ddp.py:300: no failure comes to the handler that goes on
    try:
        net.load_state_dict(torch.load(path))
        net = DistributedDataParallel(net)
    except KeyboardInterrupt:
        print("interrupted")
    except Exception as failed:
        print(failed)
        raise
    finally:
        dist.destroy_process_group()


def interrupted_or_passed_over(path, net):
    failed = False
    try:
        net.load_state_dict(torch.load(path))  # expect: DL105
    except (KeyboardInterrupt, RuntimeError):
        failed = True
        print("interrupted")
    if not any_rank(failed):
        dist.barrier()
